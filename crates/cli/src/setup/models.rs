//! The models that agents may be run with, from providers that are configured.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use config::{AgentConfig, TooDear};
use model::{Model, Providers};
use protocol::Taste;
use runtime::{CostGuard, Models};

use super::is_file;
use crate::failure::Failure;

/// Names that mean the newest model of a family.
const FAMILIES: [&str; 4] = ["sonnet", "opus", "haiku", "fable"];

/// The models of the configured providers.
#[derive(Debug)]
pub(super) struct Known {
    providers: Providers,
    cwd: PathBuf,
    small: Option<String>,
    other: Option<String>,
}

impl Known {
    pub(super) fn new(providers: &Providers, cwd: &Path, agents: &AgentConfig) -> Known {
        let AgentConfig { small_model, other_model, .. } = agents;
        Known {
            providers: providers.clone(),
            cwd: cwd.to_owned(),
            small: small_model.clone(),
            other: other_model.clone(),
        }
    }

    /// The whole name of a model that files may name in short: without its provider, as people write it, or by its
    /// family. What cannot be found stays as it is, and fails with its own words when it is opened.
    pub(super) fn in_full(&self, written: &str) -> String {
        let is_whole = |(provider, _): (&str, &str)| is_file(provider) || self.providers.places.contains_key(provider);
        if written == "inherit" || written.split_once('/').is_some_and(is_whole) {
            return written.to_owned();
        }
        let wanted = plain(written);
        let available = self.available();
        let named = |spec: &&String| spec.split_once('/').is_some_and(|(_, name)| plain(name) == wanted);
        let family = |spec: &&String| {
            let parts = spec.split_once('/').map(|(_, name)| plain(name)).unwrap_or_default();
            FAMILIES.contains(&wanted.as_str()) && parts.split('-').any(|part| part == wanted)
        };
        let newest = || available.iter().filter(family).max_by_key(|spec| version(spec));
        available.iter().find(named).or_else(newest).map_or_else(|| written.to_owned(), Clone::clone)
    }

    /// Whether a model that a file names can be asked; says why it cannot.
    pub(super) fn can_ask(&self, spec: &str) -> Result<(), String> {
        if spec == "inherit" { Ok(()) } else { self.open(spec).map(|_model| ()) }
    }

    /// The first of these that can be asked.
    pub(super) fn first(&self, wanted: &[String]) -> Result<String, Failure> {
        let mut problems = Vec::new();
        for spec in wanted {
            match self.open(spec) {
                Ok(_model) => return Ok(spec.clone()),
                Err(why) => problems.push(format!("{spec}: {why}")),
            }
        }
        let message = format!("no model that the agent wants can be asked ({})", problems.join("; "));
        Err(super::refused(message).hint("name one with --model; `bosun models` lists what there is"))
    }
}

impl Models for Known {
    fn open(&self, spec: &str) -> Result<Arc<dyn Model>, String> {
        model::open(&Known::in_full(self, spec), &self.cwd, &self.providers).map_err(|error| error.to_string())
    }

    fn in_full(&self, spec: &str) -> String {
        model::in_full(&Known::in_full(self, spec), &self.cwd)
    }

    fn available(&self) -> Vec<String> {
        self.providers.available()
    }

    fn liked(&self, taste: Taste) -> Option<String> {
        match taste {
            Taste::Same => None,
            Taste::Small => self.small.clone(),
            Taste::Other => self.other.clone(),
        }
    }
}

/// How much dearer an agent's model may be, in the runtime's words.
pub(super) fn guard(agents: &AgentConfig) -> CostGuard {
    CostGuard {
        percent: Some((agents.cost_factor * 100.0).round() as u32),
        otherwise: match agents.too_dear {
            TooDear::Refuse => runtime::TooDear::Refuse,
            TooDear::Downgrade => runtime::TooDear::Downgrade,
        },
    }
}

/// A model's name in small letters and dashes, without what other programs put behind it.
fn plain(name: &str) -> String {
    let name = name.split_once(" (").map_or(name, |(name, _)| name);
    name.trim().to_ascii_lowercase().replace([' ', '.', '_'], "-")
}

/// The numbers in a name, of which greater ones are newer. A date in a name says nothing of that.
fn version(spec: &str) -> Vec<u32> {
    spec.split(|c: char| !c.is_ascii_digit())
        .filter(|part| part.len() < 4)
        .filter_map(|part| part.parse().ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use config::Env;

    use super::*;

    fn known() -> Known {
        let env = Env::from(vec![("ANTHROPIC_API_KEY".into(), "sk-1".into())]);
        let config = config::File::default().resolve();
        Known::new(&config.access(&env).unwrap().providers, Path::new("/"), &config.agents)
    }

    #[test]
    fn n12_short_names_of_models_mean_one_that_is_configured() {
        let known = known();
        let available = known.available();
        assert!(available.iter().all(|spec| spec.starts_with("anthropic/")), "{available:?}");
        for family in ["sonnet", "opus", "haiku"] {
            let full = known.in_full(family);
            assert!(available.contains(&full) && full.contains(family), "{full}");
        }
        let one = available.iter().find(|spec| spec.contains("sonnet")).unwrap();
        let (_, name) = one.split_once('/').unwrap();
        assert_eq!(&known.in_full(name), one);
        assert_eq!(&known.in_full(&name.replace('-', " ").to_uppercase()), one);
        for unknown in ["gpt-5", "openai/gpt-5", "script/x.yaml", "inherit", "nonsense"] {
            assert_eq!(known.in_full(unknown), unknown);
        }
        assert!(known.open("nonsense").unwrap_err().contains("nonsense"));
    }

    #[test]
    fn newer_versions_are_greater() {
        assert!(version("anthropic/claude-sonnet-5-5") > version("anthropic/claude-sonnet-5"));
        assert!(version("anthropic/claude-opus-5") > version("anthropic/claude-opus-4-8-20250101"));
    }
}

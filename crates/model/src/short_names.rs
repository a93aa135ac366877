//! Short names of models: without the provider, in other spellings, or the family alone.

use std::path::Path;

use crate::{Provider, ProviderKey, Providers};

/// Names that mean the newest model of a family.
const FAMILIES: [&str; 4] = ["sonnet", "opus", "haiku", "fable"];

impl Providers {
    /// The listed models of providers with a key, as `PROVIDER/NAME`.
    pub fn available(&self) -> Vec<String> {
        specs(self.by_name.iter().filter(|(_, config)| !matches!(config.key, ProviderKey::Missing { .. })))
    }

    /// The full name of a model, which means the same in any folder and process. An unknown short name stays as it is,
    /// and fails with its own error when it is opened.
    pub fn full_name(&self, written: &str, base: &Path) -> String {
        match written.split_once('/') {
            Some((provider, file)) if protocol::is_file_provider(provider) && !file.is_empty() => {
                format!("{provider}/{}", base.join(file).display())
            }
            Some((provider, _)) if self.by_name.contains_key(provider) => written.to_owned(),
            Some(_) | None => resolve_short_name(written, &self.available()).unwrap_or_else(|| written.to_owned()),
        }
    }

    /// Whether a model may exist: it is listed, or the list of its provider is incomplete.
    pub fn may_exist(&self, spec: &str) -> bool {
        let Some((provider, name)) = spec.split_once('/').filter(|(provider, _)| self.fully_listed.contains(*provider))
        else {
            return true;
        };
        self.by_name.get(provider).is_none_or(|config| config.find(name).is_some())
    }

    /// The provider and the variable of its key, if a short name means a model for which only the key is missing.
    pub(crate) fn missing_key(&self, written: &str) -> Option<(String, String)> {
        let keyless = self.by_name.iter().filter(|(_, config)| matches!(config.key, ProviderKey::Missing { .. }));
        let spec = resolve_short_name(written, &specs(keyless))?;
        let (provider, _) = spec.split_once('/')?;
        match &self.by_name.get(provider)?.key {
            ProviderKey::Missing { variable } => Some((provider.to_owned(), variable.clone())),
            ProviderKey::NotNeeded | ProviderKey::Present(_) => None,
        }
    }
}

fn specs<'a>(providers: impl Iterator<Item = (&'a String, &'a Provider)>) -> Vec<String> {
    providers
        .flat_map(|(provider, config)| config.models.keys().map(move |name| format!("{provider}/{name}")))
        .collect()
}

/// The first of these models with this name, or else the newest of the family.
fn resolve_short_name(written: &str, specs: &[String]) -> Option<String> {
    let wanted = normalize(written);
    let name = |spec: &str| spec.split_once('/').map(|(_, name)| normalize(name)).unwrap_or_default();
    let named = specs.iter().find(|spec| name(spec) == wanted);
    let in_family = |spec: &&String| name(spec).split('-').any(|part| part == wanted);
    let newest = || {
        let family = FAMILIES.contains(&wanted.as_str()).then(|| specs.iter().rev().filter(in_family));
        family?.max_by_key(|spec| version(spec))
    };
    named.or_else(newest).cloned()
}

/// A model's name in lower case with dashes, without suffixes that other programs add.
fn normalize(name: &str) -> String {
    let name = name.split_once(" (").map_or(name, |(name, _)| name);
    name.trim().to_ascii_lowercase().replace([' ', '.', '_'], "-")
}

/// The version numbers in a name; greater is newer. Dates are ignored.
fn version(spec: &str) -> Vec<u32> {
    spec.split(|c: char| !c.is_ascii_digit())
        .filter(|part| part.len() < 4)
        .filter_map(|part| part.parse().ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use net::Secret;

    use super::*;
    use crate::{WireFormat, open, prices};

    fn providers() -> Providers {
        let provider = |wire, key| Provider {
            models: prices::price_table(wire),
            ..Provider::new(wire, "http://127.0.0.1:1", key)
        };
        let given = provider(WireFormat::Anthropic, ProviderKey::Present(Secret::new("sk-1")));
        let missing = provider(WireFormat::Responses, ProviderKey::Missing { variable: "OPENAI_API_KEY".into() });
        let places = [("anthropic", given.clone()), ("openai", missing), ("proxy", given)];
        let places = places.map(|(name, at)| (name.to_owned(), at)).into();
        Providers {
            by_name: places,
            fully_listed: ["anthropic".into(), "openai".into()].into(),
            ..Providers::default()
        }
    }

    #[test]
    fn short_names_mean_available_models() {
        let providers = providers();
        let full = |written: &str| providers.full_name(written, "/folder".as_ref());
        assert_eq!(full("sonnet"), "anthropic/claude-sonnet-5-5");
        assert_eq!(full("Opus"), "anthropic/claude-opus-5-5");
        for written in ["claude-sonnet-5", "Claude Sonnet 5", "claude_sonnet.5 (Preview)"] {
            assert_eq!(full(written), "anthropic/claude-sonnet-5", "{written}");
        }
        for other in ["gpt-5", "openai/gpt-5", "anthropic/sonnet", "inherit", "nonsense", "x/sonnet", "5"] {
            assert_eq!(full(other), other);
        }
    }

    #[test]
    fn only_file_names_are_relative_to_a_folder() {
        let full = |spec| providers().full_name(spec, "/folder".as_ref());
        assert_eq!(full("script/fix.yaml"), "script//folder/fix.yaml");
        assert_eq!(full("replay//tmp/run.jsonl"), "replay//tmp/run.jsonl");
        assert_eq!(full("anthropic/claude-opus-5"), "anthropic/claude-opus-5");
        assert_eq!(full("openrouter/meta/llama"), "openrouter/meta/llama");
    }

    #[test]
    fn opening_a_short_name_reports_a_missing_key() {
        let opened = |spec| open(spec, "/".as_ref(), &providers());
        assert_eq!(opened("sonnet").unwrap().name(), "anthropic/claude-sonnet-5-5");
        let error = opened("gpt-5").unwrap_err().to_string();
        assert_eq!(error, "openai needs a key; put it in the environment variable OPENAI_API_KEY");
        assert!(opened("nonsense").unwrap_err().to_string().contains("`nonsense`"));
    }

    #[test]
    fn unlisted_models_may_exist_only_where_the_list_is_incomplete() {
        let providers = providers();
        for spec in ["anthropic/claude-opus-5", "anthropic/claude-opus-5-20260301", "proxy/nosuch-9", "script/x.yaml"] {
            assert!(providers.may_exist(spec), "{spec}");
        }
        for spec in ["anthropic/nosuch-9", "anthropic/gpt-5", "openai/claude-opus-5"] {
            assert!(!providers.may_exist(spec), "{spec}");
        }
    }

    #[test]
    fn newer_versions_are_greater() {
        assert!(version("anthropic/claude-sonnet-5-5") > version("anthropic/claude-sonnet-5"));
        assert!(version("anthropic/claude-opus-5") > version("anthropic/claude-opus-4-8-20250101"));
    }
}

//! The user's file, `config.toml` in Bosun's home: every key optional, every unknown key an error.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

use net::{Patience, Secret};
use protocol::{Budget, Effort};
use serde::Deserialize;

use crate::Env;
use crate::amount::Usd;
use crate::provider::{self, Access, ProviderError, ProviderFile};
use crate::time::Time;

/// Why the file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// It cannot be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It says something that has no meaning. The message names the line and does not show it: a key may stand there.
    #[error("{path}: {message}")]
    Invalid {
        /// The file.
        path: PathBuf,
        /// What, and where.
        message: String,
    },
    /// A provider that it describes cannot be asked.
    #[error("{path}: {source}")]
    Provider {
        /// The file.
        path: PathBuf,
        /// Why.
        source: ProviderError,
    },
    /// The environment moves a provider to a place where it cannot be asked.
    #[error(transparent)]
    Environment(ProviderError),
}

/// Settings as a layer gives them: all may be absent.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct File {
    /// The model to ask.
    pub model: Option<String>,
    /// How hard the model should think.
    pub effort: Option<Effort>,
    /// Most turns of one run.
    #[serde(alias = "max_turns")]
    pub max_turns: Option<u32>,
    /// What a session may spend.
    #[serde(default)]
    pub budget: Spending,
    /// How long providers are waited for.
    #[serde(default)]
    pub network: Network,
    /// Where models are asked, by name.
    #[serde(default)]
    pub providers: BTreeMap<String, ProviderFile>,
    /// How many agents there may be.
    #[serde(default)]
    pub limits: Limits,
    /// How long things are kept.
    #[serde(default)]
    pub retention: Retention,
    /// How much output is kept.
    #[serde(default)]
    pub output: Output,
}

/// What a session may spend.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Spending {
    /// Most US dollars.
    pub usd: Option<Usd>,
    /// Most tokens of every kind.
    pub tokens: Option<NonZeroU64>,
}

/// How long providers are waited for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Network {
    /// For a connection.
    #[serde(alias = "connect_timeout")]
    pub connect_timeout: Option<Time>,
    /// For the first byte of an answer.
    #[serde(alias = "first_byte_timeout")]
    pub first_byte_timeout: Option<Time>,
    /// For each further byte.
    #[serde(alias = "idle_timeout")]
    pub idle_timeout: Option<Time>,
}

/// How many agents a session may have.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Limits {
    /// Agents that run at once.
    pub live: Option<u32>,
    /// How deep agents may be nested.
    pub depth: Option<u32>,
    /// Agents that a session may start in all.
    pub total: Option<u32>,
}

/// How long things are kept.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Retention {
    /// Days after its last event that `bosun gc` keeps a session.
    pub days: Option<u32>,
}

/// How much output is kept.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Output {
    /// Bytes of one background command's output that are kept on disk.
    #[serde(alias = "command_bytes")]
    pub command_bytes: Option<u64>,
}

/// Settings as they are used: all present.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// The model to ask, if any layer names one.
    pub model: Option<String>,
    /// How hard the model should think, if any layer says so.
    pub effort: Option<Effort>,
    /// What a session may spend unless it is told otherwise.
    pub budget: Budget,
    /// Most turns of one run, if any layer limits them.
    pub max_turns: Option<u32>,
    /// How many agents there may be.
    pub limits: kernel::Limits,
    /// Days after its last event that `bosun gc` keeps a session.
    pub retention_days: u32,
    /// Bytes of one background command's output that are kept on disk.
    pub command_bytes: u64,
    providers: BTreeMap<String, ProviderFile>,
    patience: Patience,
}

impl Config {
    /// The way to every model, from here and from the environment.
    pub fn access(&self, env: &Env) -> Result<Access, ConfigError> {
        provider::open(&self.providers, self.patience, env).map_err(ConfigError::Environment)
    }

    /// The keys that the environment holds, for whomever; known even when some provider cannot be asked.
    pub fn secrets(&self, env: &Env) -> Vec<Secret> {
        let named = self.providers.values().filter_map(|provider| provider.key_env.clone()).collect();
        Env::keys(named).iter().filter_map(|variable| env.key(variable)).collect()
    }
}

impl File {
    /// Reads the user's file; one that does not exist says nothing.
    pub fn read(path: &Path) -> Result<File, ConfigError> {
        match std::fs::read_to_string(path) {
            Ok(text) => File::parse(&text, path),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(File::default()),
            Err(source) => Err(ConfigError::Read { path: path.to_owned(), source }),
        }
    }

    fn parse(text: &str, path: &Path) -> Result<File, ConfigError> {
        let invalid = |message| ConfigError::Invalid { path: path.to_owned(), message };
        let file: File = toml::from_str(text).map_err(|error| invalid(located(&error, text)))?;
        if let Some(live) = file.limits.live.filter(|live| !(1..=4096).contains(live)) {
            return Err(invalid(format!("limits.live is {live}; it must be between 1 and 4096")));
        }
        if file.max_turns == Some(0) {
            return Err(invalid("max-turns is 0; leave it out for no limit".into()));
        }
        if file.budget.usd == Some(Usd(0)) {
            return Err(invalid("budget.usd is 0; leave it out for no limit".into()));
        }
        let unusable = |source| ConfigError::Provider { path: path.to_owned(), source };
        provider::check(&file.providers).map_err(unusable)?;
        Ok(file)
    }

    /// This layer over a weaker one.
    pub fn over(self, weaker: File) -> File {
        let File { model, effort, max_turns, budget, network, mut providers, limits, retention, output } = self;
        for (name, below) in weaker.providers {
            let above = providers.remove(&name).unwrap_or_default();
            providers.insert(name, above.over(below));
        }
        File {
            model: model.or(weaker.model),
            effort: effort.or(weaker.effort),
            max_turns: max_turns.or(weaker.max_turns),
            budget: Spending { usd: budget.usd.or(weaker.budget.usd), tokens: budget.tokens.or(weaker.budget.tokens) },
            network: Network {
                connect_timeout: network.connect_timeout.or(weaker.network.connect_timeout),
                first_byte_timeout: network.first_byte_timeout.or(weaker.network.first_byte_timeout),
                idle_timeout: network.idle_timeout.or(weaker.network.idle_timeout),
            },
            providers,
            limits: Limits {
                live: limits.live.or(weaker.limits.live),
                depth: limits.depth.or(weaker.limits.depth),
                total: limits.total.or(weaker.limits.total),
            },
            retention: Retention { days: retention.days.or(weaker.retention.days) },
            output: Output { command_bytes: output.command_bytes.or(weaker.output.command_bytes) },
        }
    }

    /// The settings, with what no layer says filled in.
    pub fn resolve(self) -> Config {
        let File { model, effort, max_turns, budget, network, providers, limits, retention, output } = self;
        let (usual, patience) = (kernel::Limits::default(), Patience::default());
        Config {
            model,
            effort,
            max_turns,
            budget: Budget { tokens: budget.tokens.map(u64::from), micros: budget.usd.map(|usd| usd.0) },
            limits: kernel::Limits {
                live: limits.live.unwrap_or(usual.live),
                depth: limits.depth.unwrap_or(usual.depth),
                total: limits.total.unwrap_or(usual.total),
            },
            retention_days: retention.days.unwrap_or(90),
            command_bytes: output.command_bytes.unwrap_or(64 << 20),
            providers,
            patience: Patience {
                connect: network.connect_timeout.map_or(patience.connect, |time| time.0),
                first_byte: network.first_byte_timeout.map_or(patience.first_byte, |time| time.0),
                idle: network.idle_timeout.map_or(patience.idle, |time| time.0),
            },
        }
    }
}

/// What is wrong, and in which line.
fn located(error: &toml::de::Error, text: &str) -> String {
    let before = error.span().and_then(|span| text.get(..span.start));
    // The names of our types say nothing to people.
    let message = ["a nonzero u32", "a nonzero u64"].iter().fold(without_text(error.message()), |message, kind| {
        message.replace(&format!("expected {kind}"), "expected a whole number above 0").into()
    });
    match before.map(|before| before.matches('\n').count() + 1) {
        Some(line) => format!("line {line}: {message}"),
        None => message.into_owned(),
    }
}

/// The message, but for a text of a wrong type: it may be a key that was written where a table belongs.
fn without_text(message: &str) -> Cow<'_, str> {
    let wrong = message.strip_prefix("invalid type: string ").and_then(|rest| rest.rsplit_once(", expected "));
    match wrong {
        Some((_, wanted)) if wanted.starts_with("struct ") => "a text stands where a table belongs".into(),
        Some((_, wanted)) => format!("a text stands where {wanted} belongs").into(),
        None => message.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<File, String> {
        File::parse(text, Path::new("config.toml")).map_err(|error| error.to_string())
    }

    #[test]
    fn a_stronger_layer_wins_key_by_key() {
        let user = parse("model = 'script/a'\nmax-turns = 5\n[limits]\nlive = 8\n").unwrap();
        let flags = File { model: Some("script/b".into()), ..File::default() };
        let config = flags.over(user).resolve();
        assert_eq!(config.model.as_deref(), Some("script/b"));
        assert_eq!((config.max_turns, config.limits.live, config.limits.depth), (Some(5), 8, 6));
        assert_eq!((config.retention_days, config.command_bytes), (90, 64 << 20));
    }

    #[test]
    fn mistakes_name_the_file_the_line_and_what_is_known() {
        let unknown = parse("model = 'x'\nturns = 3\n").unwrap_err();
        assert!(unknown.starts_with("config.toml: line 2: unknown field `turns`"), "{unknown}");
        assert!(unknown.contains("max-turns"), "{unknown}");
        let range = parse("[limits]\nlive = 0\n").unwrap_err();
        assert_eq!(range, "config.toml: limits.live is 0; it must be between 1 and 4096");
        let none = parse("max-turns = 0\n").unwrap_err();
        assert_eq!(none, "config.toml: max-turns is 0; leave it out for no limit");
        assert!(parse("model = 3").unwrap_err().contains("line 1"));
        let tokens = parse("[budget]\ntokens = 0\n").unwrap_err();
        assert!(tokens.ends_with("expected a whole number above 0"), "{tokens}");
        let at_once = parse("[providers.ollama]\nat-once = 0\n").unwrap_err();
        assert!(at_once.ends_with("expected a whole number above 0"), "{at_once}");
    }
}

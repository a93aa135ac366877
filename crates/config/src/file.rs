//! The user's file, `config.toml` in Bosun's home: every key optional, every unknown key an error.

use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;

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
    /// It says something that has no meaning; the message has the line and shows it.
    #[error("{path}: {message}")]
    Invalid {
        /// The file.
        path: PathBuf,
        /// What, and where.
        message: String,
    },
}

/// Settings as a layer gives them: all may be absent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct File {
    /// The model to ask.
    pub model: Option<String>,
    /// Most turns of one run.
    pub max_turns: Option<u32>,
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
    pub command_bytes: Option<u64>,
}

/// Settings as they are used: all present.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The model to ask, if any layer names one.
    pub model: Option<String>,
    /// Most turns of one run, if any layer limits them.
    pub max_turns: Option<u32>,
    /// How many agents there may be.
    pub limits: kernel::Limits,
    /// Days after its last event that `bosun gc` keeps a session.
    pub retention_days: u32,
    /// Bytes of one background command's output that are kept on disk.
    pub command_bytes: u64,
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
        let file: File = toml::from_str(text).map_err(|error| invalid(error.to_string()))?;
        if let Some(live) = file.limits.live.filter(|live| !(1..=4096).contains(live)) {
            return Err(invalid(format!("limits.live is {live}; it must be between 1 and 4096")));
        }
        if file.max_turns == Some(0) {
            return Err(invalid("max-turns is 0; leave it out for no limit".into()));
        }
        Ok(file)
    }

    /// This layer over a weaker one.
    pub fn over(self, weaker: File) -> File {
        let File { model, max_turns, limits, retention, output } = self;
        File {
            model: model.or(weaker.model),
            max_turns: max_turns.or(weaker.max_turns),
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
        let File { model, max_turns, limits, retention, output } = self;
        let usual = kernel::Limits::default();
        Config {
            model,
            max_turns,
            limits: kernel::Limits {
                live: limits.live.unwrap_or(usual.live),
                depth: limits.depth.unwrap_or(usual.depth),
                total: limits.total.unwrap_or(usual.total),
            },
            retention_days: retention.days.unwrap_or(90),
            command_bytes: output.command_bytes.unwrap_or(64 << 20),
        }
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
        assert!(unknown.starts_with("config.toml: TOML parse error at line 2"), "{unknown}");
        assert!(unknown.contains("unknown field `turns`") && unknown.contains("max-turns"), "{unknown}");
        let range = parse("[limits]\nlive = 0\n").unwrap_err();
        assert_eq!(range, "config.toml: limits.live is 0; it must be between 1 and 4096");
        let none = parse("max-turns = 0\n").unwrap_err();
        assert_eq!(none, "config.toml: max-turns is 0; leave it out for no limit");
        assert!(parse("model = 3").unwrap_err().contains("line 1"));
    }
}

//! Reads settings files of limited size, with errors that name the file and line.

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};

use host::PlainError;

use crate::file::SettingsFile;
use crate::provider::{self, ProviderError};
use crate::variables;
use protocol::Usd;

/// Maximum size of a settings file, in bytes.
pub(crate) const MAX_SETTINGS_BYTES: u64 = 1 << 20;

/// Why a settings file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// It cannot be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: PlainError,
    },
    /// It is not valid. The message names the line but does not show it, since it may contain a key.
    #[error("{path}: {message}")]
    Invalid {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        message: String,
    },
    /// A provider in it is not valid.
    #[error("{path}: {source}")]
    Provider {
        /// The file.
        path: PathBuf,
        /// Why.
        source: ProviderError,
    },
    /// A named file does not exist.
    #[error("{named_by} names {path}, which does not exist; correct it or leave it out")]
    Missing {
        /// The flag or variable.
        named_by: &'static str,
        /// The file.
        path: PathBuf,
    },
    /// A file cannot be written.
    #[error("cannot write {path}: {source}")]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It has a `managed` table, which is allowed only in managed settings.
    #[error("{origin}: a `managed` table is not allowed here; it belongs in the machine's managed settings")]
    NotManaged {
        /// Where the table is.
        origin: String,
    },
    /// It sets a forbidden mode.
    #[error("{by} forbids the mode allow-all, which is set by {origin}")]
    Forbidden {
        /// The file that forbids it.
        by: PathBuf,
        /// Where it is set.
        origin: String,
    },
    /// A variable's value is not a number in range.
    #[error("{variable} must be a whole number from {least} to {most}; correct it, or unset it")]
    Variable {
        /// The variable.
        variable: &'static str,
        /// The minimum.
        least: u32,
        /// The maximum.
        most: u32,
    },
    /// The environment relocates a provider to an invalid address.
    #[error(transparent)]
    Environment(ProviderError),
}

impl ConfigError {
    /// The file with the error.
    pub fn path(&self) -> Option<&Path> {
        match self {
            ConfigError::Read { path, .. }
            | ConfigError::Invalid { path, .. }
            | ConfigError::Provider { path, .. }
            | ConfigError::Missing { path, .. }
            | ConfigError::Write { path, .. } => Some(path),
            ConfigError::NotManaged { .. }
            | ConfigError::Forbidden { .. }
            | ConfigError::Variable { .. }
            | ConfigError::Environment(_) => None,
        }
    }
}

impl SettingsFile {
    /// Reads a file of the user; a missing file is empty.
    pub fn read(path: &Path) -> Result<SettingsFile, ConfigError> {
        Ok(SettingsFile::read_if_present(path)?.unwrap_or_default())
    }

    /// Reads a file of the user; returns `None` if it does not exist.
    pub fn read_if_present(path: &Path) -> Result<Option<SettingsFile>, ConfigError> {
        SettingsFile::from_bytes(host::read_plain(path, MAX_SETTINGS_BYTES), path)
    }

    /// Reads a project's file without following links below its top.
    pub(crate) fn read_below(top: &Path, below: &str) -> Result<Option<SettingsFile>, ConfigError> {
        SettingsFile::from_bytes(host::read_below(top, Path::new(below), MAX_SETTINGS_BYTES), &top.join(below))
    }

    fn from_bytes(read: Result<Option<Vec<u8>>, PlainError>, path: &Path) -> Result<Option<SettingsFile>, ConfigError> {
        let bytes = read.map_err(|source| ConfigError::Read { path: path.to_owned(), source })?;
        let parse = |bytes: Vec<u8>| match String::from_utf8(bytes) {
            Ok(text) => SettingsFile::parse(&text, path),
            Err(_binary) => Err(invalid(path, "it is not UTF-8 text".into())),
        };
        bytes.map(parse).transpose()
    }

    /// Parses settings as TOML, or as JSON if they begin with a brace.
    pub fn parse(text: &str, path: &Path) -> Result<SettingsFile, ConfigError> {
        let file: SettingsFile = if text.trim_start().starts_with('{') {
            serde_json::from_str(text).map_err(|error| invalid(path, json_message(&error)))?
        } else {
            toml::from_str(text).map_err(|error| invalid(path, toml_message(&error, text)))?
        };
        file.check().map_err(|message| invalid(path, message))?;
        let unusable = |source| ConfigError::Provider { path: path.to_owned(), source };
        provider::check_providers(&file.providers).map_err(unusable)?;
        Ok(file)
    }

    /// Fails if a value is out of range.
    pub(crate) fn check(&self) -> Result<(), String> {
        if let Some(live) = self.limits.live.filter(|live| !(1..=4096).contains(live)) {
            return Err(format!("limits.live is {live}; it must be between 1 and 4096"));
        }
        if let Some(factor) = self.agents.cost_factor.filter(|factor| !(factor.is_finite() && *factor >= 1.0)) {
            return Err(format!("agents.cost-factor is {factor}; it must be 1 or more"));
        }
        if let Some(url) = self.agents.catalog.as_deref().filter(|url| !is_secure_address(url)) {
            let shown = url.split_once("://").map_or("not an address", |(scheme, _)| scheme);
            return Err(format!("agents.catalog is {shown}; it must be an https address"));
        }
        if let Some(name) = self.environment.set.keys().find(|name| !variables::is_settable(name)) {
            return Err(format!("environment.set: `{name}` cannot be set; use a name such as NODE_ENV"));
        }
        if self.max_turns == Some(0) {
            return Err("max-turns is 0; leave it out for no limit".into());
        }
        if self.budget.usd == Some(Usd(0)) {
            return Err("budget.usd is 0; leave it out for no limit".into());
        }
        Ok(())
    }
}

/// Whether traffic to an address cannot be read or changed on the network.
fn is_secure_address(url: &str) -> bool {
    let Ok(url) = url::Url::parse(url) else { return false };
    let loopback = || matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
    url.scheme() == "https" || (url.scheme() == "http" && loopback())
}

fn invalid(path: &Path, message: String) -> ConfigError {
    ConfigError::Invalid { path: path.to_owned(), message }
}

/// A JSON error with its line, without the file's text.
fn json_message(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let message = text.rsplit_once(" at line ").map_or(text.as_str(), |(message, _)| message);
    format!("line {}: {}", error.line(), redact_value(message))
}

/// A TOML error with its line.
fn toml_message(error: &toml::de::Error, text: &str) -> String {
    let before = error.span().and_then(|span| text.get(..span.start));
    // Users do not know our type names.
    let message = ["a nonzero u32", "a nonzero u64"].iter().fold(redact_value(error.message()), |message, kind| {
        message.replace(&format!("expected {kind}"), "expected a whole number above 0").into()
    });
    match before.map(|before| before.matches('\n').count() + 1) {
        Some(line) => format!("line {line}: {message}"),
        None => message.into_owned(),
    }
}

/// Removes a string of the wrong type from a message: it may be a key written in the wrong place.
fn redact_value(message: &str) -> Cow<'_, str> {
    let wrong = message.strip_prefix("invalid type: string ").and_then(|rest| rest.rsplit_once(", expected "));
    match wrong {
        Some((_, wanted)) if wanted.starts_with("struct ") => "expected a table, found a string".into(),
        Some((_, wanted)) => format!("expected {wanted}, found a string").into(),
        None => message.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<SettingsFile, String> {
        SettingsFile::parse(text, Path::new("config.toml")).map_err(|error| error.to_string())
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

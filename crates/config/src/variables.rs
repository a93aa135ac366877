//! Which environment variables started programs get, and whose values are secret.

use std::collections::{BTreeMap, BTreeSet};

use serde::de::{self, Deserialize, Deserializer};
use serde::ser::{Serialize, Serializer};

use crate::file::EnvironmentSettings;

/// Patterns of variables whose name indicates a key.
#[rustfmt::skip]
const KEY_LIKE: [&str; 30] = [
    "*_API_KEY", "API_KEY", "*APIKEY", "*_TOKEN", "TOKEN", "*_SECRET", "SECRET", "*_SECRET_*", "SECRET_*", "*_PASSWORD",
    "PASSWORD", "*_PASSWD", "*_PASS", "*_PASSPHRASE", "PGPASSWORD", "MYSQL_PWD", "*_PAT", "*_ADMIN_KEY", "*_ACCESS_KEY",
    "*_PRIVATE_KEY", "*_SIGNING_KEY", "*_ENCRYPTION_KEY", "*_MASTER_KEY", "*_SERVICE_KEY", "*_ACCOUNT_KEY",
    "AWS_ACCESS_KEY_ID", "DATABASE_URL", "*_DATABASE_URL", "*_CONNECTION_STRING", "*_CREDENTIALS_JSON",
];

/// Bosun's own variables.
const OWN_VARIABLES: &str = "BOSUN_*";

/// A pattern of variable names, in which `*` matches any characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VariablePattern(String);

impl VariablePattern {
    fn parse(text: String) -> Result<VariablePattern, String> {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '*');
        if text.is_empty() || !text.chars().all(plain) {
            return Err(format!("`{text}` is not a variable name; write one such as NPM_TOKEN or *_TOKEN"));
        }
        Ok(VariablePattern(text))
    }

    fn matches(&self, name: &str) -> bool {
        matches(&self.0, name)
    }
}

/// Decides which variables are hidden from programs.
pub(crate) struct HiddenVariables<'a> {
    /// Variables known to contain keys.
    pub(crate) keys: &'a BTreeSet<String>,
    /// Each layer's environment settings, strongest first.
    pub(crate) settings: &'a [EnvironmentSettings],
}

impl HiddenVariables<'_> {
    /// Whether a variable is hidden from started programs. The strongest layer that names it decides; if that layer
    /// both hides and passes it, it is passed.
    pub(crate) fn hides(&self, name: &str) -> bool {
        let named = |patterns: &[VariablePattern]| patterns.iter().any(|pattern| pattern.matches(name));
        let decided = self.settings.iter().find_map(|layer| match (named(&layer.pass), named(&layer.hide)) {
            (true, _) => Some(false),
            (false, true) => Some(true),
            (false, false) => None,
        });
        decided.unwrap_or_else(|| matches(OWN_VARIABLES, name) || self.is_secret(name))
    }

    /// The variables that settings set. The strongest layer that sets or hides a variable decides.
    pub(crate) fn assignments(&self) -> BTreeMap<&str, &str> {
        let mut set = BTreeMap::new();
        for layer in self.settings.iter().rev() {
            set.retain(|name: &&str, _| !layer.hide.iter().any(|pattern| pattern.matches(name)));
            set.extend(layer.set.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        }
        set
    }

    /// Whether its value must never be written, even if programs get it.
    pub(crate) fn is_secret(&self, name: &str) -> bool {
        let like_a_key = KEY_LIKE.iter().any(|pattern| matches(pattern, name));
        let hidden = self.settings.iter().flat_map(|layer| &layer.hide).any(|pattern| pattern.matches(name));
        self.keys.contains(name) || like_a_key || hidden
    }
}

/// Whether a variable of this name may be set for started programs. Bosun's own variables may not.
pub(crate) fn is_settable(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let begins = name.chars().next().is_some_and(|first| !first.is_ascii_digit());
    begins && name.chars().all(plain) && !matches(OWN_VARIABLES, name)
}

/// Whether a variable may contain a key, judging by its name and value. This covers more than is hidden.
pub(crate) fn may_be_secret(name: &str, value: &str) -> bool {
    const PARTS: [&str; 7] = ["KEY", "TOKEN", "SECRET", "PASS", "CREDENTIAL", "AUTH", "COOKIE"];
    const BEGINNINGS: [&str; 9] = ["sk-", "ghp_", "gho_", "github_pat_", "glpat-", "npm_", "xox", "AKIA", "Bearer "];
    let name = name.to_ascii_uppercase();
    let has_login = || value.split_once("://").is_some_and(|(_, rest)| rest.contains('@'));
    PARTS.iter().any(|part| name.contains(part))
        || KEY_LIKE.iter().any(|pattern| matches(pattern, &name))
        || BEGINNINGS.iter().any(|beginning| value.starts_with(beginning))
        || has_login()
}

/// Whether a name matches a pattern. Case is ignored, since hiding too much does less harm.
fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.to_ascii_uppercase(), name.to_ascii_uppercase());
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut left) = name.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        match left.split_once(part) {
            Some((_, after)) => left = after,
            None => return false,
        }
    }
    left.ends_with(last)
}

impl<'de> Deserialize<'de> for VariablePattern {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        VariablePattern::parse(String::deserialize(from)?).map_err(de::Error::custom)
    }
}

impl Serialize for VariablePattern {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_like_variables_are_hidden_unless_settings_pass_them() {
        let hidden = HiddenVariables { keys: &BTreeSet::new(), settings: &[] };
        let keys = "AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN AWS_ACCESS_KEY_ID GITHUB_TOKEN GH_TOKEN HF_TOKEN NPM_TOKEN \
                    DATABASE_URL OPENAI_ADMIN_KEY api_key npm_token STRIPE_SECRET_KEY DB_PASSWORD CLIENT_SECRET \
                    GITLAB_PRIVATE_TOKEN SLACK_BOT_TOKEN AZURE_CLIENT_SECRET PGPASSWORD TOKEN SECRET";
        assert_eq!(keys.split_whitespace().find(|name| !hidden.hides(name) || !hidden.is_secret(name)), None);
        let others = "PATH HOME LANG AWS_REGION AWS_PROFILE GITHUB_ACTIONS SSH_AUTH_SOCK MAX_OUTPUT_TOKENS TOKENIZERS_PARALLELISM \
                      KEYBOARD PASSENGER_HOME CARGO_HOME GOOGLE_APPLICATION_CREDENTIALS COMPASS GPG_TTY HTTPS_PROXY";
        assert_eq!(others.split_whitespace().find(|name| hidden.hides(name)), None);
        let pass = EnvironmentSettings {
            pass: vec![VariablePattern::parse("GITHUB_TOKEN".into()).unwrap()],
            ..EnvironmentSettings::default()
        };
        let passing = HiddenVariables { keys: &BTreeSet::new(), settings: &[pass] };
        assert!(!passing.hides("GITHUB_TOKEN") && passing.is_secret("GITHUB_TOKEN") && passing.hides("GH_TOKEN"));
    }

    #[test]
    fn secrets_are_recognised_by_name_or_value() {
        for (name, value) in [
            ("NPM_TOKEN", "x"),
            ("my_key", "x"),
            ("HTTPS_PROXY", "http://me:word@proxy:8080"),
            ("GATEWAY", "sk-0123"),
            ("HEADER", "Bearer abc"),
        ] {
            assert!(may_be_secret(name, value), "{name}");
        }
        for (name, value) in [("NODE_ENV", "test"), ("HTTPS_PROXY", "http://proxy:8080"), ("EMAIL", "me@example.com")] {
            assert!(!may_be_secret(name, value), "{name}");
        }
    }

    #[test]
    fn stars_match_any_characters() {
        let fits = [("*_API_KEY", "X_API_KEY"), ("*", ""), ("a*", "A"), ("*B*D", "ABCD"), ("A**C", "AC"), ("X", "x")];
        assert!(fits.iter().all(|(pattern, name)| matches(pattern, name)));
        let differs = [("*_API_KEY", "API_KEY"), ("A", "AB"), ("A*C", "CA"), ("*B*B", "AB"), ("BOSUN_*", "BOSUN")];
        assert!(differs.iter().all(|(pattern, name)| !matches(pattern, name)));
    }
}

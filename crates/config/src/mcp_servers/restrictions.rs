//! The MCP servers that an administrator allows.

use protocol::McpServerSpec;
use serde::{Deserialize, Serialize};

/// Servers that an administrator allows or denies: those that match everything that is stated.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct McpServerMatch {
    /// The server's name, in which `*` stands for any characters.
    pub name: Option<String>,
    /// The program with its arguments, exactly.
    pub command: Option<Vec<String>>,
    /// The URL, in which `*` stands for any characters.
    pub url: Option<String>,
}

impl McpServerMatch {
    /// Whether a server matches, after its variables were expanded. An entry that states nothing matches no server.
    pub(super) fn matches(&self, name: &str, server: &McpServerSpec) -> bool {
        let McpServerMatch { name: names, command, url } = self;
        let is_stated = names.is_some() || command.is_some() || url.is_some();
        let has_command = |stated: &Vec<String>| {
            let words = server.command.iter().chain(&server.args);
            words.eq(stated)
        };
        is_stated
            && names.as_deref().is_none_or(|pattern| matches_pattern(pattern, name))
            && command.as_ref().is_none_or(has_command)
            && url
                .as_deref()
                .is_none_or(|pattern| server.url.as_deref().is_some_and(|url| matches_pattern(pattern, url)))
    }
}

/// Whether a text matches a pattern in which `*` stands for any characters.
fn matches_pattern(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(first) else { return false };
    let mut pieces: Vec<&str> = rest.split('*').collect();
    let last = pieces.pop().unwrap_or_default();
    for piece in pieces {
        match text.find(piece) {
            Some(at) => text = &text[at + piece.len()..],
            None => return false,
        }
    }
    text.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_is_stated_must_match() {
        let server = McpServerSpec {
            command: Some("npx".into()),
            args: vec!["-y".into(), "db".into()],
            ..McpServerSpec::default()
        };
        let entry = |name: Option<&str>, command: Option<&[&str]>, url: Option<&str>| McpServerMatch {
            name: name.map(str::to_owned),
            command: command.map(|words| words.iter().map(|&word| word.to_owned()).collect()),
            url: url.map(str::to_owned),
        };
        for (stated, expected) in [
            (entry(None, None, None), false),
            (entry(Some("d*"), None, None), true),
            (entry(Some("d"), None, None), false),
            (entry(None, Some(&["npx", "-y", "db"]), None), true),
            (entry(None, Some(&["npx", "-y"]), None), false),
            (entry(Some("db"), Some(&["npx"]), None), false),
            (entry(None, None, Some("*")), false),
        ] {
            assert_eq!(stated.matches("db", &server), expected, "{stated:?}");
        }
        let remote = McpServerSpec { url: Some("https://a.example.com/mcp".into()), ..McpServerSpec::default() };
        assert!(entry(None, None, Some("https://*.example.com/*")).matches("x", &remote));
        assert!(!entry(None, None, Some("https://*.example.org/*")).matches("x", &remote));
    }
}

//! Recognises slash commands.

/// The name and arguments of a slash command that the user typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ParsedCommand<'a> {
    /// Its normalised name.
    pub(super) name: String,
    /// Its arguments.
    pub(super) arguments: &'a str,
}

/// Parses a text that begins with a slash and a word; `None` for other text, such as a path.
pub(super) fn parse(text: &str) -> Option<ParsedCommand<'_>> {
    let text = text.strip_prefix('/')?;
    let (name, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let is_word = name.starts_with(|c: char| c.is_alphanumeric() || c == '?')
        && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | ':' | '?'));
    is_word.then(|| ParsedCommand { name: normalize_name(name), arguments: rest.trim() })
}

/// Normalises a name for comparison.
pub(super) fn normalize_name(name: &str) -> String {
    name.trim_start_matches('/').replace('_', "-").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_slash_and_a_word_make_a_command() {
        let name = |text| parse(text).map(|typed| typed.name);
        assert_eq!(name("/help"), Some("help".into()));
        assert_eq!(name("/Security_Review x"), Some("security-review".into()));
        assert_eq!(name("/plugin:fix"), Some("plugin:fix".into()));
        for text in ["hello", " /help", "/etc/hosts is wrong", "/tmp/a.txt", "/a.txt", "a /help", "/", "/ x", "/* c */"]
        {
            assert_eq!(name(text), None, "{text}");
        }
        assert_eq!(parse("/fleet  do\nit ").map(|typed| typed.arguments), Some("do\nit"));
    }
}

//! Tells a slash command from other text.

/// A command as it was typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ParsedSlash<'a> {
    /// Its name, in the one form that names are compared in.
    pub(super) name: String,
    /// What follows the name.
    pub(super) rest: &'a str,
}

/// Reads a text that begins with a slash and a word; none if it is for the model, as a path at its beginning is.
pub(super) fn parse(text: &str) -> Option<ParsedSlash<'_>> {
    let text = text.strip_prefix('/')?;
    let (name, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let is_word = name.starts_with(|c: char| c.is_alphanumeric() || c == '?')
        && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | ':' | '?'));
    is_word.then(|| ParsedSlash { name: normalize_name(name), rest: rest.trim() })
}

/// A name in the one form that names are compared in.
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
        assert_eq!(parse("/fleet  do\nit ").map(|typed| typed.rest), Some("do\nit"));
    }
}

//! The endpoint of a remote model, and quoting of its messages.

use net::Secret;

use crate::{Provider, ProviderKey};

/// Shorter keys are hidden as whole words only.
const SHORT_KEY_BYTES: usize = 8;

/// A provider and model, with the secrets to hide in its messages.
#[derive(Debug, Clone)]
pub(super) struct ModelEndpoint {
    /// The provider's name.
    pub(super) provider: String,
    /// The model's name at the provider.
    pub(super) model: String,
    /// Everything else about the provider.
    pub(super) config: Provider,
}

impl ModelEndpoint {
    /// A provider's message, fit for display: without the key, without control characters, and clipped.
    pub(super) fn quote(&self, text: &str) -> String {
        const MAX_SHOWN_CHARS: usize = 300;
        let key = match &self.config.key {
            ProviderKey::Present(secret) => Some(secret),
            ProviderKey::NotNeeded | ProviderKey::Missing { .. } => None,
        };
        let secrets = key.into_iter().chain(self.config.extra.headers.iter().map(|(_, value)| value));
        let hide = |text: String, secret: &Secret| match secret.reveal() {
            "" => text,
            // A short key would also match inside unrelated words.
            hidden if hidden.len() < SHORT_KEY_BYTES => hide_word(&text, hidden),
            hidden => text.replace(hidden, "[key]"),
        };
        let text = secrets.fold(text.to_owned(), hide);
        let shown: String = text.split_whitespace().flat_map(|word| [word, " "]).collect();
        let shown = shown.trim_end().chars().filter(|c| !c.is_control());
        let mut clipped: String = shown.clone().take(MAX_SHOWN_CHARS).collect();
        if shown.count() > MAX_SHOWN_CHARS {
            clipped.push('…');
        }
        clipped
    }
}

/// The text with `hidden` replaced where it is a whole word.
fn hide_word(text: &str, hidden: &str) -> String {
    let (mut shown, mut from) = (String::new(), 0);
    for (at, _) in text.match_indices(hidden) {
        let end = at + hidden.len();
        let is_inside = text[..at].ends_with(char::is_alphanumeric) || text[end..].starts_with(char::is_alphanumeric);
        if at >= from && !is_inside {
            shown.push_str(&text[from..at]);
            shown.push_str("[key]");
            from = end;
        }
    }
    shown.push_str(&text[from..]);
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_key_is_hidden_only_as_a_whole_word() {
        assert_eq!(hide_word("invalid key: a, as said (a)", "a"), "invalid key: [key], as said ([key])");
        assert_eq!(hide_word("aa a", "a"), "aa [key]");
        assert_eq!(hide_word("x", "k1"), "x");
    }
}

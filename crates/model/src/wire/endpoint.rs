//! The place a remote model is asked at, as messages to people name it.

use net::Secret;

use crate::{Provider, ProviderKey};

/// Keys of fewer bytes are hidden as whole words only.
const SHORT: usize = 8;

/// Who is asked, and what may not show in what they answer.
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
    /// A provider's words, fit to be shown: without the key, without control characters, and not too many.
    pub(super) fn quote(&self, words: &str) -> String {
        const MOST: usize = 300;
        let key = match &self.config.key {
            ProviderKey::Present(secret) => Some(secret),
            ProviderKey::NotNeeded | ProviderKey::Missing { .. } => None,
        };
        let secrets = key.into_iter().chain(self.config.extra.headers.iter().map(|(_, value)| value));
        let hide = |words: String, secret: &Secret| match secret.reveal() {
            "" => words,
            // A short one would be found inside of words that have nothing to do with it.
            hidden if hidden.len() < SHORT => hide_word(&words, hidden),
            hidden => words.replace(hidden, "[key]"),
        };
        let words = secrets.fold(words.to_owned(), hide);
        let shown: String = words.split_whitespace().flat_map(|word| [word, " "]).collect();
        let shown = shown.trim_end().chars().filter(|c| !c.is_control());
        let mut clipped: String = shown.clone().take(MOST).collect();
        if shown.count() > MOST {
            clipped.push('…');
        }
        clipped
    }
}

/// The text with every place hidden where this stands as a word of its own.
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
    fn a_short_key_is_hidden_as_a_word_and_not_inside_of_others() {
        assert_eq!(hide_word("invalid key: a, as said (a)", "a"), "invalid key: [key], as said ([key])");
        assert_eq!(hide_word("aa a", "a"), "aa [key]");
        assert_eq!(hide_word("x", "k1"), "x");
    }
}

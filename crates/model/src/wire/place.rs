//! The place a remote model is asked at, as messages to people name it.

use net::Secret;

use crate::{Key, Provider};

/// Who is asked, and what may not show in what they answer.
#[derive(Debug, Clone)]
pub(super) struct Place {
    /// The provider's name.
    pub(super) provider: String,
    /// The model's name at the provider.
    pub(super) model: String,
    /// Everything else about the provider.
    pub(super) at: Provider,
}

impl Place {
    /// A provider's words, fit to be shown: without the key, without control characters, and not too many.
    pub(super) fn quote(&self, words: &str) -> String {
        const MOST: usize = 300;
        let key = match &self.at.key {
            Key::Given(secret) => Some(secret),
            Key::Needless | Key::Missing { .. } => None,
        };
        let secrets = key.into_iter().chain(self.at.extra.headers.iter().map(|(_, value)| value));
        let hide = |words: String, secret: &Secret| match secret.reveal() {
            "" => words,
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

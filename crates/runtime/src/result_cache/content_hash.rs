//! Digests of things that are made of parts, each part told apart from the next.

use std::fmt;

use sha2::{Digest, Sha256};

/// A digest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct ContentHash([u8; 32]);

impl ContentHash {
    /// The digest of one text.
    pub(super) fn of(text: &str) -> ContentHash {
        ContentHasher::new("text").text(text).finish()
    }

    /// The first half in letters, which is enough to tell states of files apart.
    pub(super) fn short(self) -> String {
        self.0.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.short())
    }
}

/// A digest in the making. Each part goes in with its length, so that no two lists of parts look alike.
pub(super) struct ContentHasher(Sha256);

impl ContentHasher {
    /// Begins the digest of a kind of thing.
    pub(super) fn new(kind: &str) -> ContentHasher {
        ContentHasher(Sha256::new()).text(kind)
    }

    pub(super) fn text(self, text: &str) -> ContentHasher {
        self.bytes(text.as_bytes())
    }

    pub(super) fn bytes(mut self, bytes: &[u8]) -> ContentHasher {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
        self
    }

    pub(super) fn optional(self, text: Option<&str>) -> ContentHasher {
        match text {
            Some(text) => self.text("some").text(text),
            None => self.text("none"),
        }
    }

    pub(super) fn number(self, number: u64) -> ContentHasher {
        self.bytes(&number.to_le_bytes())
    }

    pub(super) fn part(self, part: ContentHash) -> ContentHasher {
        self.bytes(&part.0)
    }

    /// A piece of what is as long as it is: only for the last part.
    pub(super) fn piece(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub(super) fn finish(self) -> ContentHash {
        ContentHash(self.0.finalize().into())
    }
}

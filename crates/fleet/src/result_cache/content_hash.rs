//! Digests of data that consists of delimited parts.

use std::fmt;

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

/// The SHA-256 digest of data.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct ContentHash([u8; 32]);

impl ContentHash {
    /// The digest of one text.
    pub(super) fn of_text(text: &str) -> ContentHash {
        ContentHasher::new("text").text(text).finish()
    }

    /// The first half in hexadecimal, which is enough to distinguish versions of a file.
    pub(super) fn short(self) -> String {
        HEXLOWER.encode(&self.0[..16])
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&HEXLOWER.encode(&self.0))
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.short())
    }
}

/// Computes a digest. Each part is hashed with its length, so that no two lists of parts collide.
pub(super) struct ContentHasher(Sha256);

impl ContentHasher {
    /// Begins a digest. Data of different kinds never has the same digest.
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

    pub(super) fn content_hash(self, hash: ContentHash) -> ContentHasher {
        self.bytes(&hash.0)
    }

    /// Adds bytes without their length: only for the last part.
    pub(super) fn add_raw(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub(super) fn finish(self) -> ContentHash {
        ContentHash(self.0.finalize().into())
    }
}

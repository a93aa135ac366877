//! The token that a client must send. Only its digest is kept: comparing digests does not reveal how much of a guess
//! was right.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

/// The minimum length of a token.
const MIN_TOKEN_BYTES: usize = 32;

/// The token that a client must send.
#[derive(Clone)]
pub struct AccessToken {
    digest: [u8; 32],
}

impl AccessToken {
    /// Generates a random token.
    pub fn generate() -> io::Result<String> {
        let mut bytes = [0; 32];
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        Ok(HEXLOWER.encode(&bytes))
    }

    /// Creates a token; `None` if the text is too short or cannot be sent in a header.
    pub fn new(text: &str) -> Option<AccessToken> {
        let is_valid = text.len() >= MIN_TOKEN_BYTES && text.bytes().all(|byte| byte.is_ascii_graphic());
        is_valid.then(|| AccessToken::from_text(text))
    }

    /// Creates a token from any text that the user who starts an adapter chose.
    pub(crate) fn from_text(text: &str) -> AccessToken {
        AccessToken { digest: Sha256::digest(text).into() }
    }

    /// Whether `text` is the token.
    pub(crate) fn matches(&self, text: &[u8]) -> bool {
        let digest: [u8; 32] = Sha256::digest(text).into();
        digest == self.digest
    }
}

impl fmt::Debug for AccessToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_match_only_themselves() {
        let text = AccessToken::generate().unwrap();
        let token = AccessToken::new(&text).unwrap();
        assert!(token.matches(text.as_bytes()));
        assert!(!token.matches(b"") && !token.matches(&text.as_bytes()[1..]));
        assert_ne!(text, AccessToken::generate().unwrap());
        assert!(AccessToken::new("short").is_none() && AccessToken::from_text("short").matches(b"short"));
        assert!(AccessToken::new(&"with spaces ".repeat(4)).is_none());
    }
}

//! The word that a client must bring to be let in. Only its digest is kept: comparing digests tells nobody how much of a guess
//! was right.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};

use sha2::{Digest, Sha256};

/// The shortest token that is taken from outside.
const SHORTEST: usize = 32;

/// The word that a client must bring to be let in.
#[derive(Clone)]
pub struct AccessToken {
    digest: [u8; 32],
}

impl AccessToken {
    /// A word that nobody can guess.
    pub fn generate() -> io::Result<String> {
        let mut bytes = [0; 32];
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// The token that is this word; none if it is too short, or could not be written in a header.
    pub fn new(word: &str) -> Option<AccessToken> {
        let is_fit = word.len() >= SHORTEST && word.bytes().all(|byte| byte.is_ascii_graphic());
        is_fit.then(|| AccessToken::from_any(word))
    }

    /// The token that whoever starts an adapter has chosen, whatever it is.
    pub(crate) fn from_any(word: &str) -> AccessToken {
        AccessToken { digest: Sha256::digest(word).into() }
    }

    /// Whether this is it.
    pub(crate) fn matches(&self, word: &[u8]) -> bool {
        let digest: [u8; 32] = Sha256::digest(word).into();
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
    fn a_token_is_only_itself() {
        let word = AccessToken::generate().unwrap();
        let token = AccessToken::new(&word).unwrap();
        assert!(token.matches(word.as_bytes()));
        assert!(!token.matches(b"") && !token.matches(&word.as_bytes()[1..]));
        assert_ne!(word, AccessToken::generate().unwrap());
        assert!(AccessToken::new("short").is_none() && AccessToken::from_any("short").matches(b"short"));
        assert!(AccessToken::new(&"with spaces ".repeat(4)).is_none());
    }
}

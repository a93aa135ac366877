//! Words that must not be seen.

use std::fmt;

/// A key or password. It is never printed, logged or stored.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    value: String,
    variable: Option<String>,
}

impl Secret {
    /// Keeps `words` from being seen.
    pub fn new(words: impl Into<String>) -> Secret {
        Secret { value: words.into(), variable: None }
    }

    /// The same secret, with the environment variable that it was found in.
    #[must_use]
    pub fn found_in(self, variable: impl Into<String>) -> Secret {
        Secret { variable: Some(variable.into()), ..self }
    }

    /// The words, for the one place that sends them.
    pub fn reveal(&self) -> &str {
        &self.value
    }

    /// Where it was found, for people who must correct it.
    pub fn variable(&self) -> Option<&str> {
        self.variable.as_deref()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_does_not_show() {
        assert_eq!(format!("{:?}", Some(Secret::new("sk-1").found_in("KEY"))), "Some([secret])");
    }
}

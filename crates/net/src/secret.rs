//! Words that must not be seen.

use std::fmt;

/// A key or password. It is never printed, logged or stored.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Keeps `text` from being seen.
    pub fn new(text: impl Into<String>) -> Secret {
        Secret(text.into())
    }

    /// The words, for the one place that sends them.
    pub fn reveal(&self) -> &str {
        &self.0
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
        assert_eq!(format!("{:?}", Some(Secret::new("sk-1"))), "Some([secret])");
    }
}

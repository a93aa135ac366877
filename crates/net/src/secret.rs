//! Secret values.

use std::fmt;

/// A key or password. It is never printed, logged or stored.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    value: String,
    variable: Option<String>,
}

impl Secret {
    /// A secret with this value.
    pub fn new(value: impl Into<String>) -> Secret {
        Secret { value: value.into(), variable: None }
    }

    /// The same secret, with the environment variable that it was found in.
    #[must_use]
    pub fn found_in(self, variable: impl Into<String>) -> Secret {
        Secret { variable: Some(variable.into()), ..self }
    }

    /// The value, for the one place that sends it.
    pub fn reveal(&self) -> &str {
        &self.value
    }

    /// The variable it was found in, for messages to the user.
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
    fn debug_output_hides_a_secret() {
        assert_eq!(format!("{:?}", Some(Secret::new("sk-1").found_in("KEY"))), "Some([secret])");
    }
}

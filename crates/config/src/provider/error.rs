//! Errors in provider settings. No message repeats what may be a key.

/// An error in the settings of a provider.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProviderError {
    /// Its name is not valid, or is reserved.
    #[error("providers.{name}: a provider's name is letters, digits, `-`, `_` and `.`, and not `script` or `replay`")]
    Name {
        /// The name.
        name: String,
    },
    /// It has no kind.
    #[error("providers.{name} has no kind; write kind = \"anthropic\", \"openai\" or \"openai-chat\"")]
    NoKind {
        /// The provider.
        name: String,
    },
    /// It has no address.
    #[error("providers.{name} has no base-url; write its address, such as base-url = \"https://host/v1\"")]
    NoAddress {
        /// The provider.
        name: String,
    },
    /// Its address is not valid.
    #[error("{place} {problem}")]
    Address {
        /// The setting or variable with the address.
        place: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The file contains a key.
    #[error(
        "providers.{name} contains a key; keys do not belong in the file: put it into an environment variable and \
         name that variable with key-env = \"VARIABLE\""
    )]
    KeyInFile {
        /// The provider.
        name: String,
    },
    /// `key-env` is not the name of a variable.
    #[error("providers.{name}.key-env is not the name of an environment variable; write the name, never the key")]
    KeyEnv {
        /// The provider.
        name: String,
    },
    /// A model's price is incomplete.
    #[error(
        "providers.{name}.models.\"{model}\" has an incomplete price; set both input and output, in dollars per \
         million tokens"
    )]
    IncompletePrice {
        /// The provider.
        name: String,
        /// The model.
        model: String,
    },
}

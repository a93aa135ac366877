//! What is wrong with a provider. No message repeats what may be a key.

/// What is wrong with the description of a provider.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProviderError {
    /// Its name cannot stand before a slash, or is taken.
    #[error("providers.{name}: a provider's name is letters, digits, `-`, `_` and `.`, and not `script` or `replay`")]
    Name {
        /// The name.
        name: String,
    },
    /// It does not say what it speaks.
    #[error("providers.{name} has no kind; write kind = \"anthropic\", \"openai\" or \"openai-chat\"")]
    NoKind {
        /// The provider.
        name: String,
    },
    /// It does not say where it is.
    #[error("providers.{name} has no base-url; write where it is, such as base-url = \"https://host/v1\"")]
    NoAddress {
        /// The provider.
        name: String,
    },
    /// What it gives as its address is none.
    #[error("{place} {problem}")]
    Address {
        /// Where the address stands.
        place: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// A key stands in the file.
    #[error(
        "providers.{name} holds a key; keys do not belong into the file: put it into an environment variable and \
         name that one with key-env = \"VARIABLE\""
    )]
    KeyInFile {
        /// The provider.
        name: String,
    },
    /// What should name a variable does not.
    #[error("providers.{name}.key-env is not the name of an environment variable; write the name, never the key")]
    KeyEnv {
        /// The provider.
        name: String,
    },
    /// A model has half a price.
    #[error(
        "providers.{name}.models.\"{model}\" has half a price; give both input and output, in dollars for a million \
         tokens"
    )]
    HalfPrice {
        /// The provider.
        name: String,
        /// The model.
        model: String,
    },
}

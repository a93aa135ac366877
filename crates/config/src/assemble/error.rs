//! Why settings cannot be assembled.

use protocol::Refusal;

/// Why the settings of a session cannot be assembled.
#[derive(Debug, thiserror::Error)]
pub enum AssembleError {
    /// The options or the settings cannot be used.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// No model is chosen, and no provider has a key.
    #[error("no model is chosen")]
    NoModel,
    /// The model cannot be opened.
    #[error(transparent)]
    Model(#[from] model::OpenModelError),
    /// A budget in dollars applies, but the price of the model is unknown.
    #[error("the price of {} is unknown, so a budget in dollars cannot be enforced", protocol::model_display_name(.model))]
    Unpriced {
        /// The model.
        model: String,
        /// What the user can do.
        hint: String,
    },
}

impl AssembleError {
    /// What the user can do, in the terms of the command line.
    pub fn hint(&self) -> Option<&str> {
        match self {
            AssembleError::Refused(refusal) => refusal.hint.as_deref(),
            AssembleError::NoModel => Some(
                "set ANTHROPIC_API_KEY or OPENAI_API_KEY, or give one with --model, such as \
                 anthropic/claude-sonnet-5-5 or ollama/qwen3:8b, with BOSUN_MODEL, or as `model` in config.toml; \
                 `bosun models` lists all models, and `bosun demo` needs none",
            ),
            AssembleError::Model(_) => None,
            AssembleError::Unpriced { hint, .. } => Some(hint),
        }
    }
}

//! Errors of the SDK.

use protocol::Hinted as _;

/// Any error of the SDK.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Bosun's home cannot be used.
    #[error(transparent)]
    Home(#[from] host::HomeError),
    /// The options or the settings cannot be used.
    #[error(transparent)]
    Settings(#[from] protocol::Refusal),
    /// No model is chosen.
    #[error("no model is chosen; set one with `model`, such as anthropic/claude-sonnet-5-5")]
    NoModel,
    /// The model cannot be used.
    #[error(transparent)]
    Model(#[from] model::OpenModelError),
    /// The model's price is unknown.
    #[error("the price of {0} is unknown, so a budget in dollars cannot be enforced; limit tokens instead")]
    Unpriced(String),
    /// The session did not open.
    #[error("{}", .0.in_one_line())]
    Open(#[from] runtime::SessionOpenError),
    /// The session's file cannot be read or written.
    #[error(transparent)]
    Store(#[from] client::StoreError),
    /// The session rejected the input.
    #[error(transparent)]
    Rejected(#[from] runtime::InputRejection),
    /// The session's model could not be changed.
    #[error("{}", .0.in_one_line())]
    ModelNotChanged(#[from] runtime::ModelChangeError),
    /// The agent was not started.
    #[error("{}", .0.in_one_line())]
    Agent(#[from] runtime::StartAgentError),
    /// There is no such task.
    #[error("there is no task {0} in this session")]
    NoTask(protocol::TaskId),
    /// The session cannot continue.
    #[error("the session is paused: {0}")]
    Paused(String),
}

impl From<config::AssembleError> for Error {
    fn from(error: config::AssembleError) -> Error {
        match error {
            config::AssembleError::Refused(refusal) => Error::Settings(refusal),
            config::AssembleError::NoModel => Error::NoModel,
            config::AssembleError::Model(error) => Error::Model(error),
            config::AssembleError::Unpriced { model, hint: _ } => Error::Unpriced(model),
        }
    }
}

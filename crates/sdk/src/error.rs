//! Why something could not be done.

use std::io;

/// Why something could not be done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Bosun's home cannot be used.
    #[error(transparent)]
    Home(#[from] host::HomeError),
    /// The settings cannot be used.
    #[error(transparent)]
    Settings(#[from] config::ConfigError),
    /// A rule cannot be read.
    #[error(transparent)]
    Rule(#[from] policy::RuleError),
    /// The folder to work in cannot be used.
    #[error("cannot work in {folder}: {source}")]
    Folder {
        /// The folder.
        folder: String,
        /// Why.
        source: io::Error,
    },
    /// No model is named.
    #[error("no model is chosen; name one with `model`, such as anthropic/claude-sonnet-5-5")]
    NoModel,
    /// The model cannot be asked.
    #[error(transparent)]
    Model(#[from] model::OpenModelError),
    /// Nobody knows what the model costs.
    #[error("the price of {0} is not known, so no budget in dollars can be held; limit tokens instead")]
    Unpriced(String),
    /// The session did not open.
    #[error(transparent)]
    Open(#[from] runtime::SessionOpenError),
    /// The session's file cannot be read or written.
    #[error(transparent)]
    Store(#[from] store::StoreError),
    /// The session did not take it.
    #[error(transparent)]
    Rejected(#[from] runtime::InputRejection),
    /// The session stays with its model.
    #[error(transparent)]
    Unchanged(#[from] runtime::ModelChangeError),
    /// The agent was not started.
    #[error("{0}")]
    Agent(String),
    /// There is no such task.
    #[error("there is no task {0} in this session")]
    NoTask(protocol::TaskId),
    /// The session cannot go on.
    #[error("the session is paused: {0}")]
    Paused(String),
}

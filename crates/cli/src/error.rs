//! What goes wrong at the command line: what happened, what to do next, and the exit code.

use std::fmt;

use crate::exit::CommandExit;
use crate::{print, suggestions};

/// Why a command did not do what it was asked.
#[derive(Debug)]
pub(crate) struct CliError {
    exit: CommandExit,
    message: String,
    hint: Option<String>,
    missing_input: Option<MissingInput>,
}

/// What a person at a terminal can be asked for, so that the same works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum MissingInput {
    /// A model.
    Model,
    /// The key of a provider, which is looked for in a variable.
    Key { provider: String, variable: String },
}

impl CliError {
    /// The arguments or the configuration are wrong.
    pub(crate) fn usage(message: impl fmt::Display) -> CliError {
        CliError { exit: CommandExit::Usage, message: message.to_string(), hint: None, missing_input: None }
    }

    /// It failed.
    pub(crate) fn failed(message: impl fmt::Display) -> CliError {
        CliError { exit: CommandExit::Failed, message: message.to_string(), hint: None, missing_input: None }
    }

    /// The same with what to do next.
    pub(crate) fn with_hint(self, hint: impl fmt::Display) -> CliError {
        CliError { hint: Some(hint.to_string()), ..self }
    }

    /// The same, where something is missing that a person can be asked for.
    pub(crate) fn with_missing_input(self, lacks: MissingInput) -> CliError {
        CliError { missing_input: Some(lacks), ..self }
    }

    /// What a person can be asked for.
    pub(crate) fn missing_input(&self) -> Option<&MissingInput> {
        self.missing_input.as_ref()
    }

    /// The exit code.
    pub(crate) fn exit(&self) -> CommandExit {
        self.exit
    }

    /// What happened.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// What happened, and what to do next.
    pub(crate) fn into_message_and_hint(self) -> (String, Option<String>) {
        (self.message, self.hint)
    }

    /// Tells the person.
    pub(crate) fn print(&self) {
        // It may name what a stranger wrote.
        print::error(&print::sanitize(&self.message));
        let usual = (self.exit == CommandExit::Failed).then_some("`bosun doctor` looks for the cause");
        if let Some(hint) = self.hint.as_deref().or(usual) {
            print::note(print::sanitize(&format!("hint: {hint}")));
        }
    }
}

impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        self.hint.as_ref().map_or(Ok(()), |hint| write!(f, " (hint: {hint})"))
    }
}

impl From<std::io::Error> for CliError {
    fn from(error: std::io::Error) -> CliError {
        CliError::failed(error)
    }
}

impl From<store::StoreError> for CliError {
    fn from(error: store::StoreError) -> CliError {
        match error {
            store::StoreError::Missing { .. } | store::StoreError::Owned { .. } | store::StoreError::Newer { .. } => {
                CliError::usage(error)
            }
            error => CliError::failed(error),
        }
    }
}

impl From<runtime::SessionOpenError> for CliError {
    fn from(error: runtime::SessionOpenError) -> CliError {
        match error {
            runtime::SessionOpenError::Store(error) => error.into(),
            runtime::SessionOpenError::Rejected(rejected @ runtime::InputRejection::Paused(_)) => rejected.into(),
            runtime::SessionOpenError::Folder { .. } | runtime::SessionOpenError::Agent(_) => CliError::usage(error),
            error => CliError::failed(error),
        }
    }
}

impl From<model::OpenModelError> for CliError {
    fn from(error: model::OpenModelError) -> CliError {
        let lacks = match &error {
            model::OpenModelError::NoKey { provider, variable } => {
                Some(MissingInput::Key { provider: provider.clone(), variable: variable.clone() })
            }
            _other => None,
        };
        let failure = match error {
            error @ (model::OpenModelError::Script(_)
            | model::OpenModelError::Recording(_)
            | model::OpenModelError::NoFile { .. }) => CliError::usage(error),
            model::OpenModelError::Provider { ref provider, .. }
                if let Some(meant) = suggestions::suggest_model(provider) =>
            {
                CliError::usage(error).with_hint(meant)
            }
            error => {
                CliError::usage(error).with_hint("`bosun models` lists the providers, their keys and what they serve")
            }
        };
        CliError { missing_input: lacks, ..failure }
    }
}

impl From<runtime::InputRejection> for CliError {
    fn from(error: runtime::InputRejection) -> CliError {
        match error {
            runtime::InputRejection::Paused(reason) => (*reason).clone().into(),
            error => CliError::failed(error),
        }
    }
}

impl From<host::HomeError> for CliError {
    fn from(error: host::HomeError) -> CliError {
        CliError::usage(error)
    }
}

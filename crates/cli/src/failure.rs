//! What goes wrong at the command line: what happened, what to do next, and the exit code.

use std::fmt;

use crate::exit::Exit;
use crate::{meant, print};

/// Why a command did not do what it was asked.
#[derive(Debug)]
pub(crate) struct Failure {
    exit: Exit,
    message: String,
    hint: Option<String>,
}

impl Failure {
    /// The arguments or the configuration are wrong.
    pub(crate) fn usage(message: impl fmt::Display) -> Failure {
        Failure { exit: Exit::Usage, message: message.to_string(), hint: None }
    }

    /// It failed.
    pub(crate) fn failed(message: impl fmt::Display) -> Failure {
        Failure { exit: Exit::Failed, message: message.to_string(), hint: None }
    }

    /// The same with what to do next.
    pub(crate) fn hint(self, hint: impl fmt::Display) -> Failure {
        Failure { hint: Some(hint.to_string()), ..self }
    }

    /// The exit code.
    pub(crate) fn exit(&self) -> Exit {
        self.exit
    }

    /// What happened, and what to do next.
    pub(crate) fn in_words(self) -> (String, Option<String>) {
        (self.message, self.hint)
    }

    /// Tells the person.
    pub(crate) fn show(&self) {
        // It may name what a stranger wrote.
        print::error(&print::plain(&self.message));
        let usual = (self.exit == Exit::Failed).then_some("`bosun doctor` looks for the cause");
        if let Some(hint) = self.hint.as_deref().or(usual) {
            print::note(print::plain(&format!("hint: {hint}")));
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        self.hint.as_ref().map_or(Ok(()), |hint| write!(f, " (hint: {hint})"))
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Failure {
        Failure::failed(error)
    }
}

impl From<store::StoreError> for Failure {
    fn from(error: store::StoreError) -> Failure {
        match error {
            store::StoreError::Missing { .. } | store::StoreError::Owned { .. } | store::StoreError::Newer { .. } => {
                Failure::usage(error)
            }
            error => Failure::failed(error),
        }
    }
}

impl From<runtime::OpenError> for Failure {
    fn from(error: runtime::OpenError) -> Failure {
        match error {
            runtime::OpenError::Store(error) => error.into(),
            runtime::OpenError::Rejected(rejected @ runtime::Rejected::Paused(_)) => rejected.into(),
            runtime::OpenError::Folder { .. } | runtime::OpenError::Agent(_) => Failure::usage(error),
            error => Failure::failed(error),
        }
    }
}

impl From<model::OpenError> for Failure {
    fn from(error: model::OpenError) -> Failure {
        match error {
            error
            @ (model::OpenError::Script(_) | model::OpenError::Recording(_) | model::OpenError::NoFile { .. }) => {
                Failure::usage(error)
            }
            model::OpenError::Provider { ref provider, .. } if let Some(meant) = meant::model(provider) => {
                Failure::usage(error).hint(meant)
            }
            error => Failure::usage(error).hint("`bosun models` lists the providers, their keys and what they serve"),
        }
    }
}

impl From<runtime::Rejected> for Failure {
    fn from(error: runtime::Rejected) -> Failure {
        match error {
            runtime::Rejected::Paused(reason) => (*reason).clone().into(),
            error => Failure::failed(error),
        }
    }
}

impl From<host::HomeError> for Failure {
    fn from(error: host::HomeError) -> Failure {
        Failure::usage(error)
    }
}

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
    lacks: Option<Lacks>,
}

/// What a person at a terminal can be asked for, so that the same works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Lacks {
    /// A model.
    Model,
    /// The key of a provider, which is looked for in a variable.
    Key { provider: String, variable: String },
}

impl Failure {
    /// The arguments or the configuration are wrong.
    pub(crate) fn usage(message: impl fmt::Display) -> Failure {
        Failure { exit: Exit::Usage, message: message.to_string(), hint: None, lacks: None }
    }

    /// It failed.
    pub(crate) fn failed(message: impl fmt::Display) -> Failure {
        Failure { exit: Exit::Failed, message: message.to_string(), hint: None, lacks: None }
    }

    /// The same with what to do next.
    pub(crate) fn hint(self, hint: impl fmt::Display) -> Failure {
        Failure { hint: Some(hint.to_string()), ..self }
    }

    /// The same, where something is missing that a person can be asked for.
    pub(crate) fn lacking(self, lacks: Lacks) -> Failure {
        Failure { lacks: Some(lacks), ..self }
    }

    /// What a person can be asked for.
    pub(crate) fn lacks(&self) -> Option<&Lacks> {
        self.lacks.as_ref()
    }

    /// The exit code.
    pub(crate) fn exit(&self) -> Exit {
        self.exit
    }

    /// What happened.
    pub(crate) fn message(&self) -> &str {
        &self.message
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
        let lacks = match &error {
            model::OpenError::NoKey { provider, variable } => {
                Some(Lacks::Key { provider: provider.clone(), variable: variable.clone() })
            }
            _other => None,
        };
        let failure = match error {
            error
            @ (model::OpenError::Script(_) | model::OpenError::Recording(_) | model::OpenError::NoFile { .. }) => {
                Failure::usage(error)
            }
            model::OpenError::Provider { ref provider, .. } if let Some(meant) = meant::model(provider) => {
                Failure::usage(error).hint(meant)
            }
            error => Failure::usage(error).hint("`bosun models` lists the providers, their keys and what they serve"),
        };
        Failure { lacks, ..failure }
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

//! Errors of the command line: a message, a hint and an exit code.

use std::fmt;

use client::{ClientError, TodoError};
use config::{AssembleError, SettingsMethodError};
use protocol::{Hinted as _, Refusal};
use rpc::ErrorObject;
use tui::chat::{CallFailure, ConversationError};
use tui::print;
use tui::terminal_settings::TerminalError;

use crate::exit::CommandExit;
use crate::suggestions;

/// Why a command failed.
#[derive(Debug)]
pub(crate) struct CliError {
    exit: CommandExit,
    message: String,
    hint: Option<String>,
    missing_input: Option<MissingInput>,
    unknown_model: Option<Box<str>>,
}

/// Missing input that Bosun can ask for at a terminal before it tries again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum MissingInput {
    /// A model.
    Model,
    /// The key of a provider, which is read from an environment variable.
    Key { provider: String, variable: String },
}

impl CliError {
    /// The arguments or the configuration are wrong.
    pub(crate) fn usage(message: impl fmt::Display) -> CliError {
        CliError::new(CommandExit::Usage, message.to_string())
    }

    /// The command failed.
    pub(crate) fn failed(message: impl fmt::Display) -> CliError {
        CliError::new(CommandExit::Failed, message.to_string())
    }

    fn new(exit: CommandExit, message: String) -> CliError {
        CliError { exit, message, hint: None, missing_input: None, unknown_model: None }
    }

    /// Adds a hint: what to do next.
    pub(crate) fn with_hint(self, hint: impl fmt::Display) -> CliError {
        CliError { hint: Some(hint.to_string()), ..self }
    }

    /// Adds the input that Bosun can ask the user for.
    pub(crate) fn with_missing_input(self, input: MissingInput) -> CliError {
        CliError { missing_input: Some(input), ..self }
    }

    /// The input that Bosun can ask the user for.
    pub(crate) fn missing_input(&self) -> Option<&MissingInput> {
        self.missing_input.as_ref()
    }

    /// The name of a model that no provider is known for.
    pub(crate) fn unknown_model(&self) -> Option<&str> {
        self.unknown_model.as_deref()
    }

    /// The exit code.
    pub(crate) fn exit(&self) -> CommandExit {
        self.exit
    }

    /// The message.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// Splits the error into its message and its hint.
    pub(crate) fn into_message_and_hint(self) -> (String, Option<String>) {
        (self.message, self.hint)
    }

    /// Prints the message and the hint to stderr.
    pub(crate) fn print(&self) {
        // The message may contain untrusted text.
        print::error(&print::sanitize(&self.message));
        let default = (self.exit == CommandExit::Failed).then_some("`bosun doctor` looks for the cause");
        if let Some(hint) = self.hint.as_deref().or(default) {
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

impl From<Refusal> for CliError {
    fn from(Refusal { message, hint }: Refusal) -> CliError {
        CliError { hint, ..CliError::usage(print::sanitize(&message)) }
    }
}

impl From<ErrorObject> for CliError {
    /// What the API refuses is usually wrong in the request.
    fn from(error: ErrorObject) -> CliError {
        let exit = if error.code == ErrorObject::INTERNAL { CommandExit::Failed } else { CommandExit::Usage };
        CliError { exit, ..error.refusal().into() }
    }
}

impl From<AssembleError> for CliError {
    fn from(error: AssembleError) -> CliError {
        let hint = error.hint().map(str::to_owned);
        let failure = match error {
            AssembleError::Refused(refusal) => return refusal.into(),
            AssembleError::Model(error) => return error.into(),
            error @ AssembleError::NoModel => CliError::usage(error).with_missing_input(MissingInput::Model),
            error @ AssembleError::Unpriced { .. } => CliError::usage(error),
        };
        CliError { hint, ..failure }
    }
}

impl From<SettingsMethodError> for CliError {
    fn from(error: SettingsMethodError) -> CliError {
        match error {
            SettingsMethodError::Refused(refusal) => refusal.into(),
            // Texts of settings files may quote untrusted input.
            SettingsMethodError::Settings(error) => CliError::usage(print::sanitize(&error.to_string())),
            SettingsMethodError::Trust(error) => CliError::usage(print::sanitize(&error.to_string())),
            SettingsMethodError::Home(error) => error.into(),
            SettingsMethodError::Store(error) => error.into(),
            SettingsMethodError::Client(error) => error.into(),
            SettingsMethodError::Checkout(error) => CliError::failed(error),
            SettingsMethodError::Io(error) => error.into(),
        }
    }
}

impl From<client::StoreError> for CliError {
    fn from(error: client::StoreError) -> CliError {
        match error {
            client::StoreError::Missing { .. }
            | client::StoreError::Owned { .. }
            | client::StoreError::Newer { .. } => CliError::usage(error),
            error => CliError::failed(error),
        }
    }
}

impl From<ClientError> for CliError {
    fn from(error: ClientError) -> CliError {
        match error {
            ClientError::Store(error) => error.into(),
            ClientError::Refused(refused) => refused.into(),
            ClientError::NotRunning(_) => CliError::usage(error),
            ClientError::Todos(TodoError::Cycle(_)) => {
                CliError::usage(error).with_hint("`bosun todos graph` shows the dependencies")
            }
            ClientError::Todos(_) | ClientError::Lists(_) => CliError::usage(error),
            ClientError::NoAnswer { .. } => CliError::failed(error)
                .with_hint("try again; if it still does not answer, end that process and resume the session"),
            ClientError::Ended { .. } | ClientError::Call(_) | ClientError::WrongScope(_) => CliError::failed(error),
            ClientError::Paused(reason) => (*reason).clone().into(),
            ClientError::NoSession { .. } => CliError::usage(error).with_hint("`bosun sessions` lists them"),
            ClientError::Ambiguous { .. } => CliError::usage(error).with_hint("give more of the id"),
        }
    }
}

impl From<runtime::SessionOpenError> for CliError {
    fn from(error: runtime::SessionOpenError) -> CliError {
        let hint = error.hint();
        let failure = match error {
            runtime::SessionOpenError::Store(error) => return error.into(),
            runtime::SessionOpenError::Rejected(rejected @ runtime::InputRejection::Paused(_)) => {
                return rejected.into();
            }
            runtime::SessionOpenError::Folder { .. }
            | runtime::SessionOpenError::Agent(_)
            | runtime::SessionOpenError::OwnCheckout(_)
            | runtime::SessionOpenError::OwnProcess(_) => CliError::usage(error),
            runtime::SessionOpenError::Rejected(_)
            | runtime::SessionOpenError::Log { .. }
            | runtime::SessionOpenError::Empty(_)
            | runtime::SessionOpenError::Busy(_)
            | runtime::SessionOpenError::Machine(_) => CliError::failed(error),
        };
        CliError { hint, ..failure }
    }
}

impl From<model::OpenModelError> for CliError {
    fn from(error: model::OpenModelError) -> CliError {
        let missing_input = match &error {
            model::OpenModelError::NoKey { provider, variable } => {
                Some(MissingInput::Key { provider: provider.clone(), variable: variable.clone() })
            }
            _other => None,
        };
        let unknown_model = match &error {
            model::OpenModelError::Provider { provider, .. } => Some(provider.as_str().into()),
            _other => None,
        };
        let failure = match error {
            error @ (model::OpenModelError::Script(_)
            | model::OpenModelError::Recording(_)
            | model::OpenModelError::NoFile { .. }) => CliError::usage(error),
            model::OpenModelError::Provider { ref provider, .. }
                if let Some(suggestion) = suggestions::suggest_model(provider) =>
            {
                CliError::usage(error).with_hint(suggestion)
            }
            error => {
                CliError::usage(error).with_hint("`bosun models` lists the providers, their keys and their models")
            }
        };
        CliError { missing_input, unknown_model, ..failure }
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

impl From<CallFailure> for CliError {
    fn from(failure: CallFailure) -> CliError {
        match failure {
            CallFailure::Refused(refusal) => CliError { exit: CommandExit::Failed, ..refusal.into() },
            CallFailure::Fatal(ClientError::Refused(refused)) => {
                CliError { exit: CommandExit::Failed, ..refused.refusal().into() }
            }
            CallFailure::Fatal(error) => error.into(),
        }
    }
}

impl From<ConversationError> for CliError {
    fn from(error: ConversationError) -> CliError {
        match error {
            ConversationError::Store(error) => error.into(),
            ConversationError::Client(error) => CallFailure::Fatal(error).into(),
            ConversationError::Terminal(error) => error.into(),
        }
    }
}

impl From<TerminalError> for CliError {
    fn from(error: TerminalError) -> CliError {
        CliError::failed(error)
    }
}

impl From<host::HomeError> for CliError {
    fn from(error: host::HomeError) -> CliError {
        CliError::usage(error)
    }
}

//! Why slash commands are not run.

use protocol::{Hinted, SessionMode};
use store::StoreError;
use tools::ToolError;

use super::compact::CompactError;
use super::export::ShareError;
use super::template::MissingArgument;
use crate::file_history::RewindError;
use crate::fleet::FleetError;
use crate::mcp_servers::McpChangeError;
use crate::prepared_agent::PrepareAgentError;
use crate::session_model::ModelChangeError;
use crate::skill::TextFileError;
use crate::subagents::StartAgentError;
use crate::supervisor::InputRejection;
use crate::task_workspaces::TaskWorkspaceError;

/// Why a slash command is not run.
#[derive(Debug, thiserror::Error)]
pub(super) enum SlashError {
    #[error("it works only in a terminal")]
    TerminalOnly,
    #[error("/{0} is not in this version")]
    NotInVersion(String),
    #[error("/{name} is in {file}, and you have not trusted the project")]
    Untrusted { name: String, file: String },
    #[error("/{0}: it takes no arguments")]
    TakesNoArguments(String),
    #[error("/research: name the topic")]
    NoTopic,
    #[error("/agent: what should `{0}` do?")]
    NoAgentPrompt(String),
    #[error("{} mode: {source}", mode.as_str())]
    Mode { mode: SessionMode, source: InputRejection },
    #[error("/fleet: {0}")]
    Fleet(FleetError),
    #[error("/{command}: cannot read {file}: {source}")]
    File { command: String, file: String, source: TextFileError },
    #[error("/{0}: this session has no MCP servers")]
    NoServers(String),
    #[error("/{name}: {source}")]
    OutsidePrompt { name: String, source: ToolError },
    #[error("/{command}: {source}")]
    Prompt { command: String, source: PromptError },
    #[error(transparent)]
    Agent(#[from] StartAgentError),
    #[error("/mcp: it lists the servers, or takes enable, disable or reconnect with the name of one")]
    McpUsage,
    #[error(transparent)]
    Mcp(#[from] McpChangeError),
    #[error("/rewind: it lists your messages, or takes the number of one, then perhaps `conversation` or `files`")]
    RewindUsage,
    #[error("/rewind: there is no message {0}")]
    NoRewindPoint(String),
    #[error("/rewind: {0}")]
    Rewind(#[from] RewindError),
    #[error(transparent)]
    Model(#[from] ModelChangeError),
    #[error(transparent)]
    Share(#[from] ShareError),
    #[error(transparent)]
    Compact(#[from] CompactError),
    #[error(transparent)]
    Prepare(#[from] PrepareAgentError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why the text of a command does not become a prompt.
#[derive(Debug, thiserror::Error)]
pub(super) enum PromptError {
    #[error("the root is gone")]
    NoRoot,
    #[error(transparent)]
    Rejected(#[from] InputRejection),
    #[error(transparent)]
    Agent(#[from] PrepareAgentError),
    #[error(transparent)]
    Workspace(#[from] TaskWorkspaceError),
    #[error(transparent)]
    Argument(#[from] MissingArgument),
}

impl Hinted for SlashError {
    fn hint(&self) -> Option<String> {
        match self {
            SlashError::Untrusted { .. } => Some("review it, then run `bosun trust`".into()),
            SlashError::NoAgentPrompt(_) => Some("write a prompt after its name".into()),
            SlashError::Prompt { source, .. } => source.hint(),
            SlashError::Fleet(error) => error.hint(),
            SlashError::Agent(error) => error.hint(),
            SlashError::Rewind(error) => error.hint(),
            SlashError::NoRewindPoint(_) => Some("`/rewind` lists them".into()),
            SlashError::Mcp(error) => error.hint(),
            SlashError::Model(error) => error.hint(),
            SlashError::Compact(error) => error.hint(),
            SlashError::Prepare(error) => error.hint(),
            SlashError::TerminalOnly
            | SlashError::NotInVersion(_)
            | SlashError::TakesNoArguments(_)
            | SlashError::NoTopic
            | SlashError::NoServers(_)
            | SlashError::OutsidePrompt { .. }
            | SlashError::McpUsage
            | SlashError::RewindUsage
            | SlashError::Mode { .. }
            | SlashError::File { .. }
            | SlashError::Share(_)
            | SlashError::Store(_) => None,
        }
    }
}

impl Hinted for PromptError {
    fn hint(&self) -> Option<String> {
        match self {
            PromptError::Agent(error) => error.hint(),
            PromptError::Workspace(error) => error.hint(),
            PromptError::Argument(error) => error.hint(),
            PromptError::NoRoot | PromptError::Rejected(_) => None,
        }
    }
}

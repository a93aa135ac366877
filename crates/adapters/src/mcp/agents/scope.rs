//! What a server is for: the folders that its agents may work in, the options of their sessions, and whether clients may
//! decide for the user.

use std::path::{Path, PathBuf};

use client::SessionHandle;
use host::Home;
use protocol::api::SessionView;
use protocol::{SessionId, SessionOptions};

use super::arguments::AgentToolError;
use crate::mcp::McpRequest;

/// What a server is for.
#[derive(Debug, Clone)]
pub struct AgentServerSettings {
    /// Where sessions are stored.
    pub home: Home,
    /// The folder that agents work in, as a full path without symbolic links.
    pub folder: PathBuf,
    /// More folders that they may work in.
    pub more_folders: Vec<PathBuf>,
    /// The options of every session.
    pub options: SessionOptions,
    /// Whether clients may decide for the user.
    pub answers: AnswerPolicy,
}

/// Whether clients may decide on calls and answer questions for the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerPolicy {
    /// They may not.
    Refused,
    /// They may, unless the client is an agent of Bosun.
    Allowed,
}

impl AgentServerSettings {
    /// Whether the client of a request may decide for the user. An agent never decides on agents.
    pub(super) fn may_answer(&self, request: &McpRequest) -> bool {
        match self.answers {
            AnswerPolicy::Refused => false,
            AnswerPolicy::Allowed => !request.client().is_agent(),
        }
    }

    /// The folder for a new session, which must be one of the server's or below one.
    pub(super) fn working_folder(&self, wanted: Option<&str>) -> Result<PathBuf, AgentToolError> {
        let Some(wanted) = wanted else { return Ok(self.folder.clone()) };
        let path = self.folder.join(wanted);
        let folder = path.canonicalize().map_err(|error| {
            AgentToolError::refused(format!("cannot use the folder `{}`: {error}", protocol::clip_middle(wanted, 300)))
        })?;
        match self.contains(&folder) && folder.is_dir() {
            true => Ok(folder),
            false => Err(AgentToolError::refused(format!(
                "`{}` is not a folder in {}; the user can start the server in another folder, or with --add-dir",
                protocol::clip_middle(wanted, 300),
                self.folder.display()
            ))),
        }
    }

    fn contains(&self, folder: &Path) -> bool {
        std::iter::once(&self.folder).chain(&self.more_folders).any(|root| folder.starts_with(root))
    }

    /// Whether a session belongs to the clients of this server.
    pub(super) fn includes(&self, id: SessionId, cwd: &str) -> bool {
        self.contains(Path::new(cwd)) && self.home.is_mcp_session(id)
    }

    /// A session that belongs to the clients of this server.
    pub(super) async fn session(&self, id: &str) -> Result<(SessionHandle, SessionView), AgentToolError> {
        let unknown = || {
            let id = protocol::clip_middle(id, 100);
            AgentToolError::refused(format!("there is no session `{id}` of this server; list_agents shows them"))
        };
        let id: SessionId = id.trim().parse().map_err(|_not_an_id| unknown())?;
        if !self.home.is_mcp_session(id) {
            return Err(unknown());
        }
        let handle = SessionHandle::new(&self.home, id);
        let view = handle.read(|stored| Ok(stored.view()?)).await?;
        if self.includes(id, &view.cwd) { Ok((handle, view)) } else { Err(unknown()) }
    }
}

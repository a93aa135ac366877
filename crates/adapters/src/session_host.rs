//! Where an adapter finds sessions. The edge that starts an adapter knows settings, keys and models; an adapter does not.

use std::path::{Path, PathBuf};
use std::pin::Pin;

use host::Home;
use protocol::SessionId;
use protocol::api::AgentView;
use runtime::{ClientExtensions, Session, SessionStart};

/// A session that is being opened.
pub type OpenSessionFuture<'a> = Pin<Box<dyn Future<Output = Result<Session, OpenRefusal>> + Send + 'a>>;

/// Where an adapter finds sessions.
pub trait SessionHost: Send + Sync + 'static {
    /// Where they are kept.
    fn home(&self) -> &Home;

    /// Opens one in this process.
    fn open(&self, order: OpenRequest) -> OpenSessionFuture<'_>;

    /// Who could work in a folder, or in this process's.
    fn catalog(&self, _cwd: Option<&Path>) -> Result<HostCatalog, OpenRefusal> {
        Ok(HostCatalog::default())
    }

    /// What a variable of the environment says, unless it is unset or says nothing.
    fn variable(&self, name: &str) -> Option<String> {
        let _nobody_knows = name;
        None
    }
}

/// Who could work in a folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostCatalog {
    /// The agents there are.
    pub agents: Vec<AgentView>,
    /// The models that can be asked, as `--model` takes them.
    pub models: Vec<String>,
    /// The model that is asked unless a client names another.
    pub model: Option<String>,
}

/// Which session a client wants, and how it is to be run.
#[derive(Debug)]
pub struct OpenRequest {
    /// Whether it begins, goes on, or is copied.
    pub start: SessionStart,
    /// What a new one is called.
    pub id: Option<SessionId>,
    /// The folder it works in; where it worked before, or this process's.
    pub cwd: Option<PathBuf>,
    /// Options of a run, as the command line takes them: the one place where what they mean is known.
    pub flags: Vec<String>,
    /// What the client brings along.
    pub client_extensions: ClientExtensions,
    /// Where its model is asked, if the client says so itself.
    pub provider: Option<ClientProvider>,
}

/// A provider that the client brings along. Its key is neither kept nor shown, and whoever goes on with the session
/// brings it again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientProvider {
    /// Where it is, and how it is asked.
    pub provider: model::Provider,
    /// The model that is asked there; the one that the flags name when absent.
    pub model: Option<String>,
}

impl ClientProvider {
    /// What stands before the slash in the names of its models.
    pub const NAME: &str = "client";
}

impl OpenRequest {
    /// A session that begins or goes on, with nothing said about it.
    pub fn new(start: SessionStart) -> OpenRequest {
        OpenRequest {
            start,
            id: None,
            cwd: None,
            flags: Vec::new(),
            client_extensions: ClientExtensions::default(),
            provider: None,
        }
    }
}

/// How an adapter's process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdapterExit {
    /// Its client left, and nothing went wrong.
    Success,
    /// Something went wrong, and the client was told.
    Failed,
    /// It was not started as it should be.
    UsageError,
}

/// Why a session was not opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{words}{}", .hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default())]
pub struct OpenRefusal {
    /// Why.
    pub words: String,
    /// What to do about it.
    pub hint: Option<String>,
}

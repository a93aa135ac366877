//! The servers of a session: finding, checking and signing in to them.

use std::sync::{Arc, PoisonError, RwLock, RwLockWriteGuard};

use host::Guardian;

use super::{McpServersConfig, ServerEntry, ServerSlot};
use crate::McpRevision;
use crate::session_secrets::SessionSecrets;

/// The servers of a session. As a catalogue, it has those that every agent may use, or those of one agent definition.
#[derive(Debug)]
pub struct McpServers {
    shared: Arc<SharedServers>,
    /// The definition; none for those that every agent may use.
    agent: Option<String>,
}

/// What all agents of a session share.
#[derive(Debug)]
struct SharedServers {
    entries: RwLock<Vec<Arc<ServerEntry>>>,
    config: Arc<McpServersConfig>,
    secrets: SessionSecrets,
}

/// What a connection to a server shows.
#[derive(Debug)]
pub struct ServerCheck {
    /// The negotiated revision.
    pub revision: McpRevision,
    /// The names of its tools, as models use them, with their descriptions.
    pub tools: Vec<(String, String)>,
    /// Why some of its tools cannot be used.
    pub rejected: Vec<String>,
    /// Its prompts, as users run them, with their arguments and descriptions.
    pub prompts: Vec<(String, String)>,
    /// Whether it has resources.
    pub has_resources: bool,
}

/// The result of signing in to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoginOutcome {
    /// The user signed in.
    SignedIn {
        /// The number of its tools.
        tools: usize,
    },
    /// The server gives access without a login.
    NotNeeded,
}

impl McpServers {
    /// The servers of this configuration. Nothing is started.
    pub fn new(mut config: McpServersConfig) -> McpServers {
        let servers = std::mem::take(&mut config.servers);
        let config = Arc::new(config);
        let secrets = SessionSecrets::default();
        let entry = |defined| Arc::new(ServerEntry::new(defined, &config, &secrets));
        let entries = RwLock::new(servers.into_iter().map(entry).collect());
        McpServers { shared: Arc::new(SharedServers { entries, config, secrets }), agent: None }
    }

    /// The servers that agents of a definition may use: those of the session, and their own.
    pub(super) fn of_agent(&self, definition: &str) -> McpServers {
        McpServers { shared: Arc::clone(&self.shared), agent: Some(definition.to_owned()) }
    }

    /// Connects to a server and lists its tools; the error text says why that fails. `None` if there is no such server.
    pub async fn check(&self, server: &str, guardian: &Guardian) -> Option<Result<ServerCheck, String>> {
        let entry = self.entry_with_key(server)?;
        Some(match (&entry.slot, &entry.defined.settings) {
            (Some(slot), _) => slot.check(guardian).await,
            (None, Err(why)) => Err(why.clone()),
            (None, Ok(_)) => return None,
        })
    }

    /// The server that people and clients control by this name.
    pub(crate) fn entry_with_key(&self, key: &str) -> Option<Arc<ServerEntry>> {
        self.entries().into_iter().find(|entry| entry.defined.key() == key)
    }

    pub(crate) fn entries(&self) -> Vec<Arc<ServerEntry>> {
        self.shared.entries.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn entries_mut(&self) -> RwLockWriteGuard<'_, Vec<Arc<ServerEntry>>> {
        self.shared.entries.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn session_secrets(&self) -> &SessionSecrets {
        &self.shared.secrets
    }

    pub(crate) fn config(&self) -> &Arc<McpServersConfig> {
        &self.shared.config
    }

    /// The servers that may be used now. An agent's own hide those of the session with the same name.
    pub(super) fn usable(&self) -> Vec<Arc<ServerSlot>> {
        let entries = self.entries();
        let is_own = |entry: &ServerEntry| self.agent.is_some() && entry.defined.agent == self.agent;
        let is_hidden = |name: &str| entries.iter().any(|entry| is_own(entry) && entry.defined.name == name);
        let is_shared = |entry: &ServerEntry| entry.defined.agent.is_none() && !is_hidden(&entry.defined.name);
        let usable = entries.iter().filter(|entry| entry.is_enabled() && (is_own(entry) || is_shared(entry)));
        usable.filter_map(|entry| entry.slot.clone()).collect()
    }

    /// Signs in to a server, with the prompter of the configuration; the error text says why that fails. `None` if there
    /// is no such server.
    pub async fn log_in(&self, server: &str, guardian: &Guardian) -> Option<Result<LoginOutcome, String>> {
        let slot = self.entry_with_key(server)?.slot.clone()?;
        Some(slot.log_in(guardian).await)
    }
}

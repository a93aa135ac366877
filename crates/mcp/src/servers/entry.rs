//! A server of a session, usable or not.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use protocol::mcp_tool_name;
use tokio::sync::Mutex as AsyncMutex;

use super::connection::{ConnectionState, Failures};
use super::{McpServersConfig, ServerSlot};
use crate::phase::PhaseCell;
use crate::session_secrets::SessionSecrets;
use crate::{DefinedMcpServer, McpServerSettings};

/// A server of the session, usable or not.
#[derive(Debug)]
pub(crate) struct ServerEntry {
    pub(crate) defined: DefinedMcpServer,
    /// Its connection, if it has usable settings.
    pub(crate) slot: Option<Arc<ServerSlot>>,
    is_enabled: Arc<AtomicBool>,
    /// Whether a client added it while the session ran.
    pub(crate) is_added: bool,
}

impl ServerEntry {
    pub(crate) fn new(
        defined: DefinedMcpServer,
        config: &Arc<McpServersConfig>,
        secrets: &SessionSecrets,
    ) -> ServerEntry {
        let is_enabled = Arc::new(AtomicBool::new(defined.is_enabled));
        let slot = |settings: &McpServerSettings| {
            Arc::new(ServerSlot {
                prefix: mcp_tool_name(&settings.name, ""),
                definition: defined.digest(),
                settings: settings.clone(),
                config: Arc::clone(config),
                secrets: secrets.clone(),
                credentials: OnceLock::new(),
                connection: AsyncMutex::new(ConnectionState::Disconnected(Failures::default())),
                failure: Mutex::default(),
                phase: PhaseCell::default(),
                is_enabled: Arc::clone(&is_enabled),
                known: Mutex::default(),
            })
        };
        let slot = defined.settings.as_ref().ok().map(slot);
        ServerEntry { defined, slot, is_enabled, is_added: false }
    }

    /// The same server, if a client added it.
    pub(crate) fn added_by_client(self) -> ServerEntry {
        ServerEntry { is_added: true, ..self }
    }

    pub(crate) fn is_enabled(&self) -> bool {
        self.is_enabled.load(Ordering::Relaxed)
    }

    /// Switches the server on or off. Calls that it is working on end as usual.
    pub(crate) fn set_enabled(&self, enabled: bool) {
        self.is_enabled.store(enabled, Ordering::Relaxed);
        let Some(slot) = self.slot.as_ref().filter(|_| !enabled) else { return };
        // Who holds the lock now disconnects when it is done.
        if let Ok(mut state) = slot.connection.try_lock() {
            slot.stop(&mut state);
        }
    }
}

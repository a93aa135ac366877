//! Changes of a session's MCP servers while it runs. Whether a server is switched on is recorded in the session; the
//! servers that a client adds are not, since they may contain keys.

use std::collections::BTreeMap;
use std::sync::Arc;

use kernel::KernelInput;
use protocol::api::{McpServerView, SetMcpServersParams, SetMcpServersResult, ToggleMcpServerParams};
use protocol::{Hinted, Principal};
use tools::{McpControlError, McpServerControl};

use crate::session_context::SessionContext;
use crate::supervisor::{InputRejection, Supervisor};

/// Why an MCP server is not changed as asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum McpChangeError {
    /// The servers cannot be changed so.
    #[error(transparent)]
    Control(#[from] McpControlError),
    /// The session rejected the change.
    #[error(transparent)]
    Rejected(#[from] InputRejection),
}

impl Hinted for McpChangeError {
    fn hint(&self) -> Option<String> {
        match self {
            McpChangeError::Control(error) => error.hint(),
            McpChangeError::Rejected(_) => None,
        }
    }
}

impl SessionContext {
    /// The MCP servers of the session.
    pub(crate) fn mcp_servers(&self) -> Vec<McpServerView> {
        self.mcp_control().map(McpServerControl::servers).unwrap_or_default()
    }

    /// Has the servers report their new secrets, and switches them as they were when the session was left.
    pub(crate) fn restore_mcp_servers(&self, switched: &BTreeMap<String, bool>) {
        let Some(control) = self.mcp_control() else { return };
        control.report_secrets(Arc::new(self.workplace.redactor.clone()));
        if let Some(source) = &self.catalog.client_extensions.mcp_tokens {
            control.use_tokens_of(Arc::clone(source));
        }
        for (server, enabled) in switched {
            if let Err(error) = control.set_enabled(server, *enabled) {
                tracing::debug!(%error, "a server that was switched is not defined any more");
            }
        }
    }

    /// Switches a server on or off.
    pub(crate) async fn toggle_mcp_server(
        &self,
        supervisor: &Supervisor,
        ToggleMcpServerParams { name, enabled }: ToggleMcpServerParams,
    ) -> Result<(), McpChangeError> {
        let control = self.mcp_control().ok_or(McpControlError::Fixed)?;
        let known: Vec<String> = control.servers().into_iter().map(|server| server.name).collect();
        if !known.contains(&name) {
            return Err(McpControlError::Unknown { server: name, known }.into());
        }
        let toggle = KernelInput::ToggleMcpServer { server: name.clone(), enabled, by: Principal::User };
        supervisor.submit(toggle).await?;
        control.set_enabled(&name, enabled)?;
        self.catalog.forget_prepared_agents();
        Ok(())
    }

    /// Connects to a server, anew if it is connected.
    pub(crate) async fn reconnect_mcp_server(&self, server: &str) -> Result<(), McpChangeError> {
        let control = self.mcp_control().ok_or(McpControlError::Fixed)?;
        Ok(control.reconnect(server, &self.workplace.guardian).await?)
    }

    /// Replaces the servers that clients added.
    pub(crate) fn set_mcp_servers(
        &self,
        SetMcpServersParams { servers }: &SetMcpServersParams,
    ) -> Result<SetMcpServersResult, McpChangeError> {
        let control = self.mcp_control().ok_or(McpControlError::Fixed)?;
        let changed = control.set_servers(servers)?;
        // No server has been started by then, so none can have repeated its keys.
        self.workplace.redactor.add_secrets(&control.secrets());
        self.catalog.forget_prepared_agents();
        Ok(changed)
    }

    fn mcp_control(&self) -> Option<&dyn McpServerControl> {
        self.catalog.tool_catalog.as_deref()?.control()
    }
}

//! The tasks that servers do themselves.

use std::sync::Arc;
use std::time::Duration;

use host::Guardian;
use protocol::McpTaskSpec;
use tokio::time::timeout;
use tools::{BoxFuture, RemoteOutcome, RemoteTaskContext, RemoteTaskEnd, RemoteTaskRef, RemoteTasks};

use super::{McpServers, ServerSlot};
use crate::remote_task::{self, RemoteTaskFollower};

/// How long the cancellation of a task may take, with the connection that it needs.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(8);

impl RemoteTasks for McpServers {
    fn follow<'a>(&'a self, task: RemoteTaskRef<'a>, cx: &'a RemoteTaskContext) -> BoxFuture<'a, RemoteTaskEnd> {
        Box::pin(async move {
            match self.slot_of(task.spec) {
                Some(slot) => RemoteTaskFollower::new(&slot, task, cx).run().await,
                None => {
                    let name = &task.spec.server;
                    let text = format!(
                        "the MCP server `{name}` is not in the settings any more, or is another one; its task is lost"
                    );
                    RemoteTaskEnd { outcome: RemoteOutcome::Lost, text }
                }
            }
        })
    }

    fn cancel<'a>(&'a self, task: RemoteTaskRef<'a>, guardian: &'a Guardian) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let Some(slot) = self.slot_of(task.spec) else { return };
            let cancel = async {
                match slot.connected(guardian).await {
                    Ok(server) => remote_task::cancel(&server, &task.remote.id).await,
                    Err(why) => tracing::info!(why, "a task of an MCP server may not be cancelled"),
                }
            };
            if timeout(CANCEL_TIMEOUT, cancel).await.is_err() {
                tracing::info!(server = slot.settings.name, "an MCP server did not cancel a task in time");
            }
        })
    }
}

impl McpServers {
    /// The server of a task. Another one may have its name.
    fn slot_of(&self, task: &McpTaskSpec) -> Option<Arc<ServerSlot>> {
        let mut slots = self.entries().into_iter().filter_map(|entry| entry.slot.clone());
        slots.find(|slot| slot.name() == task.server && task.definition.as_ref() == Some(&slot.definition))
    }
}

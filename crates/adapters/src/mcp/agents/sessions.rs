//! The sessions of a server's clients: beginning, listing, waiting for and stopping them.

use std::time::Duration;

use client::SessionHandle;
use protocol::api::{Method, SessionCommand, SessionOverview, SessionsPage, SessionsParams, TasksParams};
use protocol::{SessionOptions, TaskId};
use runtime::SessionStart;
use serde_json::json;

use super::answers::give;
use super::arguments::{self, AgentToolError};
use super::provider::AgentServer;
use super::report::{self, RunFacts, agent_text};
use super::run_wait::{RunWaitEnd, RunWaiter};
use crate::mcp::{McpFault, McpReply, McpRequest, TaskWish};

/// How many sessions are looked at for a list.
const MAX_LISTED_SESSIONS: u64 = 1000;

impl AgentServer {
    /// Begins a session for a client.
    pub(super) async fn begin(
        &self,
        start: SessionStart,
        options: SessionOptions,
    ) -> Result<SessionHandle, AgentToolError> {
        let view = self.background.begin(start, options).await?;
        self.adopt(view.id)
    }

    /// The sessions of this server's clients, newest first.
    pub(super) async fn sessions(&self) -> Result<Vec<SessionOverview>, AgentToolError> {
        let params = SessionsParams { limit: Some(MAX_LISTED_SESSIONS), ..SessionsParams::default() };
        let page = client::call_home(&self.settings.home, Method::SessionsList, json!(params)).await?;
        let page: SessionsPage = serde_json::from_value(page).map_err(McpFault::internal)?;
        Ok(page.sessions.into_iter().filter(|row| self.settings.includes(row.id, &row.cwd)).collect())
    }

    /// The reply to a call that started or continued a run: a task, or what is known after waiting.
    pub(super) async fn reply_of_run(
        &self,
        session: &SessionHandle,
        limit: Duration,
        request: &McpRequest,
    ) -> Result<McpReply, AgentToolError> {
        let becomes_task = match request.task_wish() {
            TaskWish::Task => true,
            TaskWish::Either => !limit.is_zero(),
            TaskWish::Result => false,
        };
        if becomes_task {
            return self.reply_of_task(session, request).await;
        }
        let waiter = RunWaiter { settings: &self.settings, background: &*self.background, request };
        match waiter.wait(session, limit).await? {
            RunWaitEnd::Reply(reply) => Ok(reply),
            RunWaitEnd::Facts(facts) => {
                let RunFacts { report, .. } = *facts;
                Ok(McpReply::Complete(arguments::structured(&agent_text(&report), &report)?))
            }
        }
    }
}

/// Stops everything in a session.
pub(super) async fn stop_session(session: &SessionHandle) -> Result<(), AgentToolError> {
    // Without a fleet, this changes nothing.
    let stopped = give(session, &SessionCommand::StopFleet).await;
    if let Err(error) = stopped {
        tracing::debug!(?error, "no fleet was stopped");
    }
    give(session, &SessionCommand::Stop).await?;
    Ok(())
}

/// The task of a session that a client names.
pub(super) async fn subtask(session: &SessionHandle, wanted: &str) -> Result<TaskId, AgentToolError> {
    let tasks = session.read(|session| Ok(session.tasks(&TasksParams::all_tasks())?.tasks)).await?;
    report::find_task(&tasks, wanted).map(|(id, _)| id).ok_or_else(|| unknown_task(wanted))
}

pub(super) fn unknown_task(wanted: &str) -> AgentToolError {
    let wanted = protocol::clip_middle(wanted, 200);
    AgentToolError::refused(format!("the session has no agent `{wanted}`; read_agent names them"))
}

//! The provider of Bosun's agents: its tools, and sessions as tasks.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use client::SessionHandle;
use protocol::SessionId;
use serde_json::{Map, Value};
use tokio::sync::broadcast;
use tokio::task::JoinSet;

use super::arguments::AgentToolError;
use super::background::BackgroundSessions;
use super::run_task::{self, TaskQuestions};
use super::run_wait::rest;
use super::scope::AgentServerSettings;
use super::sessions::stop_session;
use super::{answers, tools};
use crate::mcp::{
    McpFault, McpFuture, McpProvider, McpReply, McpRequest, ProvidedCall, ProvidedTask, ProvidedTasks, ProvidedTool,
    ProviderChange, ReplyFuture, ServerFeature, ServerIdentity, TasksPagePosition,
};

/// How many tasks are followed for clients that want to hear of them; of more, they ask themselves.
const MAX_FOLLOWED: usize = 64;

/// How many changes may wait for a slow client.
const CHANGE_BUFFER: usize = 256;

/// How many tasks a page has.
const PAGE_TASKS: usize = 20;

/// How long a changed task is looked at again at the earliest.
const FOLLOW_STEP: Duration = Duration::from_secs(1);

/// How models should use the tools.
const INSTRUCTIONS: &str = "Bosun runs coding agents in the background. start_agent starts one with a prompt that says \
    everything it must know, start_fleet starts many for one goal. Both return a session; read_agent, message_agent, \
    fleet_status and stop_agent take it. Agents ask their user before they do what the user did not allow: list_asks \
    shows what waits.";

/// Bosun's agents as tools.
pub struct AgentProvider {
    server: Arc<AgentServer>,
    /// The tasks that are followed for clients.
    followed: Mutex<JoinSet<()>>,
}

/// What all requests share.
pub(super) struct AgentServer {
    pub(super) settings: AgentServerSettings,
    pub(super) background: Arc<dyn BackgroundSessions>,
    changes: broadcast::Sender<ProviderChange>,
}

impl fmt::Debug for AgentProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentProvider").field("settings", &self.server.settings).finish_non_exhaustive()
    }
}

impl AgentProvider {
    /// A provider for these folders.
    pub fn new(settings: AgentServerSettings, background: Arc<dyn BackgroundSessions>) -> AgentProvider {
        let (changes, _receiver) = broadcast::channel(CHANGE_BUFFER);
        let server = Arc::new(AgentServer { settings, background, changes });
        AgentProvider { server, followed: Mutex::default() }
    }

    /// Reports each change of a task until it has ended.
    fn follow(&self, task: ProvidedTask, questions: TaskQuestions) {
        let mut followed = lock(&self.followed);
        while followed.try_join_next().is_some() {}
        if followed.len() >= MAX_FOLLOWED {
            return;
        }
        let server = Arc::clone(&self.server);
        followed.spawn(async move {
            let mut task = task;
            while !task.state.is_final() {
                match server.next_task(&task, questions).await {
                    Ok(next) => task = next,
                    Err(error) => return tracing::debug!(?error, "a task is no longer followed"),
                }
                // Fails if nobody listens.
                server.changes.send(ProviderChange::Task(Box::new(task.clone()))).ok();
            }
        });
    }
}

impl AgentServer {
    /// Marks a new session as one of this server's clients.
    pub(super) fn adopt(&self, id: SessionId) -> Result<SessionHandle, AgentToolError> {
        let home = &self.settings.home;
        home.mark_mcp_session(id).map_err(|error| {
            AgentToolError::refused(format!("session {id} was started, but cannot be marked: {error}"))
        })?;
        Ok(SessionHandle::new(home, id))
    }

    pub(super) fn questions(&self, request: &McpRequest) -> TaskQuestions {
        match self.settings.may_answer(request) && request.client().can_elicit() {
            true => TaskQuestions::Client,
            false => TaskQuestions::User,
        }
    }

    /// The reply to a call that became a task.
    pub(super) async fn reply_of_task(
        &self,
        session: &SessionHandle,
        request: &McpRequest,
    ) -> Result<McpReply, AgentToolError> {
        Ok(McpReply::Task(run_task::read(session, self.questions(request)).await?))
    }

    async fn next_task(
        &self,
        earlier: &ProvidedTask,
        questions: TaskQuestions,
    ) -> Result<ProvidedTask, AgentToolError> {
        loop {
            let session = self.kept_session(&earlier.id).await?;
            let task = run_task::read(&session, questions).await?;
            if task.state.is_final() || task.state != earlier.state || task.message != earlier.message {
                return Ok(task);
            }
            rest(&session, FOLLOW_STEP).await?;
        }
    }

    /// A session of a task. If the session host keeps it, and was killed, another host resumes it.
    async fn kept_session(&self, id: &str) -> Result<SessionHandle, AgentToolError> {
        let (session, view) = self.settings.session(id).await?;
        if view.owner_pid.is_none() && session.home().is_held(session.id()) {
            self.background.ensure_host().await?;
        }
        Ok(session)
    }
}

impl McpProvider for AgentProvider {
    fn identity(&self) -> ServerIdentity {
        let version = env!("CARGO_PKG_VERSION");
        ServerIdentity { name: "bosun", title: "Bosun", version, instructions: Some(INSTRUCTIONS.to_owned()) }
    }

    fn features(&self) -> &[ServerFeature] {
        &[ServerFeature::Tasks]
    }

    fn tools(&self, request: &McpRequest) -> Vec<ProvidedTool> {
        tools::all(&self.server, request)
    }

    fn call<'a>(&'a self, call: ProvidedCall, request: &'a McpRequest) -> ReplyFuture<'a> {
        Box::pin(async move {
            let ProvidedCall { tool, arguments } = call;
            let reply = tools::call(&self.server, &tool, arguments, request).await;
            if let Ok(McpReply::Task(task)) = &reply {
                self.follow(task.clone(), self.server.questions(request));
            }
            reply.or_else(AgentToolError::into_reply)
        })
    }

    fn task<'a>(&'a self, id: &'a str, request: &'a McpRequest) -> McpFuture<'a, Result<ProvidedTask, McpFault>> {
        Box::pin(async move {
            let session = self.session(id).await?;
            run_task::read(&session, self.server.questions(request)).await.map_err(task_fault)
        })
    }

    fn next_task<'a>(
        &'a self,
        earlier: &'a ProvidedTask,
        request: &'a McpRequest,
    ) -> McpFuture<'a, Result<ProvidedTask, McpFault>> {
        Box::pin(async move {
            let next = self.server.next_task(earlier, self.server.questions(request)).await;
            next.map_err(task_fault)
        })
    }

    fn tasks(&self, page: TasksPagePosition) -> McpFuture<'_, Result<ProvidedTasks, McpFault>> {
        Box::pin(async move {
            let skipped = match page {
                TasksPagePosition::First => 0,
                TasksPagePosition::After(cursor) => {
                    cursor.parse::<usize>().map_err(|_| McpFault::invalid_params("the cursor is not valid"))?
                }
            };
            let rows = self.server.sessions().await.map_err(task_fault)?;
            let end = skipped.saturating_add(PAGE_TASKS);
            let next = (rows.len() > end).then(|| end.to_string());
            let mut tasks = Vec::new();
            for row in rows.into_iter().skip(skipped).take(PAGE_TASKS) {
                let session = SessionHandle::new(&self.server.settings.home, row.id);
                tasks.push(run_task::read(&session, TaskQuestions::User).await.map_err(task_fault)?);
            }
            Ok(ProvidedTasks { tasks, next })
        })
    }

    fn cancel_task<'a>(&'a self, id: &'a str) -> McpFuture<'a, Result<(), McpFault>> {
        Box::pin(async move {
            let session = self.session(id).await?;
            let task = run_task::read(&session, TaskQuestions::User).await.map_err(task_fault)?;
            if task.state.is_final() {
                return Ok(());
            }
            stop_session(&session).await.map_err(task_fault)
        })
    }

    fn answer_task<'a>(
        &'a self,
        id: &'a str,
        responses: &'a Map<String, Value>,
        request: &'a McpRequest,
    ) -> McpFuture<'a, Result<(), McpFault>> {
        Box::pin(async move {
            let session = self.session(id).await?;
            if !self.server.settings.may_answer(request) {
                return Err(McpFault::invalid_params("this client may not decide for the user"));
            }
            answers::decide_forms(&session, responses).await.map_err(task_fault)
        })
    }

    fn changes(&self) -> broadcast::Receiver<ProviderChange> {
        self.server.changes.subscribe()
    }
}

impl AgentProvider {
    /// The session of a task.
    async fn session(&self, id: &str) -> Result<SessionHandle, McpFault> {
        self.server.kept_session(id).await.map_err(|error| match error {
            AgentToolError::Refused(_) => McpFault::unknown_task(id),
            AgentToolError::Fault(fault) => fault,
        })
    }
}

fn task_fault(error: AgentToolError) -> McpFault {
    match error {
        AgentToolError::Refused(why) => McpFault::internal(why),
        AgentToolError::Fault(fault) => fault,
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

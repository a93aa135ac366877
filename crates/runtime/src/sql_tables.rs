//! The model's SQL tables and its word on what it is doing, as tools reach them.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use kernel::{Kernel, RunUpdate};
use protocol::{Clip, TodoId, TodoStatus};
use store::{SqlConnection, SqlError, SqlLimits, SqlOutput};
use tokio_util::sync::CancellationToken;
use tools::{BoxFuture, ToolError};

use crate::agent::SessionContext;
use crate::call_waits::Caller;
use crate::todos::TodoSyncHandle;

/// Most todos that are named to an agent whose word on them does not hold.
const NAMED: usize = 5;

/// The session's tables, opened when first needed.
pub(crate) struct SessionTables {
    path: PathBuf,
    /// Who believes that a change is the agent's that signed it.
    todos: TodoSyncHandle,
    space: Mutex<Option<Arc<SqlConnection>>>,
}

impl fmt::Debug for SessionTables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tables").field("path", &self.path).finish_non_exhaustive()
    }
}

impl SessionTables {
    pub(crate) fn new(path: PathBuf, todos: TodoSyncHandle) -> SessionTables {
        SessionTables { path, todos, space: Mutex::new(None) }
    }

    fn space(&self) -> Result<Arc<SqlConnection>, ToolError> {
        let mut space = self.space.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(space) = &*space {
            return Ok(Arc::clone(space));
        }
        let todos = self.todos.clone();
        let opened = SqlConnection::open(&self.path, SqlLimits::default()).map_err(ToolError::broken)?;
        let opened = Arc::new(opened.on_signed_changes(move |noted| todos.vouch(noted)));
        *space = Some(Arc::clone(&opened));
        Ok(opened)
    }
}

impl SessionTables {
    /// Runs statements that only read.
    pub(crate) async fn read(&self, sql: String) -> Result<String, ToolError> {
        self.run(move |space, token| space.run(&sql, move || token.is_cancelled())).await.map(text)
    }

    async fn run(
        &self,
        statements: impl FnOnce(&SqlConnection, CancellationToken) -> Result<SqlOutput, SqlError> + Send + 'static,
    ) -> Result<SqlOutput, ToolError> {
        let space = self.space()?;
        // When the call is dropped, so is the guard, and the statement stops.
        let token = CancellationToken::new();
        let _guard = token.clone().drop_guard();
        let answer = tokio::task::spawn_blocking(move || statements(&space, token)).await.map_err(ToolError::broken)?;
        match answer {
            Ok(answer) => Ok(answer),
            Err(SqlError::Refused(text)) => Err(ToolError::Refused(text)),
            Err(error) => Err(ToolError::broken(error)),
        }
    }
}

fn text(answer: SqlOutput) -> String {
    answer.text.into_string()
}

/// The session's tables as one agent uses them.
#[derive(Debug)]
pub(crate) struct AgentSqlSpace {
    pub(crate) context: Arc<SessionContext>,
    pub(crate) caller: Caller,
}

impl tools::SqlExecutor for AgentSqlSpace {
    fn execute(&self, sql: String) -> BoxFuture<'_, Result<String, ToolError>> {
        Box::pin(async move {
            let author = self.caller.run.task;
            let run = move |space: &SqlConnection, token: CancellationToken| {
                space.run_by(author, &sql, move || token.is_cancelled())
            };
            let answer = self.context.tables.run(run).await?;
            if answer.todos.is_empty() {
                return Ok(text(answer));
            }
            self.context.todos.sync().await.map_err(ToolError::broken)?;
            let untaken = self.describe_rejected(answer.todos.clone()).await?;
            let rows = text(answer);
            Ok(match untaken {
                Some(note) => format!("{rows}\n{note}"),
                None => rows,
            })
        })
    }
}

impl AgentSqlSpace {
    /// What the agent must know of a status that it wrote and that does not hold.
    async fn describe_rejected(&self, written: Vec<(TodoId, TodoStatus)>) -> Result<Option<String>, ToolError> {
        let other = move |kernel: &Kernel| -> Vec<String> {
            let others = written.iter().filter_map(|(id, wrote)| {
                let holds = kernel.graph().node(id)?.progress.status();
                (holds != *wrote).then(|| format!("`{id}` is {}, not {}", holds.as_str(), wrote.as_str()))
            });
            others.collect()
        };
        let others = self.caller.supervisor.query(other).await.map_err(ToolError::broken)?;
        let more = others.len().saturating_sub(NAMED);
        let named = others.into_iter().take(NAMED).collect::<Vec<_>>().join(", ");
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        Ok((!named.is_empty())
            .then(|| format!("Not taken: while a fleet works, the runtime decides how far a todo is: {named}{more}.")))
    }
}

/// Puts what an agent says it is doing into its record.
#[derive(Debug)]
pub(crate) struct IntentRecorder(pub(crate) Caller);

impl tools::IntentReporter for IntentRecorder {
    fn report(&self, text: Clip) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(async move {
            let report = RunUpdate::Intent(text.into_string());
            self.0.supervisor.report(self.0.run, report).await.map_err(ToolError::broken)
        })
    }
}

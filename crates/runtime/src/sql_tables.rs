//! Tool access to the session's SQL tables and to the agent's reported intent.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use kernel::{Kernel, RunUpdate};
use protocol::{Clip, TodoId, TodoStatus};
use store::{SqlConnection, SqlError, SqlLimits, SqlOutput};
use tokio_util::sync::CancellationToken;
use tools::{BoxFuture, ToolError};

use crate::call_waits::Caller;
use crate::session_context::SessionContext;
use crate::todos::TodoSyncHandle;

/// Maximum number of todos named in the note about rejected changes.
const MAX_NAMED_TODOS: usize = 5;

/// Learns which SQL agents have run, to keep a copy of their tables.
pub trait SqlObserver: Send + Sync + fmt::Debug {
    /// Agents have run these statements, all of them with success.
    fn executed(&self, sql: String) -> BoxFuture<'_, ()>;
}

/// The session's tables, opened when first needed.
pub(crate) struct SessionTables {
    path: PathBuf,
    /// Receives the authors of changes to todos.
    todos: TodoSyncHandle,
    /// The connection, once opened.
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
        let opened = SqlConnection::open(&self.path, SqlLimits::default()).map_err(ToolError::failed)?;
        let opened = Arc::new(opened.on_signed_changes(move |change| todos.vouch(change)));
        *space = Some(Arc::clone(&opened));
        Ok(opened)
    }
}

impl SessionTables {
    /// Runs read-only statements.
    pub(crate) async fn read(&self, sql: String) -> Result<String, ToolError> {
        self.run(move |connection, token| connection.run(&sql, move || token.is_cancelled())).await.map(text)
    }

    async fn run(
        &self,
        statements: impl FnOnce(&SqlConnection, CancellationToken) -> Result<SqlOutput, SqlError> + Send + 'static,
    ) -> Result<SqlOutput, ToolError> {
        let connection = self.space()?;
        // When the call is dropped, so is the guard, and the statement stops.
        let token = CancellationToken::new();
        let _guard = token.clone().drop_guard();
        let answer =
            tokio::task::spawn_blocking(move || statements(&connection, token)).await.map_err(ToolError::failed)?;
        match answer {
            Ok(answer) => Ok(answer),
            Err(SqlError::Refused(text)) => Err(ToolError::Refused(text)),
            Err(error) => Err(ToolError::failed(error)),
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
            let observer = self.context.catalog.client_extensions.sql_observer.as_ref();
            let observed = observer.map(|observer| (observer, sql.clone()));
            let run = move |connection: &SqlConnection, token: CancellationToken| {
                connection.run_by(author, &sql, move || token.is_cancelled())
            };
            let answer = self.context.tables.run(run).await?;
            if let Some((observer, sql)) = observed {
                observer.executed(sql).await;
            }
            if answer.todos.is_empty() {
                return Ok(text(answer));
            }
            self.context.todo_sync.sync().await.map_err(ToolError::failed)?;
            let rejected = self.describe_rejected(answer.todos.clone()).await?;
            let rows = text(answer);
            Ok(match rejected {
                Some(note) => format!("{rows}\n{note}"),
                None => rows,
            })
        })
    }
}

impl AgentSqlSpace {
    /// A note for the agent about todo statuses that it wrote and the runtime did not accept.
    async fn describe_rejected(&self, written: Vec<(TodoId, TodoStatus)>) -> Result<Option<String>, ToolError> {
        let find_rejected = move |kernel: &Kernel| -> Vec<String> {
            let rejected = written.iter().filter_map(|(id, wrote)| {
                let actual = kernel.graph().node(id)?.progress.status();
                (actual != *wrote).then(|| format!("`{id}` is {}, not {}", actual.as_str(), wrote.as_str()))
            });
            rejected.collect()
        };
        let rejected = self.caller.supervisor.query(find_rejected).await.map_err(ToolError::failed)?;
        let more = rejected.len().saturating_sub(MAX_NAMED_TODOS);
        let named = rejected.into_iter().take(MAX_NAMED_TODOS).collect::<Vec<_>>().join(", ");
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        Ok((!named.is_empty())
            .then(|| format!("Not applied: while a fleet runs, the runtime sets the status of todos: {named}{more}.")))
    }
}

/// Records the intent that an agent reports.
#[derive(Debug)]
pub(crate) struct IntentRecorder(pub(crate) Caller);

impl tools::IntentReporter for IntentRecorder {
    fn report(&self, text: Clip) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(async move {
            let report = RunUpdate::Intent(text.into_string());
            self.0.supervisor.report(self.0.run, report).await.map_err(ToolError::failed)
        })
    }
}

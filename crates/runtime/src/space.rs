//! The model's SQL tables and its word on what it is doing, as tools reach them.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use kernel::{Kernel, Report};
use protocol::{Clip, TodoId, TodoStatus};
use store::{SqlAnswer, SqlError, SqlLimits, SqlSpace};
use tokio_util::sync::CancellationToken;
use tools::{BoxFuture, ToolError};

use crate::agent::Desk;
use crate::todos::Todos;
use crate::waits::Caller;

/// Most todos that are named to an agent whose word on them does not hold.
const NAMED: usize = 5;

/// The session's tables, opened when first needed.
pub(crate) struct Tables {
    path: PathBuf,
    /// Who believes that a change is the agent's that signed it.
    todos: Todos,
    space: Mutex<Option<Arc<SqlSpace>>>,
}

impl fmt::Debug for Tables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tables").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Tables {
    pub(crate) fn new(path: PathBuf, todos: Todos) -> Tables {
        Tables { path, todos, space: Mutex::new(None) }
    }

    fn space(&self) -> Result<Arc<SqlSpace>, ToolError> {
        let mut space = self.space.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(space) = &*space {
            return Ok(Arc::clone(space));
        }
        let todos = self.todos.clone();
        let opened = SqlSpace::open(&self.path, SqlLimits::default()).map_err(ToolError::broken)?;
        let opened = Arc::new(opened.vouching(move |noted| todos.vouch(noted)));
        *space = Some(Arc::clone(&opened));
        Ok(opened)
    }
}

impl Tables {
    /// Runs statements that only read.
    pub(crate) async fn read(&self, sql: String) -> Result<String, ToolError> {
        self.run(move |space, token| space.run(&sql, move || token.is_cancelled())).await.map(text)
    }

    async fn run(
        &self,
        statements: impl FnOnce(&SqlSpace, CancellationToken) -> Result<SqlAnswer, SqlError> + Send + 'static,
    ) -> Result<SqlAnswer, ToolError> {
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

fn text(answer: SqlAnswer) -> String {
    answer.text.into_string()
}

/// The session's tables as one agent uses them.
#[derive(Debug)]
pub(crate) struct Space {
    pub(crate) desk: Arc<Desk>,
    pub(crate) caller: Caller,
}

impl tools::SqlSpace for Space {
    fn execute(&self, sql: String) -> BoxFuture<'_, Result<String, ToolError>> {
        Box::pin(async move {
            let author = self.caller.run.task;
            let run = move |space: &SqlSpace, token: CancellationToken| {
                space.run_by(author, &sql, move || token.is_cancelled())
            };
            let answer = self.desk.tables.run(run).await?;
            if answer.todos.is_empty() {
                return Ok(text(answer));
            }
            self.desk.todos.take().await.map_err(ToolError::broken)?;
            let untaken = self.untaken(answer.todos.clone()).await?;
            let rows = text(answer);
            Ok(match untaken {
                Some(note) => format!("{rows}\n{note}"),
                None => rows,
            })
        })
    }
}

impl Space {
    /// What the agent must know of a status that it wrote and that does not hold.
    async fn untaken(&self, written: Vec<(TodoId, TodoStatus)>) -> Result<Option<String>, ToolError> {
        let other = move |kernel: &Kernel| -> Vec<String> {
            let others = written.iter().filter_map(|(id, wrote)| {
                let holds = kernel.graph().node(id)?.standing.status();
                (holds != *wrote).then(|| format!("`{id}` is {}, not {}", holds.word(), wrote.word()))
            });
            others.collect()
        };
        let others = self.caller.supervisor.look(other).await.map_err(ToolError::broken)?;
        let more = others.len().saturating_sub(NAMED);
        let named = others.into_iter().take(NAMED).collect::<Vec<_>>().join(", ");
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        Ok((!named.is_empty())
            .then(|| format!("Not taken: while a fleet works, the runtime decides how far a todo is: {named}{more}.")))
    }
}

/// Puts what an agent says it is doing into its record.
#[derive(Debug)]
pub(crate) struct Intents(pub(crate) Caller);

impl tools::Intent for Intents {
    fn report(&self, text: Clip) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(async move {
            let report = Report::Intent(text.into_string());
            self.0.supervisor.report(self.0.run, report).await.map_err(ToolError::broken)
        })
    }
}

//! The model's SQL tables and its word on what it is doing, as tools reach them.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use kernel::Report;
use protocol::Clip;
use store::{SqlError, SqlLimits, SqlSpace};
use tokio_util::sync::CancellationToken;
use tools::{BoxFuture, ToolError};

use crate::waits::Caller;

/// The session's tables, opened when first needed.
pub(crate) struct Tables {
    path: PathBuf,
    space: Mutex<Option<Arc<SqlSpace>>>,
}

impl fmt::Debug for Tables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tables").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Tables {
    pub(crate) fn new(path: PathBuf) -> Tables {
        Tables { path, space: Mutex::new(None) }
    }

    fn space(&self) -> Result<Arc<SqlSpace>, ToolError> {
        let mut space = self.space.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(space) = &*space {
            return Ok(Arc::clone(space));
        }
        let opened = Arc::new(SqlSpace::open(&self.path, SqlLimits::default()).map_err(ToolError::broken)?);
        *space = Some(Arc::clone(&opened));
        Ok(opened)
    }
}

impl tools::SqlSpace for Tables {
    fn execute(&self, sql: String) -> BoxFuture<'_, Result<String, ToolError>> {
        Box::pin(async move {
            let space = self.space()?;
            // When the call is dropped, so is the guard, and the statement stops.
            let token = CancellationToken::new();
            let _guard = token.clone().drop_guard();
            let run = move || space.run(&sql, move || token.is_cancelled());
            let answer = tokio::task::spawn_blocking(run).await.map_err(ToolError::broken)?;
            match answer {
                Ok(answer) => Ok(answer.text.into_string()),
                Err(SqlError::Refused(text)) => Err(ToolError::Refused(text)),
                Err(error) => Err(ToolError::broken(error)),
            }
        })
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

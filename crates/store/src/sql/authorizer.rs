//! Decides what the model's SQL may access: `todos`, `todo_deps` and tables that the model created.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::hooks::{AuthAction, AuthContext, Authorization, TransactionOperation};

/// The prefix of the runtime's own tables.
pub(crate) const PREFIX: &str = "bosun_";

/// The model's tables that the runtime also uses, whose schema must not change.
const SHARED_TABLES: [&str; 2] = ["todos", "todo_deps"];

/// SQLite's table of the last assigned row numbers. The changes of todos are numbered with it too.
const SEQUENCE_TABLE: &str = "sqlite_sequence";

/// What the authorizer noticed about the current statement.
#[derive(Debug, Clone, Default)]
pub(crate) struct StatementNotes(Arc<Mutex<StatementFacts>>);

#[derive(Debug, Default)]
struct StatementFacts {
    refusal: Option<String>,
    transaction_control: bool,
    /// Whether the statement drops or alters a table. For such a statement, SQLite writes to its own tables.
    changes_tables: bool,
}

impl StatementNotes {
    /// The callback that SQLite calls while it compiles a statement.
    pub(crate) fn authorizer(&self) -> impl for<'r> FnMut(AuthContext<'r>) -> Authorization + Send + 'static {
        let notes = self.clone();
        move |context| match notes.judge(&context) {
            AuthorizerVerdict::Allow => Authorization::Allow,
            AuthorizerVerdict::NoOp => {
                notes.lock().transaction_control = true;
                Authorization::Allow
            }
            AuthorizerVerdict::Refuse(reason) => {
                notes.lock().refusal.get_or_insert(reason);
                Authorization::Deny
            }
        }
    }

    /// Resets the notes for the next statement.
    pub(crate) fn reset(&self) {
        *self.lock() = StatementFacts::default();
    }

    /// Why the statement was not allowed.
    pub(crate) fn refusal(&self) -> Option<String> {
        self.lock().refusal.clone()
    }

    /// Whether the statement is a BEGIN or COMMIT, which is skipped because a call is already a transaction.
    pub(crate) fn is_transaction_control(&self) -> bool {
        self.lock().transaction_control
    }

    fn judge(&self, context: &AuthContext<'_>) -> AuthorizerVerdict {
        use AuthAction as A;
        let verdict = judge_in_context(context);
        let is_reform = matches!(context.action, A::DropTable { .. } | A::DropTempTable { .. } | A::AlterTable { .. });
        if is_reform && verdict == AuthorizerVerdict::Allow {
            self.lock().changes_tables = true;
        }
        match context.action {
            A::Update { table_name, .. } | A::Delete { table_name }
                if table_name.eq_ignore_ascii_case(SEQUENCE_TABLE) && self.lock().changes_tables =>
            {
                AuthorizerVerdict::Allow
            }
            _ => verdict,
        }
    }

    fn lock(&self) -> MutexGuard<'_, StatementFacts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug, PartialEq, Eq)]
enum AuthorizerVerdict {
    Allow,
    /// The statement is skipped.
    NoOp,
    Refuse(String),
}

/// Judges an action in its context: the runtime's own triggers, the only ones that can exist, may record which todos
/// were changed.
fn judge_in_context(context: &AuthContext<'_>) -> AuthorizerVerdict {
    match (context.accessor, &context.action) {
        (Some(trigger), AuthAction::Insert { table_name: "bosun_todo_log" }) if starts_with(trigger, PREFIX) => {
            AuthorizerVerdict::Allow
        }
        (_, action) => judge(action),
    }
}

fn judge(action: &AuthAction<'_>) -> AuthorizerVerdict {
    use AuthAction as A;
    match action {
        A::Select | A::Recursive => AuthorizerVerdict::Allow,
        A::Read { table_name, .. } => may_read(table_name),
        A::Insert { table_name } | A::Update { table_name, .. } | A::Delete { table_name } => may_write(table_name),
        A::CreateTable { table_name } => may_use(table_name),
        A::CreateView { view_name } => may_use(view_name),
        A::CreateTempTable { table_name: name } | A::CreateTempView { view_name: name } => may_change(name),
        // An index on a shared table could prevent writes of the runtime.
        A::CreateIndex { index_name, table_name }
        | A::CreateTempIndex { index_name, table_name }
        | A::DropIndex { index_name, table_name }
        | A::DropTempIndex { index_name, table_name } => match may_use(index_name) {
            AuthorizerVerdict::Allow => may_change(table_name),
            refusal => refusal,
        },
        A::DropTable { table_name } | A::DropTempTable { table_name } | A::AlterTable { table_name, .. } => {
            may_change(table_name)
        }
        A::DropView { view_name } | A::DropTempView { view_name } => may_change(view_name),
        A::Reindex { index_name } => may_use(index_name.strip_prefix("sqlite_autoindex_").unwrap_or(index_name)),
        A::Function { function_name } => may_call(function_name),
        A::Transaction { operation } => match operation {
            TransactionOperation::Rollback => refuse("ROLLBACK is not available, since each call is one transaction"),
            _ => AuthorizerVerdict::NoOp,
        },
        A::Savepoint { .. } => refuse("savepoints are not available, since each call is one transaction"),
        A::Attach { .. } | A::Detach { .. } => refuse("ATTACH, DETACH and VACUUM are not available"),
        A::Pragma { .. } => refuse("pragmas are not available; `SELECT sql FROM sqlite_schema` shows the tables"),
        A::Analyze { .. } => refuse("ANALYZE is not available"),
        A::CreateVtable { .. } | A::DropVtable { .. } => refuse("virtual tables are not available"),
        A::CreateTrigger { .. } | A::CreateTempTrigger { .. } | A::DropTrigger { .. } | A::DropTempTrigger { .. } => {
            refuse("triggers are not available")
        }
        _ => refuse("this kind of statement is not available"),
    }
}

/// Refuses reading tables that give access to the engine.
fn may_read(table: &str) -> AuthorizerVerdict {
    const ENGINE_TABLES: [&str; 4] = ["dbstat", "sqlite_dbpage", "fts3tokenize", "sqlite_stmt"];
    if starts_with(table, "pragma_") || ENGINE_TABLES.iter().any(|name| name.eq_ignore_ascii_case(table)) {
        return refuse("pragma functions and engine tables are not available");
    }
    may_use(table)
}

/// Refuses writes to the engine's tables, except to the schema tables: `CREATE` and `DROP` statements write those, and
/// SQLite itself refuses any other write.
fn may_write(table: &str) -> AuthorizerVerdict {
    const SCHEMA_TABLES: [&str; 4] = ["sqlite_schema", "sqlite_master", "sqlite_temp_schema", "sqlite_temp_master"];
    let is_schema_table = SCHEMA_TABLES.iter().any(|name| name.eq_ignore_ascii_case(table));
    if starts_with(table, "sqlite_") && !is_schema_table {
        return refuse(&format!("`{table}` is not available: names that begin with `sqlite_` belong to the engine"));
    }
    may_use(table)
}

fn may_use(name: &str) -> AuthorizerVerdict {
    if starts_with(name, PREFIX) {
        return refuse(&format!("`{name}` is not available: names that begin with `{PREFIX}` belong to the runtime"));
    }
    AuthorizerVerdict::Allow
}

fn may_change(name: &str) -> AuthorizerVerdict {
    if SHARED_TABLES.iter().any(|shared| shared.eq_ignore_ascii_case(name)) {
        return refuse(&format!("`{name}` must keep its schema; insert, update and delete its rows instead"));
    }
    may_use(name)
}

fn may_call(function: &str) -> AuthorizerVerdict {
    // A call of the last three can take quadratic time or gigabytes, and cannot be interrupted.
    const REFUSED_PREFIXES: [&str; 9] = [
        "load_extension",
        "fts3",
        "fts5",
        "rtree",
        "geopoly",
        "sqlite_log",
        "json_patch",
        "jsonb_patch",
        "json_pretty",
    ];
    if REFUSED_PREFIXES.iter().any(|prefix| starts_with(function, prefix)) {
        return refuse(&format!("the function `{function}` is not available"));
    }
    AuthorizerVerdict::Allow
}

fn starts_with(name: &str, prefix: &str) -> bool {
    name.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}

fn refuse(reason: &str) -> AuthorizerVerdict {
    AuthorizerVerdict::Refuse(reason.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_compared_as_sqlite_compares_them() {
        assert!(matches!(may_use("BoSuN_events"), AuthorizerVerdict::Refuse(_)));
        assert!(matches!(may_change("TODOS"), AuthorizerVerdict::Refuse(_)));
        assert_eq!(may_use("bosun"), AuthorizerVerdict::Allow);
        assert_eq!(may_use("bösun_x"), AuthorizerVerdict::Allow);
        assert_eq!(may_change("todos_of_mine"), AuthorizerVerdict::Allow);
    }

    #[test]
    fn begin_and_commit_are_no_ops_and_rollback_is_not() {
        let judge = |operation| judge(&AuthAction::Transaction { operation });
        assert_eq!(judge(TransactionOperation::Begin), AuthorizerVerdict::NoOp);
        assert_eq!(judge(TransactionOperation::Unknown), AuthorizerVerdict::NoOp);
        assert!(matches!(judge(TransactionOperation::Rollback), AuthorizerVerdict::Refuse(_)));
    }
}

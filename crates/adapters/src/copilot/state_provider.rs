//! The client that keeps a copy of its sessions' state: files, and a database. Bosun asks it for every access.

use std::sync::Arc;
use std::time::Duration;

use rpc::ErrorObject;
use runtime::SqlObserver;
use serde_json::{Value, json};
use tools::BoxFuture;

use super::peer::ClientPeer;
use super::sql_script::{SqlKind, statements};

/// How long the client may take for one access.
const ACCESS_TIMEOUT: Duration = Duration::from_secs(30);

/// The tables that every session has, as the client's database gets them first.
const TABLES: [&str; 2] = [
    "CREATE TABLE IF NOT EXISTS todos (id TEXT PRIMARY KEY, title TEXT NOT NULL, description TEXT, \
     status TEXT NOT NULL DEFAULT 'pending', created_at TEXT DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ')), \
     updated_at TEXT DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ')), agent_type TEXT, model TEXT, files TEXT, \
     check_command TEXT, expects TEXT, reason TEXT)",
    "CREATE TABLE IF NOT EXISTS todo_deps (todo_id TEXT NOT NULL, depends_on TEXT NOT NULL, \
     PRIMARY KEY (todo_id, depends_on))",
];

/// The client that keeps the state of sessions, and where.
#[derive(Debug)]
pub(crate) struct StateProvider {
    peer: Arc<ClientPeer>,
    /// The folder of a session's state, which the client knows for each session.
    folder: String,
    separator: char,
    /// Whether the client also has a database for each session.
    pub(crate) has_database: bool,
}

impl StateProvider {
    /// Reads the parameters of `sessionFs.setProvider`.
    pub(crate) fn read(peer: Arc<ClientPeer>, params: &Value) -> Result<StateProvider, ErrorObject> {
        let folder = params["sessionStatePath"].as_str().unwrap_or_default();
        if folder.is_empty() {
            return Err(ErrorObject::bad_params("`sessionStatePath` is missing"));
        }
        let separator = match params["conventions"].as_str() {
            Some("posix") => '/',
            Some("windows") => '\\',
            _other => return Err(ErrorObject::bad_params("`conventions` is neither posix nor windows")),
        };
        Ok(StateProvider {
            peer,
            folder: folder.trim_end_matches(separator).to_owned(),
            separator,
            has_database: params["capabilities"]["sqlite"] == true,
        })
    }

    /// Whether the client would read a name as a path of its own.
    pub(crate) fn separates_with(&self, name: &str) -> bool {
        self.separator != '/' && name.contains([self.separator, ':'])
    }

    /// Whether this client keeps the state.
    pub(crate) fn is_of(&self, peer: &Arc<ClientPeer>) -> bool {
        Arc::ptr_eq(&self.peer, peer)
    }
}

/// The state of one session at the client.
#[derive(Debug, Clone)]
pub(crate) struct StateFiles {
    pub(crate) provider: Arc<StateProvider>,
    /// The session's name for clients.
    session: String,
}

impl StateFiles {
    pub(crate) fn new(provider: Arc<StateProvider>, session: &str) -> StateFiles {
        StateFiles { provider, session: session.to_owned() }
    }

    /// The client's path of a file of the state.
    pub(crate) fn path(&self, parts: &[&str]) -> String {
        let mut path = self.provider.folder.clone();
        for part in parts {
            path.push(self.provider.separator);
            path.push_str(part);
        }
        path
    }

    pub(crate) async fn read(&self, path: &str) -> Result<String, ErrorObject> {
        let answer = self.request("readFile", json!({ "path": path })).await?;
        answer["content"].as_str().map(str::to_owned).ok_or_else(|| ErrorObject::internal("the client sent no content"))
    }

    pub(crate) async fn exists(&self, path: &str) -> Result<bool, ErrorObject> {
        Ok(self.request("exists", json!({ "path": path })).await?["exists"] == true)
    }

    /// Writes a file in a folder that exists.
    pub(crate) async fn write(&self, path: &str, content: &str) -> Result<(), ErrorObject> {
        self.request("writeFile", json!({ "path": path, "content": content })).await.map(drop)
    }

    pub(crate) async fn append(&self, path: &str, content: &str) -> Result<(), ErrorObject> {
        self.request("appendFile", json!({ "path": path, "content": content })).await.map(drop)
    }

    pub(crate) async fn remove(&self, path: &str) -> Result<(), ErrorObject> {
        self.request("rm", json!({ "path": path, "recursive": false, "force": true })).await.map(drop)
    }

    /// Creates a folder with those above it.
    pub(crate) async fn create_folder(&self, path: &str) -> Result<(), ErrorObject> {
        self.request("mkdir", json!({ "path": path, "recursive": true })).await.map(drop)
    }

    /// The entries of a folder, each with whether it is a folder itself.
    pub(crate) async fn list(&self, path: &str) -> Result<Vec<(String, bool)>, ErrorObject> {
        let answer = self.request("readdirWithTypes", json!({ "path": path })).await?;
        let entries = answer["entries"].as_array().into_iter().flatten();
        let entry = |entry: &Value| Some((entry["name"].as_str()?.to_owned(), entry["type"] == "directory"));
        Ok(entries.filter_map(entry).collect())
    }

    async fn request(&self, method: &str, mut params: Value) -> Result<Value, ErrorObject> {
        params["sessionId"] = self.session.as_str().into();
        let name = format!("sessionFs.{method}");
        let request = self.provider.peer.request(&name, params);
        let answer = match tokio::time::timeout(ACCESS_TIMEOUT, request).await {
            Ok(answer) => answer?,
            Err(_) => return Err(ErrorObject::internal(format!("the client did not answer sessionFs.{method}"))),
        };
        // Methods without a result answer with the error itself.
        let error = if answer["error"].is_object() { &answer["error"] } else { &answer };
        match error["code"].as_str() {
            Some(code) => {
                let message = error["message"].as_str().unwrap_or(code);
                Err(ErrorObject::internal(format!("the client's sessionFs.{method} failed: {message}")))
            }
            None => Ok(answer),
        }
    }

    async fn run(&self, sql: &str, kind: SqlKind) -> Result<(), ErrorObject> {
        let kind = match kind {
            SqlKind::Query => "query",
            SqlKind::Change => "run",
            SqlKind::Script => "exec",
        };
        self.request("sqliteQuery", json!({ "query": sql, "queryType": kind })).await.map(drop)
    }
}

/// Has the client's database follow the statements that agents run.
#[derive(Debug)]
pub(crate) struct DatabaseCopy {
    state: StateFiles,
    has_tables: tokio::sync::Mutex<bool>,
}

impl DatabaseCopy {
    pub(crate) fn new(state: StateFiles) -> DatabaseCopy {
        DatabaseCopy { state, has_tables: tokio::sync::Mutex::new(false) }
    }

    async fn follow(&self, sql: &str) -> Result<(), ErrorObject> {
        // Held so that statements reach the client in the order of this session.
        let mut has_tables = self.has_tables.lock().await;
        if !*has_tables {
            for table in TABLES {
                self.state.run(table, SqlKind::Script).await?;
            }
            *has_tables = true;
        }
        for (statement, kind) in statements(sql) {
            self.state.run(statement, kind).await?;
        }
        Ok(())
    }
}

impl SqlObserver for DatabaseCopy {
    fn executed(&self, sql: String) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if let Err(error) = self.follow(&sql).await {
                tracing::warn!(error = %error.message, "the client's database did not follow a statement");
            }
        })
    }
}

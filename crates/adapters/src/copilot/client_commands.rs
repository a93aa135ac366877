//! Slash commands that clients brought along and run themselves.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use host::{Ids, TimeIds};
use rpc::ErrorObject;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::hosted_session::HostedSession;

/// Most commands that the clients of one session may bring.
const MOST: usize = 256;

/// How long a client may take for one.
const PATIENCE: Duration = Duration::from_secs(600);

/// The commands of a session's clients.
#[derive(Debug, Default)]
pub(crate) struct ClientCommands(Mutex<CommandTable>);

#[derive(Debug, Default)]
struct CommandTable {
    /// What each is for, by name.
    commands: BTreeMap<String, String>,
    running: HashMap<String, oneshot::Sender<Option<String>>>,
}

impl ClientCommands {
    /// Takes the commands that a client names when it comes.
    pub(crate) fn register(&self, params: &Value) {
        let given = params["commands"].as_array().map(Vec::as_slice).unwrap_or_default();
        let mut known = self.lock();
        for command in given {
            if let Some(name) = command["name"].as_str().filter(|_| known.commands.len() < MOST) {
                let about = command["description"].as_str().unwrap_or_default();
                known.commands.insert(name.trim_start_matches('/').to_owned(), about.to_owned());
            }
        }
    }

    pub(crate) fn contains(&self, name: &str) -> bool {
        self.lock().commands.contains_key(name)
    }

    /// The commands as clients are told of them.
    pub(crate) fn list(&self) -> Vec<Value> {
        let described = |(name, about): (&String, &String)| json!({ "name": name, "description": about, "kind": "client", "allowDuringAgentExecution": true });
        self.lock().commands.iter().map(described).collect()
    }

    /// Has its client run a command, and waits until that says that it is done.
    pub(crate) async fn run(&self, session: &HostedSession, name: &str, args: &str) -> Result<(), ErrorObject> {
        let request = TimeIds.uuid().to_string();
        let (done, over) = oneshot::channel();
        self.lock().running.insert(request.clone(), done);
        let command = format!("/{name} {args}").trim_end().to_owned();
        let told = json!({ "requestId": request, "command": command, "commandName": name, "args": args });
        session.emit("command.execute", told);
        let answer = tokio::time::timeout(PATIENCE, over).await;
        self.lock().running.remove(&request);
        session.emit("command.completed", json!({ "requestId": request }));
        match answer {
            Ok(Ok(None)) => Ok(()),
            Ok(Ok(Some(error))) => Err(ErrorObject::internal(error)),
            Ok(Err(_)) | Err(_) => Err(ErrorObject::internal(format!("the client did not answer /{name}"))),
        }
    }

    /// Takes a client's word that a command is done; says whether anybody waited for it.
    pub(crate) fn answer(&self, request: &str, error: Option<&str>) -> bool {
        let waiting = self.lock().running.remove(request);
        waiting.is_some_and(|waiting| waiting.send(error.map(str::to_owned)).is_ok())
    }

    fn lock(&self) -> MutexGuard<'_, CommandTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

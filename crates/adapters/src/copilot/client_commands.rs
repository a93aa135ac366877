//! Slash commands that clients define and run themselves.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use host::{Ids, TimeIds};
use rpc::ErrorObject;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::hosted_session::HostedSession;

/// Maximum number of commands that the clients of one session may define.
const MAX_COMMANDS: usize = 256;

/// How long a client may take to run a command.
const RUN_TIMEOUT: Duration = Duration::from_secs(600);

/// The commands of a session's clients.
#[derive(Debug, Default)]
pub(crate) struct ClientCommands(Mutex<CommandTable>);

#[derive(Debug, Default)]
struct CommandTable {
    /// The description of each command, by name.
    commands: BTreeMap<String, String>,
    /// Running commands, by request id. The result is the client's error, if any.
    running: HashMap<String, oneshot::Sender<Option<String>>>,
}

impl ClientCommands {
    /// Registers the commands of a client that connects; returns whether there are any.
    pub(crate) fn register(&self, params: &Value) -> bool {
        let commands = params["commands"].as_array().map(Vec::as_slice).unwrap_or_default();
        let mut table = self.lock();
        for command in commands {
            if let Some(name) = command["name"].as_str().filter(|_| table.commands.len() < MAX_COMMANDS) {
                let about = command["description"].as_str().unwrap_or_default();
                table.commands.insert(name.trim_start_matches('/').to_owned(), about.to_owned());
            }
        }
        !commands.is_empty()
    }

    pub(crate) fn contains(&self, name: &str) -> bool {
        self.lock().commands.contains_key(name)
    }

    /// The commands in the SDK's format.
    pub(crate) fn list(&self) -> Vec<Value> {
        let view = |(name, about): (&String, &String)| json!({ "name": name, "description": about, "kind": "client", "allowDuringAgentExecution": true });
        self.lock().commands.iter().map(view).collect()
    }

    /// Has the client run a command, and waits until it reports completion.
    pub(crate) async fn run(&self, session: &HostedSession, name: &str, args: &str) -> Result<(), ErrorObject> {
        let request = TimeIds.uuid().to_string();
        let (done, completed) = oneshot::channel();
        self.lock().running.insert(request.clone(), done);
        let command = format!("/{name} {args}").trim_end().to_owned();
        let event = json!({ "requestId": request, "command": command, "commandName": name, "args": args });
        session.emit("command.execute", event);
        let answer = tokio::time::timeout(RUN_TIMEOUT, completed).await;
        self.lock().running.remove(&request);
        session.emit("command.completed", json!({ "requestId": request }));
        match answer {
            Ok(Ok(None)) => Ok(()),
            Ok(Ok(Some(error))) => Err(ErrorObject::internal(error)),
            Ok(Err(_)) | Err(_) => Err(ErrorObject::internal(format!("the client did not answer /{name}"))),
        }
    }

    /// Records that a command is done; returns whether a caller was waiting for it.
    pub(crate) fn answer(&self, request: &str, error: Option<&str>) -> bool {
        let pending = self.lock().running.remove(request);
        pending.is_some_and(|pending| pending.send(error.map(str::to_owned)).is_ok())
    }

    fn lock(&self) -> MutexGuard<'_, CommandTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

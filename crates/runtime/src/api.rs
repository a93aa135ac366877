//! Answers the API's calls for one session.

use std::fmt;
use std::sync::Arc;

use kernel::{Input, Refusal};
use protocol::api::{
    AsksParams, Command, Method, OutputResult, RefusalKind, SendParams, SendResult, SubscribeParams, TaskParams,
    TasksParams, TodoEdit, TodosParams,
};
use protocol::{TaskId, TaskState};
use rpc::{Answering, ClientHandle, ErrorObject, Serve, params};
use serde::Serialize;
use serde_json::{Value, json};
use store::TodoError;
use tokio::sync::Notify;

use crate::agent::Desk;
use crate::bus::{Live, Subscription};
use crate::commands;
use crate::hooks;
use crate::output::output;
use crate::supervisor::{Receipt, Rejected, Supervisor};
use crate::todos::Unedited;

/// Most rows of a page.
const PAGE_MAX: u64 = 1000;

/// The owner's side of the API.
pub(crate) struct Api {
    pub(crate) desk: Arc<Desk>,
    pub(crate) supervisor: Supervisor,
    pub(crate) root: TaskId,
    pub(crate) poke: Arc<Notify>,
}

impl Serve for Api {
    fn call(&self, method: Method, given: Value, client: ClientHandle) -> Answering<'_> {
        Box::pin(async move {
            match method {
                Method::SessionGet => reply(self.desk.reader().and_then(|reader| reader.session_view())),
                Method::SessionPoke => {
                    self.poke.notify_one();
                    Ok(json!({}))
                }
                Method::SessionSend => {
                    let given: SendParams = params(given)?;
                    let given =
                        hooks::prompted(&self.desk, &self.supervisor, self.root, given).await.map_err(refused)?;
                    let receipt = self.submit(commands::input(Command::Send(given), self.root)).await?;
                    let mail = receipt.mail.ok_or_else(|| ErrorObject::internal("the message has no receipt"))?;
                    json_of(SendResult { mail })
                }
                Method::SessionInterrupt => self.command(Command::Interrupt).await,
                Method::SessionStop => self.command(Command::Stop).await,
                Method::TasksList => self.list(params(given)?),
                Method::TasksGet => {
                    let TaskParams { task } = params(given)?;
                    let record = self.desk.reader().and_then(|reader| reader.record(task));
                    json_of(record.map_err(ErrorObject::internal)?.ok_or_else(|| no_task(task))?)
                }
                Method::TasksOutput => {
                    let TaskParams { task } = params(given)?;
                    let view = self.desk.reader().and_then(|reader| reader.task(task));
                    let view = view.map_err(ErrorObject::internal)?.ok_or_else(|| no_task(task))?;
                    json_of(OutputResult { output: output(&self.desk.settings.home, self.desk.session, &view) })
                }
                Method::TasksStop => self.command(Command::StopTask(params(given)?)).await,
                Method::TasksPromote => self.command(Command::Promote(params(given)?)).await,
                Method::TasksForget => self.command(Command::Forget(params(given)?)).await,
                Method::TodosList => {
                    let wanted: TodosParams = params(given)?;
                    let wanted = TodosParams { limit: most(wanted.limit), ..wanted };
                    reply(self.desk.reader().and_then(|reader| reader.todos_page(&wanted)))
                }
                Method::TodosAdd => self.edit(TodoEdit::Add(params(given)?)).await,
                Method::TodosUpdate => self.edit(TodoEdit::Change(params(given)?)).await,
                Method::AsksList => {
                    let wanted: AsksParams = params(given)?;
                    let wanted = AsksParams { limit: most(wanted.limit), ..wanted };
                    reply(self.desk.reader().and_then(|reader| reader.asks_page(&wanted)))
                }
                Method::AsksDecide => self.command(Command::Decide(params(given)?)).await,
                Method::EventsSubscribe => {
                    let from: SubscribeParams = params(given)?;
                    let subscription = self.desk.bus.subscribe(from.after);
                    client.attach(forward(subscription, client.clone()));
                    Ok(json!({}))
                }
            }
        })
    }
}

impl Api {
    async fn command(&self, command: Command) -> Result<Value, ErrorObject> {
        self.submit(commands::input(command, self.root)).await.map(|_receipt| json!({}))
    }

    fn list(&self, wanted: TasksParams) -> Result<Value, ErrorObject> {
        if let Some(word) = wanted.state.as_deref().filter(|word| !TaskState::WORDS.contains(word)) {
            let known = TaskState::WORDS.join(", ");
            return Err(refusal(RefusalKind::Unfit, &format_args!("`{word}` is no state; there are: {known}")));
        }
        let wanted = TasksParams { limit: most(wanted.limit), ..wanted };
        reply(self.desk.reader().and_then(|reader| reader.tasks(&wanted)))
    }

    /// Edits a todo; the answer is the todo as it stands then.
    async fn edit(&self, edit: TodoEdit) -> Result<Value, ErrorObject> {
        let ids = self.desk.edit_todos(vec![edit]).await.map_err(unedited)?;
        let page = self.desk.reader().and_then(|reader| reader.todos_page(&TodosParams::every()));
        let mut todos = page.map_err(ErrorObject::internal)?.todos.into_iter();
        json_of(todos.find(|todo| ids.contains(&todo.id)).ok_or_else(|| ErrorObject::internal("the todo is gone"))?)
    }

    async fn submit(&self, input: Input) -> Result<Receipt, ErrorObject> {
        self.supervisor.submit(input).await.map_err(refused)
    }
}

/// The code of what was refused, and changed nothing.
const REFUSED: i64 = 1;

/// An input that was not carried out; a program can tell by `data.kind` why.
fn refused(rejected: Rejected) -> ErrorObject {
    match rejected {
        Rejected::Paused(_) | Rejected::Gone => ErrorObject::internal(rejected),
        Rejected::Refused(_) | Rejected::Rule(_) | Rejected::Hook(_) => refusal(rejected.kind(), &rejected),
    }
}

fn unedited(error: Unedited) -> ErrorObject {
    match error {
        Unedited::Rejected(rejected) => refused(rejected),
        Unedited::Todo(TodoError::Store(error)) => ErrorObject::internal(error),
        Unedited::Todo(error) => refusal(RefusalKind::Unfit, &error),
    }
}

fn refusal(kind: RefusalKind, message: &dyn fmt::Display) -> ErrorObject {
    ErrorObject { data: Some(json!({ "kind": kind })), ..ErrorObject::new(REFUSED, message.to_string()) }
}

fn no_task(task: TaskId) -> ErrorObject {
    refused(Refusal::UnknownTask(task).into())
}

/// How many rows a page may have.
fn most(limit: Option<u64>) -> Option<u64> {
    limit.map(|limit| limit.min(PAGE_MAX))
}

fn reply(result: Result<impl Serialize, store::StoreError>) -> Result<Value, ErrorObject> {
    json_of(result.map_err(ErrorObject::internal)?)
}

fn json_of(answer: impl Serialize) -> Result<Value, ErrorObject> {
    serde_json::to_value(answer).map_err(ErrorObject::internal)
}

/// Sends every event to a client, as fast as it reads, and streamed text as it comes.
async fn forward(mut subscription: Subscription, client: ClientHandle) {
    loop {
        let sent = match subscription.next().await {
            Ok(Some(Live::Event(envelope))) => client.deliver("event", &*envelope).await,
            Ok(Some(Live::Text { task, turn, text })) => {
                client.deliver("text", &json!({ "task": task, "turn": turn, "text": text })).await
            }
            Ok(None) => return,
            Err(error) => return tracing::warn!(%error, "a subscription ended"),
        };
        if sent.is_err() {
            return;
        }
    }
}

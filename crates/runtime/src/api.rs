//! Answers the API's calls for one session.

use std::sync::Arc;

use kernel::{Input, Refusal};
use protocol::TaskId;
use protocol::api::{
    AsksParams, AsksResult, Command, Method, OutputResult, PageParams, SendParams, SendResult, SubscribeParams,
    TaskParams,
};
use rpc::{Answering, ClientHandle, ErrorObject, Serve, params};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::agent::Desk;
use crate::bus::{Live, Subscription};
use crate::commands;
use crate::hooks;
use crate::shells;
use crate::supervisor::{Receipt, Rejected, Supervisor};

/// Rows of a page unless the caller says otherwise, and the most there are.
const PAGE: u64 = 100;
const PAGE_MAX: u64 = 1000;

/// Most bytes of a command's output in one answer.
const OUTPUT: usize = 64 * 1024;

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
                Method::TasksList => {
                    let page: PageParams = params(given)?;
                    let limit = page.limit.unwrap_or(PAGE).min(PAGE_MAX);
                    reply(self.desk.reader().and_then(|reader| reader.tasks(page.offset, limit)))
                }
                Method::TasksGet => {
                    let TaskParams { task } = params(given)?;
                    reply(self.desk.reader().and_then(|reader| reader.task(task)))
                }
                Method::TasksOutput => {
                    let TaskParams { task } = params(given)?;
                    json_of(OutputResult { output: shells::output(&self.desk, task, OUTPUT).into_string() })
                }
                Method::TasksStop => self.command(Command::StopTask(params(given)?)).await,
                Method::TasksPromote => self.command(Command::Promote(params(given)?)).await,
                Method::TasksForget => self.command(Command::Forget(params(given)?)).await,
                Method::AsksList => {
                    let wanted: AsksParams = params(given)?;
                    reply(self.desk.reader().and_then(|reader| reader.asks(wanted.all)).map(|asks| AsksResult { asks }))
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

    async fn submit(&self, input: Input) -> Result<Receipt, ErrorObject> {
        self.supervisor.submit(input).await.map_err(refused)
    }
}

/// The code of what was refused, and changed nothing.
const REFUSED: i64 = 1;

/// An input that was not carried out; a program can tell by `data.kind` why a decision was not.
fn refused(rejected: Rejected) -> ErrorObject {
    let kind = match &rejected {
        Rejected::Refused(Refusal::NoAsk(_)) => Some("noAsk"),
        Rejected::Refused(Refusal::Unfit(_)) => Some("unfit"),
        Rejected::Rule(_) => Some("noRule"),
        Rejected::Hook(_) => Some("hook"),
        Rejected::Refused(_) => None,
        Rejected::Paused(_) | Rejected::Gone => return ErrorObject::internal(rejected),
    };
    let data = kind.map(|kind| json!({ "kind": kind }));
    ErrorObject { data, ..ErrorObject::new(REFUSED, rejected.to_string()) }
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

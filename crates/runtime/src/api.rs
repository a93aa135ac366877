//! Answers the API's calls for one session.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use kernel::{Input, Refusal};
use protocol::api::{
    AgentResult, AgentView, AgentsResult, AsksDecideParams, AsksParams, Command, ErrandIdParams, FleetParams,
    FleetResult, InvokeParams, Method, ModeParams, ModelParams, OutputResult, OwnerParams, PermissionParams,
    PlanParams, PlanResult, RefusalKind, RulesParams, SelectParams, SendParams, SendResult, SlashList,
    StartAgentParams, StartAgentResult, SubscribeParams, TaskParams, TasksParams, TodoEdit, TodoEdits, TodoIds,
    TodosParams,
};
use protocol::{TaskId, TaskState};
use rpc::{Answering, ClientHandle, ErrorObject, Serve, params};
use serde::Serialize;
use serde_json::{Value, json};
use store::TodoError;
use tokio::sync::watch;

use crate::agent::Desk;
use crate::bus::{Frames, Live, Subscription};
use crate::commands;
use crate::errands;
use crate::hooks;
use crate::output::output;
use crate::own::Unchanged;
use crate::plan;
use crate::session::Status;
use crate::slash::{self, Dispatcher, Registry};
use crate::supervisor::{Receipt, Rejected, Supervisor};
use crate::todos::Unedited;

/// Most rows of a page.
const PAGE_MAX: u64 = 1000;

/// The longest pause that a client may want between two messages.
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// The owner's side of the API.
pub(crate) struct Api {
    pub(crate) desk: Arc<Desk>,
    pub(crate) supervisor: Supervisor,
    pub(crate) root: TaskId,
    pub(crate) status: watch::Receiver<Status>,
}

impl Serve for Api {
    fn call(&self, method: Method, given: Value, client: ClientHandle) -> Answering<'_> {
        Box::pin(async move {
            match method {
                Method::SessionGet => reply(self.desk.reader().and_then(|reader| reader.session_view())),
                Method::SessionCommand => {
                    let command: Command = params(given)?;
                    if let Command::Send(message) = &command {
                        self.let_others_pass(message, &client);
                    }
                    let fate = commands::carry_out(&self.desk, &self.supervisor, self.root, command).await;
                    json_of(fate.map_err(refused)?)
                }
                Method::SessionSend => {
                    let receipt = self.send(params(given)?, &client).await?;
                    let mail = receipt.mail.ok_or_else(|| ErrorObject::internal("the message has no receipt"))?;
                    json_of(SendResult { mail })
                }
                Method::SessionFleetStart => {
                    let FleetParams { prompt } = params(given)?;
                    self.send(slash::fleet_prompt(prompt.as_deref()).message(), &client).await?;
                    json_of(FleetResult { started: true })
                }
                Method::CommandsList => {
                    json_of(SlashList { commands: Registry::of(&self.desk.settings.catalog).views() })
                }
                Method::CommandsInvoke => {
                    let InvokeParams { name, input } = params(given)?;
                    // It may run the commands of a file, or hooks.
                    client.let_others_pass();
                    let dispatcher = Dispatcher { desk: &self.desk, supervisor: &self.supervisor, root: self.root };
                    let answer = dispatcher.invoke(&name, &input).await.answer();
                    json_of(answer.map_err(|why| refusal(RefusalKind::Unfit, &why))?)
                }
                Method::SessionInterrupt => self.command(Command::Interrupt).await,
                Method::SessionStop => self.command(Command::Stop).await,
                Method::ModeGet => {
                    reply(self.desk.reader().and_then(|reader| Ok(ModeParams { mode: reader.session_view()?.mode })))
                }
                Method::ModeSet => self.command(Command::SetMode(params(given)?)).await,
                Method::PermissionSet => {
                    let PermissionParams { mode } = params(given)?;
                    self.desk.grants.set(mode);
                    Ok(json!({}))
                }
                Method::RulesSet => {
                    let RulesParams { changes } = params(given)?;
                    let changed = self.desk.grants.change(&changes);
                    changed.map(|()| json!({})).map_err(|error| refused(Rejected::Rule(error)))
                }
                Method::PlanRead => {
                    let text = plan::read_plan(&self.desk.settings.home, self.desk.session);
                    json_of(PlanResult { text: text.map_err(ErrorObject::internal)? })
                }
                Method::PlanUpdate => {
                    let PlanParams { text } = params(given)?;
                    let kept = plan::write(&self.desk.settings.home, self.desk.session, &text);
                    kept.map(|()| json!({})).map_err(ErrorObject::internal)
                }
                Method::PlanDelete => {
                    let removed = plan::remove(&self.desk.settings.home, self.desk.session);
                    removed.map(|()| json!({})).map_err(ErrorObject::internal)
                }
                Method::ModelGet => json_of(ModelParams { model: self.desk.own_spec().to_string() }),
                Method::ModelSet => {
                    let ModelParams { model } = params(given)?;
                    let changed = self.desk.change_model(&self.supervisor, self.root, &model).await;
                    json_of(ModelParams { model: changed.map_err(unchanged)? })
                }
                Method::AgentsList => {
                    let agents = self.desk.settings.catalog.agents.iter().map(AgentView::from).collect();
                    json_of(AgentsResult { agents })
                }
                Method::AgentsStart => {
                    let wanted: StartAgentParams = params(given)?;
                    let dispatcher = Dispatcher { desk: &self.desk, supervisor: &self.supervisor, root: self.root };
                    let task = dispatcher.spawn(wanted).await;
                    json_of(StartAgentResult { task: task.map_err(|why| refusal(RefusalKind::Unfit, &why))? })
                }
                Method::AgentGet => {
                    json_of(AgentResult { agent: self.desk.selected(self.root).as_ref().map(AgentView::from) })
                }
                Method::AgentSelect => {
                    let SelectParams { agent } = params(given)?;
                    let input = self.desk.selection(agent.as_deref());
                    self.submit(input.map_err(|why| refusal(RefusalKind::Unfit, &why))?).await?;
                    json_of(AgentResult { agent: self.desk.selected(self.root).as_ref().map(AgentView::from) })
                }
                Method::ErrandsList => json_of(errands::list(&self.supervisor).await.map_err(refused)?),
                Method::ErrandsRegister => {
                    json_of(errands::register(&self.supervisor, params(given)?).await.map_err(refused)?)
                }
                Method::ErrandsUpdate => {
                    json_of(errands::update(&self.supervisor, params(given)?).await.map_err(refused)?)
                }
                Method::ErrandsOrphan => {
                    let OwnerParams { owner } = params(given)?;
                    self.submit(Input::Orphan { owner }).await.map(|_receipt| json!({}))
                }
                Method::ErrandsForget => {
                    let ErrandIdParams { id } = params(given)?;
                    self.submit(Input::ForgetErrand(id)).await.map(|_receipt| json!({}))
                }
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
                Method::TodosEdit => {
                    let TodoEdits { edits } = params(given)?;
                    let ids = self.desk.edit_todos(edits).await.map_err(unedited)?;
                    json_of(TodoIds { ids })
                }
                Method::AsksList => {
                    let wanted: AsksParams = params(given)?;
                    let wanted = AsksParams { limit: most(wanted.limit), ..wanted };
                    reply(self.desk.reader().and_then(|reader| reader.asks_page(&wanted)))
                }
                Method::AsksDecide => self.decide(params(given)?).await,
                Method::EventsSubscribe => {
                    let from: SubscribeParams = params(given)?;
                    let subscription = self.desk.bus.subscribe(from.after);
                    let frames = self.desk.bus.frames();
                    let pause = Duration::from_millis(from.pause_ms).min(PAUSE_MAX);
                    client.attach(forward(subscription, frames, self.status.clone(), client.clone(), pause));
                    Ok(json!({}))
                }
            }
        })
    }
}

impl Api {
    /// Sends a message as hooks let it pass.
    async fn send(&self, message: SendParams, client: &ClientHandle) -> Result<Receipt, ErrorObject> {
        self.let_others_pass(&message, client);
        let message = hooks::prompted(&self.desk, &self.supervisor, self.root, message).await.map_err(refused)?;
        self.submit(commands::input(Command::Send(message), self.root)).await
    }

    /// Hooks may take as long as they like; only whoever sent the message waits for them.
    fn let_others_pass(&self, message: &SendParams, client: &ClientHandle) {
        if hooks::hear_prompt(&self.desk, self.root, message) {
            client.let_others_pass();
        }
    }

    async fn command(&self, command: Command) -> Result<Value, ErrorObject> {
        self.submit(commands::input(command, self.root)).await.map(|_receipt| json!({}))
    }

    async fn decide(&self, AsksDecideParams { decided, interrupt }: AsksDecideParams) -> Result<Value, ErrorObject> {
        let decide = self.command(Command::Decide(decided));
        if !interrupt {
            return decide.await;
        }
        // They line up together: no step is taken between them.
        let (decided, interrupted) = tokio::join!(decide, self.command(Command::Interrupt));
        decided.and(interrupted)
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

fn unchanged(error: Unchanged) -> ErrorObject {
    match error {
        Unchanged::Rejected(rejected) => refused(rejected),
        Unchanged::Unusable { .. } | Unchanged::Unpriced(_) => refusal(RefusalKind::Unfit, &error),
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

/// Sends every event to a client, as fast as it reads, and streamed text as it comes; after the events that it follows
/// from, the session's state. After each batch it waits for `pause`, so that what happens
/// meanwhile is sent together.
async fn forward(
    mut subscription: Subscription,
    frames: Arc<Frames>,
    mut status: watch::Receiver<Status>,
    client: ClientHandle,
    pause: Duration,
) {
    let mut seen = subscription.seen();
    let mut is_pause_due = false;
    let mut due = Some(status.borrow_and_update().view());
    loop {
        if let Some(view) = due.take_if(|view| view.seq <= seen)
            && client.deliver("status", &view).await.is_err()
        {
            return;
        }
        let next = tokio::select! {
            biased;
            next = subscription.next() => next,
            Ok(()) = status.changed() => {
                due = Some(status.borrow_and_update().view());
                continue;
            }
            () = std::future::ready(()), if is_pause_due => {
                is_pause_due = false;
                tokio::time::sleep(pause).await;
                continue;
            }
        };
        is_pause_due = !pause.is_zero();
        let sent = match next {
            Ok(Some(Live::Event(envelope))) => {
                seen = envelope.seq;
                match frames.get(envelope.seq, || client.frame("event", &*envelope)) {
                    Ok(frame) => client.share(frame).await,
                    Err(error) => Err(error),
                }
            }
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

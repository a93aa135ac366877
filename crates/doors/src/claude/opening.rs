//! Finds the session that the client wants: here, or in the process that runs it.

use std::fmt;
use std::sync::Arc;

use protocol::api::{
    AgentsResult, Method, ModeParams, SessionView, SlashList, SubscribeParams, TaskView, TasksPage, TasksParams,
};
use protocol::{SessionId, SessionMode};
use rpc::{CallError, Client, Notifications};
use runtime::{Session, Start};
use serde_json::{Value, json};

use super::args::Args;
use super::brought::Brought;
use super::frames::{INIT_TOOLS, Introduction};
use super::hello::Hello;
use super::mode::Mode;
use super::orders;
use super::rules;
use super::wire::Control;
use crate::managed::{self, Managed};
use crate::{House, Order, Refusal};

/// Most tasks of an earlier run that are told apart.
const TASKS_MAX: u64 = 1000;

/// Who runs the session.
#[derive(Debug)]
pub(super) enum Run {
    /// This process.
    Here(Box<Session>),
    /// Another, which goes on when the client leaves.
    Elsewhere,
}

/// A session that is open for a client.
#[derive(Debug)]
pub(super) struct Opened {
    /// Its id.
    pub(super) id: SessionId,
    /// Who runs it.
    pub(super) run: Run,
    /// For calls: what happens never stands in their way.
    pub(super) api: Arc<Client>,
    /// What happens, from here on.
    pub(super) news: News,
    /// The last event that is not news.
    pub(super) seq: u64,
    /// The tasks there are, the root first.
    pub(super) tasks: Vec<TaskView>,
    /// What the client is told of it.
    pub(super) intro: Introduction,
}

/// What happens, with the line that it comes on.
#[derive(Debug)]
pub(super) struct News {
    line: Client,
    queue: Notifications,
}

impl News {
    /// The next of it, or why there is no more.
    pub(super) async fn next(&mut self) -> Result<rpc::Notification, rpc::Closed> {
        self.queue.next().await
    }
}

/// Opens the session that the client wants.
pub(super) async fn open(house: &dyn House, args: &Args, order: Order, managed: &Managed) -> Result<Opened, Refusal> {
    let guests: Vec<String> = order.guests.tools.iter().map(|tool| tool.spec().name.to_string()).collect();
    if let Start::Resume(id) = order.start
        && let Ok((api, _)) = Client::connect(&house.home().socket(id)).await
        && let Ok((line, queue)) = Client::connect(&house.home().socket(id)).await
    {
        if !managed.is_empty() {
            return Err(managed::refusal(
                "another process runs the session, and managed settings cannot be applied to it".into(),
            ));
        }
        let view: SessionView = api.call(Method::SessionGet, json!({})).await.map_err(refusal)?;
        return watch((id, view.events), Run::Elsewhere, api, News { line, queue }, args, guests).await;
    }
    let session = house.open(order).await?;
    let (api, _) = session.link().await.map_err(refusal)?;
    let (line, queue) = session.link().await.map_err(refusal)?;
    let place = (session.id(), session.first_seq());
    let opened = watch(place, Run::Here(Box::new(session)), api, News { line, queue }, args, guests).await?;
    if let Run::Here(session) = &opened.run {
        session.resume().await.map_err(refusal)?;
    }
    Ok(opened)
}

/// What the client wants, as an order.
pub(super) fn order(
    house: &dyn House,
    args: &Args,
    hello: &Hello,
    brought: &Brought,
    control: &Arc<Control>,
) -> Result<Order, Refusal> {
    orders::order(args, hello, brought, house.home(), control)
}

async fn watch(
    (id, seq): (SessionId, u64),
    run: Run,
    api: Client,
    news: News,
    args: &Args,
    guests: Vec<String>,
) -> Result<Opened, Refusal> {
    let page = TasksParams { limit: Some(TASKS_MAX), all: true, ..TasksParams::default() };
    let TasksPage { tasks, .. } = api.call(Method::TasksList, page).await.map_err(refusal)?;
    let intro = introduce(&api, args, guests, &run).await.map_err(refusal)?;
    let _: Value = news.line.call(Method::EventsSubscribe, SubscribeParams::after(seq)).await.map_err(refusal)?;
    Ok(Opened { id, run, api: Arc::new(api), news, seq, tasks, intro })
}

async fn introduce(api: &Client, args: &Args, guests: Vec<String>, run: &Run) -> Result<Introduction, CallError> {
    let view: SessionView = api.call(Method::SessionGet, json!({})).await?;
    let SlashList { commands } = api.call(Method::CommandsList, json!({})).await?;
    let AgentsResult { agents } = api.call(Method::AgentsList, json!({})).await?;
    let left_out = args.tools.as_deref().map(rules::left_out).unwrap_or_default();
    let is_there = |name: &&str| {
        !args.disallowed.iter().any(|no| no == name)
            && !left_out.iter().any(|tool| tool == hooks::names::ours(name, protocol::HookDialect::Snake))
    };
    let tools = INIT_TOOLS.into_iter().filter(is_there).map(str::to_owned).chain(guests).collect();
    let mode = mode(api, args, view.mode, run).await?;
    let visits = matches!(run, Run::Elsewhere);
    let SessionView { cwd, model, .. } = view;
    Ok(Introduction { cwd, model, mode, tools, commands, agents, visits, ..Introduction::default() })
}

/// The mode that the client begins in. A session that was left in plan mode stays in it, unless the client names another
/// and is the one who runs it.
async fn mode(api: &Client, args: &Args, found: SessionMode, run: &Run) -> Result<Mode, CallError> {
    let named = args.permission_mode.as_deref().and_then(Mode::named);
    match (found, named, run) {
        (SessionMode::Plan, None, _) | (SessionMode::Plan, Some(_), Run::Elsewhere) => Ok(Mode::Plan),
        (SessionMode::Plan, Some(mode), Run::Here(_)) => {
            let _: Value = api.call(Method::ModeSet, ModeParams { mode: mode.session() }).await?;
            Ok(mode)
        }
        (SessionMode::Interactive | SessionMode::Autopilot, named, _) => Ok(named.unwrap_or_default()),
    }
}

fn refusal(error: impl fmt::Display) -> Refusal {
    Refusal { words: error.to_string(), hint: None }
}

//! Finds the session that the client wants: here, or in the process that runs it.

use std::fmt;
use std::sync::Arc;

use protocol::api::{
    AgentsResult, Method, ModeParams, SessionView, SlashList, SubscribeParams, TaskView, TasksPage, TasksParams,
};
use protocol::{SessionId, SessionMode};
use rpc::{CallError, Notifications, RpcClient};
use runtime::{Session, SessionStart};
use serde_json::{Value, json};

use super::args::ClaudeArgs;
use super::client_setup::ClientSetup;
use super::frames::{INIT_TOOLS, SessionInfo};
use super::initialize::InitializeRequest;
use super::mode::ClaudePermissionMode;
use super::open_request;
use super::rules;
use super::wire::ControlChannel;
use crate::managed::{self, ManagedPolicy};
use crate::{OpenRefusal, OpenRequest, SessionHost};

/// Most tasks of an earlier run that are told apart.
const TASKS_MAX: u64 = 1000;

/// Who runs the session.
#[derive(Debug)]
pub(super) enum SessionOwner {
    /// This process.
    ThisProcess(Box<Session>),
    /// Another, which goes on when the client leaves.
    OtherProcess,
}

/// A session that is open for a client.
#[derive(Debug)]
pub(super) struct OpenedSession {
    /// Its id.
    pub(super) id: SessionId,
    /// Who runs it.
    pub(super) owner: SessionOwner,
    /// For calls: what happens never stands in their way.
    pub(super) api: Arc<RpcClient>,
    /// What happens, from here on.
    pub(super) events: EventFeed,
    /// The last event that is not news.
    pub(super) seq: u64,
    /// The tasks there are, the root first.
    pub(super) tasks: Vec<TaskView>,
    /// What the client is told of it.
    pub(super) info: SessionInfo,
}

/// What happens, with the line that it comes on.
#[derive(Debug)]
pub(super) struct EventFeed {
    client: RpcClient,
    queue: Notifications,
}

impl EventFeed {
    /// The next of it, or why there is no more.
    pub(super) async fn next(&mut self) -> Result<rpc::RpcNotification, rpc::ConnectionClosed> {
        self.queue.next().await
    }
}

/// Opens the session that the client wants.
pub(super) async fn open(
    session_host: &dyn SessionHost,
    args: &ClaudeArgs,
    order: OpenRequest,
    managed: &ManagedPolicy,
) -> Result<OpenedSession, OpenRefusal> {
    let extensions: Vec<String> =
        order.client_extensions.tools.iter().map(|tool| tool.spec().name.to_string()).collect();
    if let SessionStart::Resume(id) = order.start
        && let Ok((api, _)) = RpcClient::connect(&session_host.home().socket(id)).await
        && let Ok((line, queue)) = RpcClient::connect(&session_host.home().socket(id)).await
    {
        if !managed.is_empty() {
            return Err(managed::refusal(
                "another process runs the session, and managed settings cannot be applied to it".into(),
            ));
        }
        let view: SessionView = api.call(Method::SessionGet, json!({})).await.map_err(refusal)?;
        return subscribe(
            (id, view.events),
            SessionOwner::OtherProcess,
            api,
            EventFeed { client: line, queue },
            args,
            extensions,
        )
        .await;
    }
    let session = session_host.open(order).await?;
    let (api, _) = session.connect().await.map_err(refusal)?;
    let (line, queue) = session.connect().await.map_err(refusal)?;
    let place = (session.id(), session.first_seq());
    let opened = subscribe(
        place,
        SessionOwner::ThisProcess(Box::new(session)),
        api,
        EventFeed { client: line, queue },
        args,
        extensions,
    )
    .await?;
    if let SessionOwner::ThisProcess(session) = &opened.owner {
        session.resume().await.map_err(refusal)?;
    }
    Ok(opened)
}

/// What the client wants, as an order.
pub(super) fn open_request(
    session_host: &dyn SessionHost,
    args: &ClaudeArgs,
    hello: &InitializeRequest,
    brought: &ClientSetup,
    control: &Arc<ControlChannel>,
) -> Result<OpenRequest, OpenRefusal> {
    open_request::build_request(args, hello, brought, session_host.home(), control)
}

async fn subscribe(
    (id, seq): (SessionId, u64),
    run: SessionOwner,
    api: RpcClient,
    news: EventFeed,
    args: &ClaudeArgs,
    extensions: Vec<String>,
) -> Result<OpenedSession, OpenRefusal> {
    let page = TasksParams { limit: Some(TASKS_MAX), all: true, ..TasksParams::default() };
    let TasksPage { tasks, .. } = api.call(Method::TasksList, page).await.map_err(refusal)?;
    let intro = load_session_info(&api, args, extensions, &run).await.map_err(refusal)?;
    let _: Value = news.client.call(Method::EventsSubscribe, SubscribeParams::after(seq)).await.map_err(refusal)?;
    Ok(OpenedSession { id, owner: run, api: Arc::new(api), events: news, seq, tasks, info: intro })
}

async fn load_session_info(
    api: &RpcClient,
    args: &ClaudeArgs,
    extensions: Vec<String>,
    run: &SessionOwner,
) -> Result<SessionInfo, CallError> {
    let view: SessionView = api.call(Method::SessionGet, json!({})).await?;
    let SlashList { commands } = api.call(Method::CommandsList, json!({})).await?;
    let AgentsResult { agents } = api.call(Method::AgentsList, json!({})).await?;
    let left_out = args.tools.as_deref().map(rules::excluded_tools).unwrap_or_default();
    let is_there = |name: &&str| {
        !args.disallowed.iter().any(|no| no == name)
            && !left_out.iter().any(|tool| tool == hooks::tool_names::own_tool_name(name, protocol::HookDialect::Snake))
    };
    let tools = INIT_TOOLS.into_iter().filter(is_there).map(str::to_owned).chain(extensions).collect();
    let mode = initial_mode(api, args, view.mode, run).await?;
    let visits = matches!(run, SessionOwner::OtherProcess);
    let SessionView { cwd, model, .. } = view;
    Ok(SessionInfo { cwd, model, mode, tools, commands, agents, is_attached: visits, ..SessionInfo::default() })
}

/// The mode that the client begins in. A session that was left in plan mode stays in it, unless the client names another
/// and is the one who runs it.
async fn initial_mode(
    api: &RpcClient,
    args: &ClaudeArgs,
    found: SessionMode,
    run: &SessionOwner,
) -> Result<ClaudePermissionMode, CallError> {
    let named = args.permission_mode.as_deref().and_then(ClaudePermissionMode::parse);
    match (found, named, run) {
        (SessionMode::Plan, None, _) | (SessionMode::Plan, Some(_), SessionOwner::OtherProcess) => {
            Ok(ClaudePermissionMode::Plan)
        }
        (SessionMode::Plan, Some(mode), SessionOwner::ThisProcess(_)) => {
            let _: Value = api.call(Method::ModeSet, ModeParams { mode: mode.session_mode() }).await?;
            Ok(mode)
        }
        (SessionMode::Interactive | SessionMode::Autopilot, named, _) => Ok(named.unwrap_or_default()),
    }
}

fn refusal(error: impl fmt::Display) -> OpenRefusal {
    OpenRefusal { words: error.to_string(), hint: None }
}

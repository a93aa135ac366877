//! Opens the client's session in this process, or connects to the process that runs it.

use std::fmt;
use std::sync::Arc;

use protocol::api::{
    AgentsResult, CutConversationParams, Method, ModeParams, SessionView, SlashList, SubscribeParams, TaskView,
    TasksPage, TasksParams,
};
use protocol::{SessionId, SessionMode};
use rpc::{CallError, Notifications, RpcClient};
use runtime::SessionStart;
use serde_json::{Value, json};
use server::{HeldSession, HostError, OpenRefusal, OpenRequest, SessionHost};

use super::args::ClaudeArgs;
use super::client_setup::ClientSetup;
use super::frames::{SessionInfo, init_tools};
use super::initialize::InitializeRequest;
use super::mode::ClaudePermissionMode;
use super::rules;
use super::session_options::requested_mode;
use super::wire::ControlChannel;
use super::{open_request, resume_cut};
use crate::managed::{self, ManagedPolicy};

/// Maximum number of existing tasks that are loaded.
const MAX_TASKS: u64 = 1000;

/// The process that runs the session.
#[derive(Debug)]
pub(super) enum SessionOwner {
    /// This process.
    ThisProcess(HeldSession),
    /// Another process, which continues when the client leaves.
    OtherProcess,
}

/// A session that is open for a client.
#[derive(Debug)]
pub(super) struct OpenedSession {
    /// Its id.
    pub(super) id: SessionId,
    /// The process that runs it.
    pub(super) owner: SessionOwner,
    /// The connection for calls, separate so that they never wait behind events.
    pub(super) api: Arc<RpcClient>,
    /// Its events from now on.
    pub(super) events: EventFeed,
    /// The number of the last event before those.
    pub(super) seq: u64,
    /// Its existing tasks, the root first.
    pub(super) tasks: Vec<TaskView>,
    /// Information for the client.
    pub(super) info: SessionInfo,
}

/// The session's events, with their connection.
#[derive(Debug)]
pub(super) struct EventFeed {
    client: RpcClient,
    queue: Notifications,
}

impl EventFeed {
    /// Returns the next notification, or why the connection ended.
    pub(super) async fn next(&mut self) -> Result<rpc::RpcNotification, rpc::ConnectionClosed> {
        self.queue.next().await
    }
}

/// Opens the session that the client wants.
pub(super) async fn open(
    sessions: &Arc<SessionHost>,
    (args, setup): (&ClaudeArgs, &ClientSetup),
    request: OpenRequest,
    managed: &ManagedPolicy,
) -> Result<OpenedSession, OpenRefusal> {
    let client_tools: Vec<String> =
        request.client_extensions.tools.iter().map(|tool| tool.spec().name.to_string()).collect();
    let cut = match request.start {
        SessionStart::Resume(id) | SessionStart::Fork(id) => resume_cut::find_cut(args, sessions.home(), id)?,
        SessionStart::New if args.resume_at.is_some() => {
            return Err(refusal("--resume-session-at needs a session: name it with --resume"));
        }
        SessionStart::New => None,
    };
    if let SessionStart::Resume(id) = request.start
        && let Ok((api, _)) = RpcClient::connect(&sessions.home().socket(id)).await
        && let Ok((client, queue)) = RpcClient::connect(&sessions.home().socket(id)).await
    {
        if cut.is_some() {
            return Err(refusal("another process runs the session, so it cannot be resumed at an earlier message"));
        }
        if !managed.is_empty() {
            return Err(managed::refusal(
                "another process runs the session, so managed settings cannot be applied to it".into(),
            ));
        }
        let view: SessionView = api.call(Method::SessionGet, json!({})).await.map_err(refusal)?;
        return subscribe(
            (id, view.events),
            SessionOwner::OtherProcess,
            api,
            EventFeed { client, queue },
            (args, setup),
            client_tools,
        )
        .await;
    }
    let held = sessions.open(request).await.map_err(|error| match error {
        HostError::Refused(refusal) => refusal,
        error => refusal(error),
    })?;
    let (api, _) = held.handle().connect().await.map_err(refusal)?;
    let (client, queue) = held.handle().connect().await.map_err(refusal)?;
    let start = (held.id(), held.first_seq());
    let (owner, feed) = (SessionOwner::ThisProcess(held), EventFeed { client, queue });
    if let Some(after) = cut {
        let params = CutConversationParams { after };
        let _cut: Value = api.call(Method::ConversationCut, params).await.map_err(refusal)?;
    }
    let opened = subscribe(start, owner, api, feed, (args, setup), client_tools).await?;
    if let SessionOwner::ThisProcess(held) = &opened.owner {
        held.resume().await.map_err(refusal)?;
    }
    Ok(opened)
}

/// Builds the request to open the client's session.
pub(super) fn open_request(
    sessions: &SessionHost,
    args: &ClaudeArgs,
    initialize: &InitializeRequest,
    setup: &ClientSetup,
    control: &Arc<ControlChannel>,
) -> Result<OpenRequest, OpenRefusal> {
    open_request::build_request(args, initialize, setup, sessions.home(), control)
}

async fn subscribe(
    (id, seq): (SessionId, u64),
    owner: SessionOwner,
    api: RpcClient,
    events: EventFeed,
    client: (&ClaudeArgs, &ClientSetup),
    client_tools: Vec<String>,
) -> Result<OpenedSession, OpenRefusal> {
    let page = TasksParams { limit: Some(MAX_TASKS), all: true, ..TasksParams::default() };
    let TasksPage { tasks, .. } = api.call(Method::TasksList, page).await.map_err(refusal)?;
    let info = load_session_info(&api, client, client_tools, &owner).await.map_err(refusal)?;
    let _: Value = events.client.call(Method::EventsSubscribe, SubscribeParams::after(seq)).await.map_err(refusal)?;
    Ok(OpenedSession { id, owner, api: Arc::new(api), events, seq, tasks, info })
}

async fn load_session_info(
    api: &RpcClient,
    (args, setup): (&ClaudeArgs, &ClientSetup),
    client_tools: Vec<String>,
    owner: &SessionOwner,
) -> Result<SessionInfo, CallError> {
    let view: SessionView = api.call(Method::SessionGet, json!({})).await?;
    let SlashList { commands } = api.call(Method::CommandsList, json!({})).await?;
    let AgentsResult { agents } = api.call(Method::AgentsList, json!({})).await?;
    let excluded = args.tools.as_deref().map(rules::excluded_tools).unwrap_or_default();
    let is_available = |name: &&str| {
        !args.disallowed.iter().any(|denied| denied == name)
            && !excluded.iter().any(|tool| tool == hooks::tool_names::own_tool_name(name, protocol::HookDialect::Snake))
    };
    let tools = init_tools().filter(is_available).map(str::to_owned).chain(client_tools).collect();
    let is_stated = args.permission_mode.is_some() || !setup.settings.flag["permissions"]["defaultMode"].is_null();
    let requested = is_stated.then(|| requested_mode(args, &setup.settings.flag).unwrap_or_default());
    let mode = initial_mode(api, requested, view.mode, owner).await?;
    let is_attached = matches!(owner, SessionOwner::OtherProcess);
    let SessionView { cwd, model, .. } = view;
    let output_style = setup.settings.output_style.clone();
    let models = setup.models.clone();
    Ok(SessionInfo { cwd, model, models, mode, tools, commands, agents, output_style, is_attached })
}

/// The permission mode at the start. A session in plan mode stays in it, unless the client names another mode and this
/// process runs the session.
async fn initial_mode(
    api: &RpcClient,
    requested: Option<ClaudePermissionMode>,
    current: SessionMode,
    owner: &SessionOwner,
) -> Result<ClaudePermissionMode, CallError> {
    match (current, requested, owner) {
        (SessionMode::Plan, None, _) | (SessionMode::Plan, Some(_), SessionOwner::OtherProcess) => {
            Ok(ClaudePermissionMode::Plan)
        }
        (SessionMode::Plan, Some(mode), SessionOwner::ThisProcess(_)) => {
            let _: Value = api.call(Method::ModeSet, ModeParams { mode: mode.session_mode() }).await?;
            Ok(mode)
        }
        (SessionMode::Interactive | SessionMode::Autopilot, requested, _) => Ok(requested.unwrap_or_default()),
    }
}

fn refusal(error: impl fmt::Display) -> OpenRefusal {
    OpenRefusal { words: error.to_string(), hint: None }
}

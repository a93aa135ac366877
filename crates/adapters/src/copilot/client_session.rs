//! Creates, resumes or joins a session for a client.

use std::sync::Arc;

use client::SessionHandle;
use host::{Clock, Ids, SystemClock, TimeIds};
use model::TurnHeaders;
use net::Secret;
use protocol::SessionId;
use protocol::api::{CutConversationParams, Method, SessionView};
use rpc::ErrorObject;
use runtime::SessionStart;
use serde_json::{Value, json};
use server::{HeldSession, HostError, OpenRequest};
use tokio::sync::watch::Receiver;
use tokio::task::JoinSet;

use super::client_defaults;
use super::client_events::{self, fields_of, resume_key};
use super::client_telemetry;
use super::client_tokens::{ClientTokens, DEFAULT_PROVIDER};
use super::client_tools::PendingToolCalls;
use super::connection::CopilotConnection;
use super::events::EventTranslator;
use super::github_account::{AccountError, GitHubAccount};
use super::history;
use super::hosted_session::{ClientNotice, HostedSession, to_error_object};
use super::idle::IdleReport;
use super::methods::history::cut_before;
use super::methods::mcp;
use super::methods::provider::ClientProviders;
use super::model_names::client_model_name;
use super::option_table::{OpenedOptions, expect_supported};
use super::session_clients::{SessionClient, SessionClients};
use super::session_names;
use super::session_params::CopilotSessionParams;
use super::session_watcher::{self, SessionWatcher};
use super::state_copy::StateCopy;
use super::state_provider::StateFiles;
use super::unsupported::{ignored_tools, tool_names, unsupported_options};
use crate::managed;

/// A client's participation in one session.
pub(crate) struct ClientSession {
    pub(crate) session: Arc<HostedSession>,
    pub(crate) session_client: Arc<SessionClient>,
    pub(crate) idle_reports: Receiver<IdleReport>,
    _watching: JoinSet<()>,
}

/// Creates a session for a client.
pub(crate) async fn create(connection: &CopilotConnection, params: &Value) -> Result<Value, ErrorObject> {
    let (id, name) = match params["sessionId"].as_str() {
        Some(requested_name) => (
            session_names::resolve_session(requested_name).ok_or_else(|| ErrorObject::bad_params(INVALID_NAME))?,
            requested_name.to_owned(),
        ),
        None => {
            let uuid = TimeIds.uuid();
            (SessionId::new(uuid), uuid.to_string())
        }
    };
    let cell = connection.server().cell(id);
    let mut current = cell.lock().await;
    if current.is_some() {
        return Err(ErrorObject::internal(format!("Session {name} already exists: resume it")));
    }
    expect_supported(params)?;
    let session_params = CopilotSessionParams(params);
    let (opened, session_client, ephemeral_events) =
        open(connection, &session_params, SessionStart::New, id, &name).await?;
    opened.session.commands.register(params);
    opened.session.features.canvases.offer(&connection.peer(), params);
    *current = Some(Arc::clone(&opened.session));
    drop(current);
    let start = session_watcher::WatcherStart {
        session: Arc::clone(&opened.session),
        session_client,
        ephemeral_events,
        translator: EventTranslator::new(id, name),
        reports_resume: true,
    };
    let answer = begin_watching(connection, start).await?;
    client_telemetry::report_opened(connection, "session.start", &answer).await;
    Ok(answer)
}

/// Resumes a session for a client, or joins it if it is running.
pub(crate) async fn resume(connection: &CopilotConnection, params: &Value) -> Result<Value, ErrorObject> {
    let requested_name = params["sessionId"].as_str().unwrap_or_default();
    let id = session_names::resolve_session(requested_name).ok_or_else(|| session_not_found(requested_name))?;
    let home = connection.server().sessions.home().clone();
    if SessionHandle::new(&home, id).check_readable().is_err() || !connection.server().base_dir.can_see(&home, id) {
        return Err(session_not_found(requested_name));
    }
    expect_supported(params)?;
    let managed = CopilotSessionParams(params).managed_policy()?;
    let (continues, reports_resume) = (params["continuePendingWork"] == true, params["disableResume"] != true);
    let was_here = connection.leave_session(id).await;
    let session_params = CopilotSessionParams(params);
    let cell = connection.server().cell(id);
    let mut current = cell.lock().await;
    let running = match &*current {
        Some(session) if session.keep_open().await => Some(Arc::clone(session)),
        Some(_) | None => HostedSession::remote(&home, id).await.map(Arc::new),
    };
    if let Some(session) = running {
        if !managed.is_empty() {
            let why = "the session is already running, so managed settings cannot be applied to it";
            return Err(ErrorObject::internal(managed::refusal(why.into())));
        }
        if session.commands.register(params) {
            session.emit("commands.changed", json!({ "commands": session.commands.list() }));
        }
        session.features.canvases.offer(&connection.peer(), params);
        let (account, account_notice) = account_of(connection, &session_params).await?;
        if account.is_some() {
            session.features.set_account(account);
        }
        session.add_notices(account_notice);
        let new_tools = session_params.joined_tools(&session)?;
        let ignored = ignored_tools(params, |name| !session.is_local() && !session.has_tool(name));
        session.add_notices(connection.launch_notices());
        session.add_notices(session.ignored_when_joining(params).map(ClientNotice::unsupported));
        session.add_notices(ignored.into_iter().chain(unsupported_options(params)).map(ClientNotice::unsupported));
        let was_active = was_here || !session.clients.has_no_other_client(None);
        if !was_active && !continues {
            // The work of a client that has left does not continue by itself.
            let _interrupted: Value = session.call(Method::SessionInterrupt, json!({})).await?;
        }
        let (session_client, ephemeral_events) = SessionClient::new(connection.peer(), session_params.capabilities());
        session.clients.add(Arc::clone(&session_client));
        session_client.join_tools(&session.tool_calls.joined, new_tools);
        *current = Some(Arc::clone(&session));
        drop(current);
        let translator = history::translator(&home, id, None).await?;
        let start = session_watcher::WatcherStart {
            session: Arc::clone(&session),
            session_client,
            ephemeral_events,
            translator,
            reports_resume: true,
        };
        let answer = begin_watching(connection, start).await?;
        if reports_resume {
            session.record("session.resume", joined_report(&session, continues, was_active).await?).await?;
        }
        return Ok(answer);
    }
    let (opened, session_client, ephemeral_events) =
        open(connection, &session_params, SessionStart::Resume(id), id, &session_names::session_name(&home, id))
            .await?;
    let session = Arc::clone(&opened.session);
    session.commands.register(params);
    session.features.canvases.offer(&connection.peer(), params);
    *current = Some(Arc::clone(&session));
    drop(current);
    let translator = history::translator(&home, id, Some(opened.first_seq)).await?;
    let resumed = json!({ "continuePendingWork": continues, "sessionWasActive": false });
    session
        .client_events
        .add_fields(resume_key(opened.first_seq + 1), fields_of(resumed))
        .map_err(ErrorObject::internal)?;
    let start = session_watcher::WatcherStart {
        session: Arc::clone(&session),
        session_client,
        ephemeral_events,
        translator,
        reports_resume,
    };
    let answer = begin_watching(connection, start).await?;
    match continues {
        true => session.resume().await?,
        false => session.defer_unfinished(),
    }
    client_telemetry::report_opened(connection, "session.resume", &answer).await;
    Ok(answer)
}

/// The event for a client that joins a session that is running.
async fn joined_report(session: &HostedSession, continues: bool, was_active: bool) -> Result<Value, ErrorObject> {
    let view: SessionView = session.call(Method::SessionGet, json!({})).await?;
    Ok(json!({
        "resumeTime": SystemClock.now().to_string(),
        "eventCount": view.events,
        "selectedModel": client_model_name(&view.model),
        "context": { "cwd": view.cwd },
        "continuePendingWork": continues,
        "sessionWasActive": was_active,
    }))
}

/// Forks a session; returns the copy's id.
pub(crate) async fn fork(connection: &CopilotConnection, params: &Value) -> Result<SessionId, ErrorObject> {
    let requested_name = params["sessionId"].as_str().unwrap_or_default();
    let id = session_names::resolve_session(requested_name).ok_or_else(|| session_not_found(requested_name))?;
    if !connection.server().base_dir.can_see(connection.server().sessions.home(), id) {
        return Err(session_not_found(requested_name));
    }
    let sessions = &connection.server().sessions;
    let after = match params["toEventId"].as_str() {
        Some(event) => Some(cut_before(&history::numbered_events(sessions.home(), id).await?, event)?),
        None => None,
    };
    let mut request = OpenRequest::new(SessionStart::Fork(id));
    if let Some(session) = connection.server().opened(id).await
        && let Some(providers) = session.providers()
    {
        // The client's providers are not stored, and the copy needs its model.
        request.provider = providers.provider.clone();
        request.named_providers = providers.named.clone();
        request.named_providers.extend(session.tool_calls.joined_providers.all());
    }
    let copy = sessions.open(request).await.map_err(ErrorObject::internal)?;
    let prepared = prepare_copy(connection, id, &copy, after).await;
    copy.close().await.map_err(ErrorObject::internal)?;
    prepared?;
    Ok(copy.id())
}

/// Completes a copy with what clients stored with the session, and removes what came after an entry of its log.
async fn prepare_copy(
    connection: &CopilotConnection,
    id: SessionId,
    copy: &HeldSession,
    after: Option<u64>,
) -> Result<(), ErrorObject> {
    let (home, base) = (connection.server().sessions.home(), &connection.server().base_dir);
    base.record(home, copy.id()).map_err(ErrorObject::internal)?;
    client_events::copy_stored(home, id, copy.id(), after.unwrap_or(u64::MAX)).map_err(ErrorObject::internal)?;
    let Some(after) = after else { return Ok(()) };
    let (client, _notifications) = copy.handle().connect().await.map_err(ErrorObject::internal)?;
    let cut = client.call::<Value>(Method::ConversationCut, CutConversationParams { after }).await;
    cut.map(drop).map_err(to_error_object)
}

struct OpenedHostedSession {
    session: Arc<HostedSession>,
    first_seq: u64,
}

type EphemeralEvents = tokio::sync::mpsc::Receiver<super::session_clients::EphemeralEvent>;

/// Opens a session in this process, with the client connected from the start.
async fn open(
    connection: &CopilotConnection,
    params: &CopilotSessionParams<'_>,
    start: SessionStart,
    id: SessionId,
    name: &str,
) -> Result<(OpenedHostedSession, Arc<SessionClient>, EphemeralEvents), ErrorObject> {
    let clients = Arc::<SessionClients>::default();
    let tool_calls = Arc::new(PendingToolCalls::new(Arc::clone(&clients)));
    let (session_client, ephemeral_events) = SessionClient::new(connection.peer(), params.capabilities());
    clients.add(Arc::clone(&session_client));
    let (account, account_notice) = account_of(connection, params).await?;
    let turn_headers = TurnHeaders::default();
    let sessions = &connection.server().sessions;
    let request = |model| {
        let mut request = params.open_request(start, id, name, model, &clients, &tool_calls)?;
        request.turn_headers = turn_headers.clone();
        client_defaults::apply(connection.server(), name, &mut request)?;
        request.secrets.extend(params.github_token().map(Secret::new));
        if let (true, Some(provider)) = (params.supplies_tokens(), &mut request.provider) {
            provider.provider.tokens = Some(ClientTokens::source(connection.peer(), name, DEFAULT_PROVIDER));
        }
        for provider_name in params.named_token_providers() {
            if let Some(provider) = request.named_providers.get_mut(provider_name) {
                provider.tokens = Some(ClientTokens::source(connection.peer(), name, provider_name));
            }
        }
        Ok::<OpenRequest, ErrorObject>(request)
    };
    let first_request = request(params.model())?;
    let has_plugins = !first_request.options.plugin_dirs.is_empty();
    let (held, warning): (HeldSession, _) = match sessions.open(first_request).await {
        Ok(held) => (held, None),
        Err(HostError::Refused(refusal)) if params.allows_other_model() => {
            let model = params.model().unwrap_or_default();
            let held = sessions.open(request(None)?).await.map_err(ErrorObject::internal)?;
            let message = format!("cannot use {model}, so the default model is used: {refusal}");
            (held, Some(ClientNotice { kind: "model", message }))
        }
        Err(error) => return Err(ErrorObject::internal(error)),
    };
    session_names::save_name(sessions.home(), id, name).map_err(ErrorObject::internal)?;
    connection.server().base_dir.record(sessions.home(), id).map_err(ErrorObject::internal)?;
    let first_seq = held.first_seq();
    let session = Arc::new(HostedSession::local(held, clients, tool_calls, turn_headers).await?);
    let view: SessionView = session.call(Method::SessionGet, json!({})).await?;
    session.features.set_opened_with(params.folders(&view.cwd), has_plugins);
    session.add_agents(params.agent_names());
    session.set_providers(ClientProviders::read(params.0)?);
    session.set_opened_options(OpenedOptions::of(params.0));
    if let Some(provider) = connection.server().state_provider() {
        session.set_state_copy(StateCopy::new(StateFiles::new(provider, name)));
        session.add_notices([ClientNotice::unsupported(
            "`initialCwd` of `sessionFs` has no effect: a session works in a folder of this machine".to_owned(),
        )]);
    }
    let managed = params.managed_policy()?;
    if managed.forbids_bypass || !managed.ask.is_empty() {
        session.forbid_approving_all();
    }
    session.set_approves_all(connection.server().allows_all());
    session.features.set_account(account);
    session.add_tools(tool_names(params.0));
    session.add_notices(connection.launch_notices());
    session.add_notices(
        (warning.into_iter().chain(account_notice))
            .chain(unsupported_options(params.0).into_iter().map(ClientNotice::unsupported)),
    );
    Ok((OpenedHostedSession { session, first_seq }, session_client, ephemeral_events))
}

/// The GitHub account of the client's token. A token that GitHub refuses refuses the session; if GitHub cannot be asked,
/// the session has no account.
async fn account_of(
    connection: &CopilotConnection,
    params: &CopilotSessionParams<'_>,
) -> Result<(Option<GitHubAccount>, Option<ClientNotice>), ErrorObject> {
    let Some(token) = params.github_token() else { return Ok((None, None)) };
    match GitHubAccount::of_token(connection.server().sessions.opener(), token).await {
        Ok(account) => Ok((Some(account), None)),
        Err(refused @ AccountError::Unauthorized) => Err(ErrorObject::internal(refused)),
        Err(unknown @ AccountError::Unknown(_)) => {
            Ok((None, Some(ClientNotice { kind: "account", message: unknown.to_string() })))
        }
    }
}

/// Starts sending the session's events to the client; returns the response to its request.
async fn begin_watching(
    connection: &CopilotConnection,
    start: session_watcher::WatcherStart,
) -> Result<Value, ErrorObject> {
    let (session, session_client) = (Arc::clone(&start.session), Arc::clone(&start.session_client));
    let (watcher, ephemeral_events, idle) = SessionWatcher::new(start);
    let mut watching = JoinSet::new();
    watching.spawn(watcher.run(ephemeral_events));
    let connecting = Arc::clone(&session);
    watching.spawn(async move { mcp::connect_own(&connecting).await });
    if let Some(copy) = session.state_copy().filter(|copy| copy.state.provider.is_of(&connection.peer())) {
        let copied = Arc::clone(&session);
        watching.spawn(async move { copy.follow(&copied).await });
    }
    let view: SessionView = session.call(Method::SessionGet, json!({})).await?;
    connection.add_session(ClientSession {
        session: Arc::clone(&session),
        session_client,
        idle_reports: idle,
        _watching: watching,
    });
    let id = session.name_for_clients();
    let lifecycle = json!({ "type": "session.created", "sessionId": id });
    connection.peer().notify("session.lifecycle", lifecycle).await;
    Ok(json!({
        "sessionId": id,
        "startTime": view.created_at.to_string(),
        "isRemote": false,
        "mode": view.mode.to_string(),
        "workspacePath": session.home().session_dir(session.id()),
        "capabilities": {
            "ui": { "elicitation": session.clients.can_show_forms(), "mcpApps": false, "canvases": false },
        },
        "modelState": { "modelId": client_model_name(&view.model) },
    }))
}

/// The error for an invalid session name.
const INVALID_NAME: &str = "`sessionId` is not a session's name: 1 to 256 bytes without control characters";

pub(crate) fn session_not_found(name: &str) -> ErrorObject {
    ErrorObject::internal(format!("Session not found: {name}"))
}

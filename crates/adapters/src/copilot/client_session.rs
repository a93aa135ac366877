//! How a client comes to a session, by making it, resuming it or joining those who watch it.

use std::sync::Arc;

use host::{Ids, TimeIds};
use protocol::SessionId;
use protocol::api::{Method, SessionView};
use rpc::ErrorObject;
use runtime::{Session, SessionStart};
use serde_json::{Value, json};
use store::SessionReader;
use tokio::sync::watch::Receiver;
use tokio::task::JoinSet;

use super::client_tools::PendingToolCalls;
use super::connection::CopilotConnection;
use super::events::EventTranslator;
use super::history;
use super::hosted_session::{ClientNotice, HostedSession};
use super::idle::IdleReport;
use super::session_clients::{SessionClient, SessionClients};
use super::session_names;
use super::session_params::CopilotSessionParams;
use super::session_watcher::{self, SessionWatcher};
use super::unsupported::{ignored_tools, tool_names, unsupported_options};
use crate::managed;

/// A client's stay in one session.
pub(crate) struct ClientSession {
    pub(crate) session: Arc<HostedSession>,
    pub(crate) member: Arc<SessionClient>,
    pub(crate) idle: Receiver<IdleReport>,
    _watching: JoinSet<()>,
}

/// Makes a session for a client.
pub(crate) async fn create(visit: &CopilotConnection, params: &Value) -> Result<Value, ErrorObject> {
    let (id, called) = match params["sessionId"].as_str() {
        Some(named) => {
            (session_names::resolve_session(named).ok_or_else(|| ErrorObject::bad_params(NO_NAME))?, named.to_owned())
        }
        None => {
            let fresh = TimeIds.uuid();
            (SessionId::new(fresh), fresh.to_string())
        }
    };
    let room = visit.server().slot(id);
    let mut place = room.lock().await;
    if place.is_some() {
        return Err(ErrorObject::internal(format!("Session {called} is there already: resume it")));
    }
    let wish = CopilotSessionParams(params);
    let (opened, member, asides) = open(visit, &wish, SessionStart::New, id, &called).await?;
    opened.session.commands.register(params);
    *place = Some(Arc::clone(&opened.session));
    drop(place);
    let start = session_watcher::WatcherStart {
        session: Arc::clone(&opened.session),
        member,
        ephemeral_events: asides,
        translator: EventTranslator::new(id, called),
        tells_resume: true,
    };
    begin_watching(visit, start).await
}

/// Resumes a session for a client, or has it join those who watch it.
pub(crate) async fn resume(visit: &CopilotConnection, params: &Value) -> Result<Value, ErrorObject> {
    let named = params["sessionId"].as_str().unwrap_or_default();
    let id = session_names::resolve_session(named).ok_or_else(|| session_not_found(named))?;
    let home = visit.server().host.home().clone();
    if SessionReader::open(&home, id).is_err() || !visit.server().base_dir.owns(&home, id) {
        return Err(session_not_found(named));
    }
    let managed = CopilotSessionParams(params).managed_policy()?;
    visit.leave_session(id).await;
    let wish = CopilotSessionParams(params);
    let room = visit.server().slot(id);
    let mut place = room.lock().await;
    let there = match &*place {
        Some(held) if held.is_alive().await => Some(Arc::clone(held)),
        Some(_) | None => HostedSession::remote(&home, id).await.map(Arc::new),
    };
    if let Some(held) = there {
        if !managed.is_empty() {
            let why = "the session is under way, and managed settings cannot be applied to it";
            return Err(ErrorObject::internal(managed::refusal(why.into())));
        }
        held.commands.register(params);
        held.add_notices(
            ignored_tools(params, |name| held.has_tool(name))
                .into_iter()
                .chain(unsupported_options(params))
                .map(ClientNotice::unsupported),
        );
        let (member, asides) = SessionClient::new(visit.peer(), wish.capabilities());
        held.clients.add(Arc::clone(&member));
        *place = Some(Arc::clone(&held));
        drop(place);
        let translator = history::translator(&home, id, None).await?;
        let start = session_watcher::WatcherStart {
            session: held,
            member,
            ephemeral_events: asides,
            translator,
            tells_resume: true,
        };
        return begin_watching(visit, start).await;
    }
    let (opened, member, asides) =
        open(visit, &wish, SessionStart::Resume(id), id, &session_names::session_name(&home, id)).await?;
    let held = Arc::clone(&opened.session);
    held.commands.register(params);
    *place = Some(Arc::clone(&held));
    drop(place);
    let translator = history::translator(&home, id, Some(opened.first_seq)).await?;
    let tells_resume = params["disableResume"] != true;
    let start = session_watcher::WatcherStart {
        session: Arc::clone(&held),
        member,
        ephemeral_events: asides,
        translator,
        tells_resume,
    };
    let answer = begin_watching(visit, start).await?;
    match params["continuePendingWork"] == true {
        true => held.resume().await?,
        false => held.defer_unfinished(),
    }
    Ok(answer)
}

/// Copies a session; gives the copy's id.
pub(crate) async fn fork(visit: &CopilotConnection, params: &Value) -> Result<SessionId, ErrorObject> {
    let named = params["sessionId"].as_str().unwrap_or_default();
    let id = session_names::resolve_session(named).ok_or_else(|| session_not_found(named))?;
    if !visit.server().base_dir.owns(visit.server().host.home(), id) {
        return Err(session_not_found(named));
    }
    let order = crate::OpenRequest::new(SessionStart::Fork(id));
    let copy = visit.server().host.open(order).await.map_err(ErrorObject::internal)?;
    let copied = copy.id();
    visit.server().base_dir.record(copy.home(), copied).map_err(ErrorObject::internal)?;
    copy.leave().await.map_err(ErrorObject::internal)?;
    Ok(copied)
}

struct OpenedHostedSession {
    session: Arc<HostedSession>,
    first_seq: u64,
}

type EphemeralEvents = tokio::sync::mpsc::Receiver<super::session_clients::EphemeralEvent>;

/// Opens a session in this process, with the client in its audience from the first moment on.
async fn open(
    visit: &CopilotConnection,
    wish: &CopilotSessionParams<'_>,
    start: SessionStart,
    id: SessionId,
    called: &str,
) -> Result<(OpenedHostedSession, Arc<SessionClient>, EphemeralEvents), ErrorObject> {
    let audience = Arc::<SessionClients>::default();
    let bench = Arc::new(PendingToolCalls::new(Arc::clone(&audience)));
    let (member, asides) = SessionClient::new(visit.peer(), wish.capabilities());
    audience.add(Arc::clone(&member));
    let session_host = &visit.server().host;
    let order = |model| wish.open_request(start, id, called, model, &audience, &bench);
    let (session, warning): (Session, _) = match session_host.open(order(wish.model())?).await {
        Ok(session) => (session, None),
        Err(refusal) if wish.allows_other_model() => {
            let model = wish.model().unwrap_or_default();
            let session = session_host.open(order(None)?).await.map_err(ErrorObject::internal)?;
            {
                let message = format!("{model} cannot be asked, and the usual model is: {refusal}");
                (session, Some(ClientNotice { kind: "model", message }))
            }
        }
        Err(refusal) => return Err(ErrorObject::internal(refusal)),
    };
    session_names::save_name(session.home(), id, called).map_err(ErrorObject::internal)?;
    visit.server().base_dir.record(session.home(), id).map_err(ErrorObject::internal)?;
    let first_seq = session.first_seq();
    let held = Arc::new(HostedSession::local(session, audience, bench).await?);
    held.add_titles(wish.titles());
    let managed = wish.managed_policy()?;
    if managed.forbids_bypass || !managed.ask.is_empty() {
        held.forbid_approving_all();
    }
    held.add_tools(tool_names(wish.0));
    held.add_notices(warning.into_iter().chain(unsupported_options(wish.0).into_iter().map(ClientNotice::unsupported)));
    Ok((OpenedHostedSession { session: held, first_seq }, member, asides))
}

/// Begins to tell the client of the session; gives what it is answered.
async fn begin_watching(visit: &CopilotConnection, start: session_watcher::WatcherStart) -> Result<Value, ErrorObject> {
    let (held, member) = (Arc::clone(&start.session), Arc::clone(&start.member));
    let (watch, asides, rests) = SessionWatcher::new(start);
    let mut watching = JoinSet::new();
    watching.spawn(watch.run(asides));
    let view: SessionView = held.call(Method::SessionGet, json!({})).await?;
    visit.add_session(ClientSession { session: Arc::clone(&held), member, idle: rests, _watching: watching });
    let id = held.called();
    let lifecycle = json!({ "type": "session.created", "sessionId": id });
    visit.peer().notify("session.lifecycle", lifecycle).await;
    Ok(json!({
        "sessionId": id,
        "startTime": view.created_at.to_string(),
        "isRemote": false,
        "mode": view.mode.to_string(),
        "workspacePath": held.home().session_dir(held.id()),
        "capabilities": { "ui": { "elicitation": false, "mcpApps": false, "canvases": false } },
        "modelState": { "modelId": view.model },
    }))
}

/// What is said of a name that is none.
const NO_NAME: &str = "`sessionId` is not a session's name: 1 to 256 bytes without control characters";

pub(crate) fn session_not_found(named: &str) -> ErrorObject {
    ErrorObject::internal(format!("Session not found: {named}"))
}

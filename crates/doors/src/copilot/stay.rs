//! How a client comes to a session, by making it, resuming it or joining those who watch it.

use std::sync::Arc;

use host::{Ids, TimeIds};
use protocol::SessionId;
use protocol::api::{Method, SessionView};
use rpc::ErrorObject;
use runtime::{Session, Start};
use serde_json::{Value, json};
use store::Reader;
use tokio::sync::watch::Receiver;
use tokio::task::JoinSet;

use super::audience::{Audience, Member};
use super::events::Translator;
use super::held::{Held, Notice};
use super::history;
use super::naming;
use super::order::Wish;
use super::rest::Rest;
use super::tools::Workbench;
use super::unmet::{tools, unmet, unmet_tools};
use super::visit::Visit;
use super::watch::{self, Watch};
use crate::managed;

/// A client's stay in one session.
pub(crate) struct Stay {
    pub(crate) held: Arc<Held>,
    pub(crate) member: Arc<Member>,
    pub(crate) rests: Receiver<Rest>,
    _watching: JoinSet<()>,
}

/// Makes a session for a client.
pub(crate) async fn create(visit: &Visit, params: &Value) -> Result<Value, ErrorObject> {
    let (id, called) = match params["sessionId"].as_str() {
        Some(named) => (naming::meant(named).ok_or_else(|| ErrorObject::bad_params(NO_NAME))?, named.to_owned()),
        None => {
            let fresh = TimeIds.uuid();
            (SessionId::new(fresh), fresh.to_string())
        }
    };
    let room = visit.server().room(id);
    let mut place = room.lock().await;
    if place.is_some() {
        return Err(ErrorObject::internal(format!("Session {called} is there already: resume it")));
    }
    let wish = Wish(params);
    let (opened, member, asides) = open(visit, &wish, Start::New, id, &called).await?;
    opened.held.commands.learn(params);
    *place = Some(Arc::clone(&opened.held));
    drop(place);
    let start = watch::Start {
        held: Arc::clone(&opened.held),
        member,
        asides,
        translator: Translator::new(id, called),
        tells_resume: true,
    };
    settle(visit, start).await
}

/// Resumes a session for a client, or has it join those who watch it.
pub(crate) async fn resume(visit: &Visit, params: &Value) -> Result<Value, ErrorObject> {
    let named = params["sessionId"].as_str().unwrap_or_default();
    let id = naming::meant(named).ok_or_else(|| unknown(named))?;
    let home = visit.server().house.home().clone();
    if Reader::open(&home, id).is_err() || !visit.server().base.has(&home, id) {
        return Err(unknown(named));
    }
    let managed = Wish(params).managed()?;
    visit.part(id).await;
    let wish = Wish(params);
    let room = visit.server().room(id);
    let mut place = room.lock().await;
    let there = match &*place {
        Some(held) if held.is_alive().await => Some(Arc::clone(held)),
        Some(_) | None => Held::there(&home, id).await.map(Arc::new),
    };
    if let Some(held) = there {
        if !managed.is_empty() {
            let why = "the session is under way, and managed settings cannot be applied to it";
            return Err(ErrorObject::internal(managed::refusal(why.into())));
        }
        held.commands.learn(params);
        held.note(unmet_tools(params, |name| held.has_tool(name)).into_iter().chain(unmet(params)).map(Notice::unmet));
        let (member, asides) = Member::new(visit.peer(), wish.abilities());
        held.audience.join(Arc::clone(&member));
        *place = Some(Arc::clone(&held));
        drop(place);
        let translator = history::translator(&home, id, None).await?;
        let start = watch::Start { held, member, asides, translator, tells_resume: true };
        return settle(visit, start).await;
    }
    let (opened, member, asides) = open(visit, &wish, Start::Resume(id), id, &naming::called(&home, id)).await?;
    let held = Arc::clone(&opened.held);
    held.commands.learn(params);
    *place = Some(Arc::clone(&held));
    drop(place);
    let translator = history::translator(&home, id, Some(opened.first_seq)).await?;
    let tells_resume = params["disableResume"] != true;
    let start = watch::Start { held: Arc::clone(&held), member, asides, translator, tells_resume };
    let answer = settle(visit, start).await?;
    match params["continuePendingWork"] == true {
        true => held.go_on().await?,
        false => held.leave_undone(),
    }
    Ok(answer)
}

/// Copies a session; gives the copy's id.
pub(crate) async fn fork(visit: &Visit, params: &Value) -> Result<SessionId, ErrorObject> {
    let named = params["sessionId"].as_str().unwrap_or_default();
    let id = naming::meant(named).ok_or_else(|| unknown(named))?;
    if !visit.server().base.has(visit.server().house.home(), id) {
        return Err(unknown(named));
    }
    let order = crate::Order::new(Start::Fork(id));
    let copy = visit.server().house.open(order).await.map_err(ErrorObject::internal)?;
    let copied = copy.id();
    visit.server().base.keep(copy.home(), copied).map_err(ErrorObject::internal)?;
    copy.leave().await.map_err(ErrorObject::internal)?;
    Ok(copied)
}

struct Opened {
    held: Arc<Held>,
    first_seq: u64,
}

type Asides = tokio::sync::mpsc::Receiver<super::audience::Aside>;

/// Opens a session in this process, with the client in its audience from the first moment on.
async fn open(
    visit: &Visit,
    wish: &Wish<'_>,
    start: Start,
    id: SessionId,
    called: &str,
) -> Result<(Opened, Arc<Member>, Asides), ErrorObject> {
    let audience = Arc::<Audience>::default();
    let bench = Arc::new(Workbench::new(Arc::clone(&audience)));
    let (member, asides) = Member::new(visit.peer(), wish.abilities());
    audience.join(Arc::clone(&member));
    let house = &visit.server().house;
    let order = |model| wish.order(start, id, called, model, &audience, &bench);
    let (session, warning): (Session, _) = match house.open(order(wish.model())?).await {
        Ok(session) => (session, None),
        Err(refusal) if wish.may_differ() => {
            let model = wish.model().unwrap_or_default();
            let session = house.open(order(None)?).await.map_err(ErrorObject::internal)?;
            {
                let message = format!("{model} cannot be asked, and the usual model is: {refusal}");
                (session, Some(Notice { about: "model", message }))
            }
        }
        Err(refusal) => return Err(ErrorObject::internal(refusal)),
    };
    naming::keep(session.home(), id, called).map_err(ErrorObject::internal)?;
    visit.server().base.keep(session.home(), id).map_err(ErrorObject::internal)?;
    let first_seq = session.first_seq();
    let held = Arc::new(Held::here(session, audience, bench).await?);
    held.entitle(wish.titles());
    let managed = wish.managed()?;
    if managed.forbids_bypass || !managed.ask.is_empty() {
        held.forbid_approving_all();
    }
    held.equip(tools(wish.0));
    held.note(warning.into_iter().chain(unmet(wish.0).into_iter().map(Notice::unmet)));
    Ok((Opened { held, first_seq }, member, asides))
}

/// Begins to tell the client of the session; gives what it is answered.
async fn settle(visit: &Visit, start: watch::Start) -> Result<Value, ErrorObject> {
    let (held, member) = (Arc::clone(&start.held), Arc::clone(&start.member));
    let (watch, asides, rests) = Watch::new(start);
    let mut watching = JoinSet::new();
    watching.spawn(watch.run(asides));
    let view: SessionView = held.call(Method::SessionGet, json!({})).await?;
    visit.stay(Stay { held: Arc::clone(&held), member, rests, _watching: watching });
    let id = held.called();
    let lifecycle = json!({ "type": "session.created", "sessionId": id });
    visit.peer().tell("session.lifecycle", lifecycle).await;
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
const NO_NAME: &str = "`sessionId` is no session's name: 1 to 256 bytes without control characters";

pub(crate) fn unknown(named: &str) -> ErrorObject {
    ErrorObject::internal(format!("Session not found: {named}"))
}

//! From a request to its answer.

use std::sync::Arc;

use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderName, LOCATION};
use hyper::{Request, StatusCode, Uri};
use protocol::api::{Method, SessionView};
use protocol::{SessionId, TaskId};
use runtime::Start;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::body::{self, Reply};
use super::events::{self, Watch};
use super::gate::Gate;
use super::hall::Hall;
use super::openapi::openapi;
use super::problem::Problem;
use super::reach::{self, Reach};
use super::relay::{Relay, Relays};
use super::route::{Act, Gives, Named, Route, Takes};
use super::routes::ROUTES;
use super::strangers::Place;
use super::words::{Greeting, Since};
use super::{Limits, begin, shelf};

/// Where a client says how far it got.
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// What answers requests.
pub(super) struct Door {
    pub(super) gate: Gate,
    pub(super) hall: Arc<Hall>,
    pub(super) limits: Limits,
    pub(super) streams: Arc<Semaphore>,
    pub(super) relays: Relays,
    pub(super) closing: CancellationToken,
}

impl Door {
    /// Answers one request.
    pub(super) async fn answer(&self, request: Request<Incoming>, place: &Place) -> Reply {
        let mut reply = self.perform(request, place).await.unwrap_or_else(Problem::reply);
        let headers = reply.headers_mut();
        for (name, value) in [
            ("cache-control", "no-store"),
            ("x-content-type-options", "nosniff"),
            ("cross-origin-resource-policy", "same-origin"),
        ] {
            headers.insert(HeaderName::from_static(name), hyper::header::HeaderValue::from_static(value));
        }
        reply
    }

    async fn perform(&self, request: Request<Incoming>, place: &Place) -> Result<Reply, Problem> {
        self.gate.check(&request)?;
        if !place.admit() {
            let detail = format!("{} connections are open already, and that is the limit", self.limits.connections);
            return Err(Problem::new(StatusCode::TOO_MANY_REQUESTS, detail).remedy("close one"));
        }
        let (head, body) = request.into_parts();
        let (route, named) = find(&head.method, &head.uri)?;
        let given = match &route.takes {
            Takes::Nothing => json!({}),
            Takes::Query(shape) => {
                (shape.read)(head.uri.query().unwrap_or_default().as_bytes()).map_err(Problem::bad)?
            }
            Takes::Body(shape) => {
                let bytes = body::read(body, &self.limits).await?;
                if !bytes.is_empty() && !is_json(&head.headers) {
                    let detail = "the body is not `application/json`";
                    return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail));
                }
                (shape.read)(&bytes).map_err(Problem::bad)?
            }
        };
        self.act(route, &named, given, &head.headers).await
    }

    async fn act(&self, route: &Route, named: &Named, given: Value, headers: &HeaderMap) -> Result<Reply, Problem> {
        match route.act {
            Act::Greet => {
                let sessions = u64::try_from(self.hall.count()).unwrap_or(u64::MAX);
                body::json(StatusCode::OK, &Greeting { version: env!("CARGO_PKG_VERSION").into(), sessions })
            }
            Act::Describe => body::json(StatusCode::OK, openapi()),
            Act::List => {
                let (home, wanted) = (self.hall.home().clone(), read(given)?);
                let listed = tokio::task::spawn_blocking(move || shelf::list(&home, &wanted)).await;
                body::json(StatusCode::OK, &listed.map_err(Problem::broken)??)
            }
            Act::Begin => self.begin(Start::New, given).await,
            Act::Resume => {
                let view = begin::begin(&self.hall, Start::Resume(session(named)?), read(given)?, &self.limits).await?;
                body::json(StatusCode::OK, &view)
            }
            Act::Fork => self.begin(Start::Fork(session(named)?), given).await,
            Act::Stop => {
                let id = session(named)?;
                self.call(id, Method::SessionStop, json!({})).await?;
                self.hall.retire(id).await;
                Ok(body::nothing())
            }
            Act::Remove => {
                let (home, id) = (self.hall.home().clone(), session(named)?);
                self.hall.leave(id).await;
                let removed = tokio::task::spawn_blocking(move || shelf::remove(&home, id)).await;
                removed.map_err(Problem::broken)??;
                Ok(body::nothing())
            }
            Act::Watch => self.watch(session(named)?, given, headers).await,
            Act::Call(method) => {
                let id = session(named)?;
                let answer = self.call(id, method, with_names(given, named)?).await?;
                match route.gives {
                    Gives::Json(status, _) => body::json(status, &answer),
                    Gives::Nothing | Gives::Events => Ok(body::nothing()),
                }
            }
        }
    }

    async fn begin(&self, start: Start, given: Value) -> Result<Reply, Problem> {
        let view: SessionView = begin::begin(&self.hall, start, read(given)?, &self.limits).await?;
        let mut reply = body::json(StatusCode::CREATED, &view)?;
        let place = format!("/v1/sessions/{}", view.id).try_into().map_err(Problem::broken)?;
        reply.headers_mut().insert(LOCATION, place);
        Ok(reply)
    }

    async fn call(&self, id: SessionId, method: Method, params: Value) -> Result<Value, Problem> {
        self.hall.call(id, method, params, self.limits.answer_time).await
    }

    async fn watch(&self, session: SessionId, given: Value, headers: &HeaderMap) -> Result<Reply, Problem> {
        let Since { after } = read(given)?;
        let seen = match headers.get(LAST_EVENT) {
            Some(last) => last_event(last.to_str().unwrap_or_default())?,
            None => after,
        };
        let place = Arc::clone(&self.streams).try_acquire_owned().map_err(|_full| {
            let detail = format!("{} streams are open already, and that is the limit", self.limits.streams);
            Problem::new(StatusCode::TOO_MANY_REQUESTS, detail).remedy("close one")
        })?;
        let relay = self.relay(session).await?;
        let watch = Watch {
            home: self.hall.home().clone(),
            session,
            seen,
            keep_alive: self.limits.keep_alive,
            closing: self.closing.clone(),
            _place: place,
        };
        Ok(body::stream(events::stream(watch, relay)))
    }

    /// What tells all watchers of a session what happens, while somebody runs it.
    async fn relay(&self, session: SessionId) -> Result<Option<Arc<Relay>>, Problem> {
        if let Some(relay) = self.relays.find(session) {
            return Ok(Some(relay));
        }
        let (client, notifications) = match self.hall.reach_to_watch(session).await? {
            Reach::Live(link) => link,
            Reach::Resting(_reader) => return Ok(None),
        };
        let view = reach::call(&client, Method::SessionGet, json!({}), self.limits.answer_time).await?;
        let SessionView { events, .. } = read(view)?;
        let relay = Arc::new(Relay::new(client, notifications, events));
        self.relays.keep(session, &relay);
        Ok(Some(relay))
    }
}

/// The route of a request.
fn find(verb: &hyper::Method, uri: &Uri) -> Result<(&'static Route, Named), Problem> {
    let matching = ROUTES.iter().filter_map(|route| Some((route, route.matches(uri.path())?)));
    let mut others = Vec::new();
    for (route, named) in matching {
        if route.verb == *verb {
            return Ok((route, named));
        }
        others.push(route.verb.as_str());
    }
    if others.is_empty() {
        return Err(Problem::absent(format!("there is nothing at {}", uri.path()))
            .remedy("GET /v1/openapi.json describes what there is"));
    }
    let detail = format!("{verb} cannot be asked of {}", uri.path());
    Err(Problem::new(StatusCode::METHOD_NOT_ALLOWED, detail).allow(others.join(", ")))
}

fn is_json(headers: &HeaderMap) -> bool {
    let named = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    named.split(';').next().is_some_and(|name| name.trim().eq_ignore_ascii_case("application/json"))
}

fn last_event(text: &str) -> Result<u64, Problem> {
    let is_number = (1..=15).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = is_number.then(|| text.parse().ok()).flatten();
    number.ok_or_else(|| Problem::bad("Last-Event-ID is not the id of an event"))
}

fn read<T: DeserializeOwned>(given: Value) -> Result<T, Problem> {
    serde_json::from_value(given).map_err(|error| Problem::bad(error.to_string()))
}

/// The session that a path names.
fn session(named: &Named) -> Result<SessionId, Problem> {
    let text = named.iter().find(|(name, _)| *name == "session").map(|(_, text)| text.as_str()).unwrap_or_default();
    crate::session_id(text)
        .ok_or_else(|| Problem::absent("there is no such session").remedy("GET /v1/sessions lists those there are"))
}

/// What a request says, together with what its path names.
fn with_names(mut given: Value, named: &Named) -> Result<Value, Problem> {
    for (name, text) in named {
        let key = match *name {
            "session" => continue,
            "task" if text.parse::<TaskId>().is_err() => return Err(Problem::absent("there is no such task")),
            "todo" => "id",
            name => name,
        };
        given[key] = text.as_str().into();
    }
    Ok(given)
}

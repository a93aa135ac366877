//! From a request to its answer.

use std::sync::Arc;

use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderName, LOCATION};
use hyper::{Request, StatusCode, Uri};
use protocol::api::{Method, SessionView};
use protocol::{SessionId, TaskId};
use runtime::SessionStart;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::access_guard::AccessGuard;
use super::body::{self, ApiResponse};
use super::connection_slots::ConnectionSlot;
use super::events::{self, EventStreamRequest};
use super::openapi::openapi;
use super::payloads::{EventsQuery, ServerInfo};
use super::problem::HttpProblem;
use super::relay::{EventRelay, EventRelays};
use super::route::{PathParams, Route, RouteAction, RouteInput, RouteOutput};
use super::routes::ROUTES;
use super::running_sessions::RunningSessions;
use super::session_access::{self, SessionAccess};
use super::{HttpLimits, session_list, session_start};

/// Where a client says how far it got.
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// What answers requests.
pub(super) struct HttpAdapter {
    pub(super) guard: AccessGuard,
    pub(super) sessions: Arc<RunningSessions>,
    pub(super) limits: HttpLimits,
    pub(super) streams: Arc<Semaphore>,
    pub(super) relays: EventRelays,
    pub(super) closing: CancellationToken,
}

impl HttpAdapter {
    /// Answers one request.
    pub(super) async fn answer(&self, request: Request<Incoming>, place: &ConnectionSlot) -> ApiResponse {
        let mut reply = self.handle(request, place).await.unwrap_or_else(HttpProblem::into_response);
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

    async fn handle(&self, request: Request<Incoming>, place: &ConnectionSlot) -> Result<ApiResponse, HttpProblem> {
        self.guard.check(&request)?;
        if !place.admit() {
            let detail = format!("{} connections are open already, and that is the limit", self.limits.connections);
            return Err(HttpProblem::new(StatusCode::TOO_MANY_REQUESTS, detail).remedy("close one"));
        }
        let (head, body) = request.into_parts();
        let (route, named) = find_route(&head.method, &head.uri)?;
        let given = match &route.takes {
            RouteInput::Nothing => json!({}),
            RouteInput::Query(shape) => {
                (shape.read)(head.uri.query().unwrap_or_default().as_bytes()).map_err(HttpProblem::bad_request)?
            }
            RouteInput::Body(shape) => {
                let bytes = body::read(body, &self.limits).await?;
                if !bytes.is_empty() && !is_json(&head.headers) {
                    let detail = "the body is not `application/json`";
                    return Err(HttpProblem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail));
                }
                (shape.read)(&bytes).map_err(HttpProblem::bad_request)?
            }
        };
        self.dispatch(route, &named, given, &head.headers).await
    }

    async fn dispatch(
        &self,
        route: &Route,
        named: &PathParams,
        given: Value,
        headers: &HeaderMap,
    ) -> Result<ApiResponse, HttpProblem> {
        match route.act {
            RouteAction::ServerInfo => {
                let sessions = u64::try_from(self.sessions.count()).unwrap_or(u64::MAX);
                body::json(StatusCode::OK, &ServerInfo { version: env!("CARGO_PKG_VERSION").into(), sessions })
            }
            RouteAction::Describe => body::json(StatusCode::OK, openapi()),
            RouteAction::List => {
                let (home, wanted) = (self.sessions.home().clone(), read(given)?);
                let listed = tokio::task::spawn_blocking(move || session_list::list(&home, &wanted)).await;
                body::json(StatusCode::OK, &listed.map_err(HttpProblem::internal)??)
            }
            RouteAction::Create => self.start_session(SessionStart::New, given).await,
            RouteAction::Resume => {
                let view = session_start::start_session(
                    &self.sessions,
                    SessionStart::Resume(session_param(named)?),
                    read(given)?,
                    &self.limits,
                )
                .await?;
                body::json(StatusCode::OK, &view)
            }
            RouteAction::Fork => self.start_session(SessionStart::Fork(session_param(named)?), given).await,
            RouteAction::Stop => {
                let id = session_param(named)?;
                self.call(id, Method::SessionStop, json!({})).await?;
                self.sessions.retire(id).await;
                Ok(body::no_content())
            }
            RouteAction::Remove => {
                let (home, id) = (self.sessions.home().clone(), session_param(named)?);
                self.sessions.leave(id).await;
                let removed = tokio::task::spawn_blocking(move || session_list::remove(&home, id)).await;
                removed.map_err(HttpProblem::internal)??;
                Ok(body::no_content())
            }
            RouteAction::Watch => self.watch(session_param(named)?, given, headers).await,
            RouteAction::Call(method) => {
                let id = session_param(named)?;
                let answer = self.call(id, method, with_path_params(given, named)?).await?;
                match route.gives {
                    RouteOutput::Json(status, _) => body::json(status, &answer),
                    RouteOutput::Nothing | RouteOutput::Events => Ok(body::no_content()),
                }
            }
        }
    }

    async fn start_session(&self, start: SessionStart, given: Value) -> Result<ApiResponse, HttpProblem> {
        let view: SessionView = session_start::start_session(&self.sessions, start, read(given)?, &self.limits).await?;
        let mut reply = body::json(StatusCode::CREATED, &view)?;
        let place = format!("/v1/sessions/{}", view.id).try_into().map_err(HttpProblem::internal)?;
        reply.headers_mut().insert(LOCATION, place);
        Ok(reply)
    }

    async fn call(&self, id: SessionId, method: Method, params: Value) -> Result<Value, HttpProblem> {
        self.sessions.call(id, method, params, self.limits.answer_time).await
    }

    async fn watch(&self, session: SessionId, given: Value, headers: &HeaderMap) -> Result<ApiResponse, HttpProblem> {
        let EventsQuery { after } = read(given)?;
        let seen = match headers.get(LAST_EVENT) {
            Some(last) => last_event(last.to_str().unwrap_or_default())?,
            None => after,
        };
        let place = Arc::clone(&self.streams).try_acquire_owned().map_err(|_full| {
            let detail = format!("{} streams are open already, and that is the limit", self.limits.streams);
            HttpProblem::new(StatusCode::TOO_MANY_REQUESTS, detail).remedy("close one")
        })?;
        let relay = self.relay(session).await?;
        let watch = EventStreamRequest {
            home: self.sessions.home().clone(),
            session,
            last_seen: seen,
            keep_alive: self.limits.keep_alive,
            closing: self.closing.clone(),
            _place: place,
        };
        Ok(body::stream(events::stream(watch, relay)))
    }

    /// What tells all watchers of a session what happens, while somebody runs it.
    async fn relay(&self, session: SessionId) -> Result<Option<Arc<EventRelay>>, HttpProblem> {
        if let Some(relay) = self.relays.find(session) {
            return Ok(Some(relay));
        }
        let (client, notifications) = match self.sessions.reach_to_watch(session).await? {
            SessionAccess::Live(link) => link,
            SessionAccess::Stored(_reader) => return Ok(None),
        };
        let view = session_access::call(&client, Method::SessionGet, json!({}), self.limits.answer_time).await?;
        let SessionView { events, .. } = read(view)?;
        let relay = Arc::new(EventRelay::new(client, notifications, events));
        self.relays.insert(session, &relay);
        Ok(Some(relay))
    }
}

/// The route of a request.
fn find_route(verb: &hyper::Method, uri: &Uri) -> Result<(&'static Route, PathParams), HttpProblem> {
    let matching = ROUTES.iter().filter_map(|route| Some((route, route.matches(uri.path())?)));
    let mut others = Vec::new();
    for (route, named) in matching {
        if route.verb == *verb {
            return Ok((route, named));
        }
        others.push(route.verb.as_str());
    }
    if others.is_empty() {
        return Err(HttpProblem::not_found(format!("there is nothing at {}", uri.path()))
            .remedy("GET /v1/openapi.json describes what there is"));
    }
    let detail = format!("{verb} cannot be asked of {}", uri.path());
    Err(HttpProblem::new(StatusCode::METHOD_NOT_ALLOWED, detail).allow(others.join(", ")))
}

fn is_json(headers: &HeaderMap) -> bool {
    let named = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    named.split(';').next().is_some_and(|name| name.trim().eq_ignore_ascii_case("application/json"))
}

fn last_event(text: &str) -> Result<u64, HttpProblem> {
    let is_number = (1..=15).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = is_number.then(|| text.parse().ok()).flatten();
    number.ok_or_else(|| HttpProblem::bad_request("Last-Event-ID is not the id of an event"))
}

fn read<T: DeserializeOwned>(given: Value) -> Result<T, HttpProblem> {
    serde_json::from_value(given).map_err(|error| HttpProblem::bad_request(error.to_string()))
}

/// The session that a path names.
fn session_param(named: &PathParams) -> Result<SessionId, HttpProblem> {
    let text = named.iter().find(|(name, _)| *name == "session").map(|(_, text)| text.as_str()).unwrap_or_default();
    crate::session_id(text).ok_or_else(|| {
        HttpProblem::not_found("there is no such session").remedy("GET /v1/sessions lists those there are")
    })
}

/// What a request says, together with what its path names.
fn with_path_params(mut given: Value, named: &PathParams) -> Result<Value, HttpProblem> {
    for (name, text) in named {
        let key = match *name {
            "session" => continue,
            "task" if text.parse::<TaskId>().is_err() => return Err(HttpProblem::not_found("there is no such task")),
            "todo" => "id",
            name => name,
        };
        given[key] = text.as_str().into();
    }
    Ok(given)
}

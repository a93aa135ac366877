//! Handles a request and produces its response.

use std::sync::Arc;

use hyper::body::Incoming;
use hyper::header::{HeaderMap, HeaderName, LOCATION};
use hyper::{Request, StatusCode, Uri};
use protocol::api::{AnswerSource, Method, MethodScope, SessionView};
use protocol::{ItemId, ListAddress, SessionId, TaskId};
use runtime::SessionStart;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use server::{KeepMode, SessionHost};

use super::body::{self, ApiResponse};
use super::events::{self, EventStreamRequest};
use super::openapi::OPENAPI;
use super::payloads::{EventsQuery, ServerInfo};
use super::problem::{HttpProblem, from_refusal};
use super::relay::{EventRelay, EventRelays};
use super::route::{PathParams, Route, RouteAction, RouteInput, RouteOutput};
use super::routes::ROUTES;
use super::server_context::{HttpResponder, HttpServerContext};
use super::{session_access, session_start};

/// The header with the last event that the client received.
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// Answers requests.
pub(super) struct HttpAdapter {
    pub(super) context: HttpServerContext,
    pub(super) sessions: Arc<SessionHost>,
    pub(super) relays: EventRelays,
}

impl HttpResponder for HttpAdapter {
    fn context(&self) -> &HttpServerContext {
        &self.context
    }

    async fn handle(&self, request: Request<Incoming>) -> Result<ApiResponse, HttpProblem> {
        let (parts, body) = request.into_parts();
        let (route, path_params) = find_route(&parts.method, &parts.uri)?;
        let input = match &route.takes {
            RouteInput::Nothing => json!({}),
            RouteInput::Query(read) => {
                read(parts.uri.query().unwrap_or_default().as_bytes()).map_err(HttpProblem::bad_request)?
            }
            RouteInput::Body(read) => {
                let bytes = body::read_body(body, &self.context.limits).await?;
                if !bytes.is_empty() && !body::is_json(&parts.headers) {
                    let detail = "the body is not `application/json`";
                    return Err(HttpProblem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail));
                }
                read(&bytes).map_err(HttpProblem::bad_request)?
            }
        };
        self.dispatch(route, &path_params, input, &parts.headers).await
    }
}

impl HttpAdapter {
    async fn dispatch(
        &self,
        route: &Route,
        path_params: &PathParams,
        input: Value,
        headers: &HeaderMap,
    ) -> Result<ApiResponse, HttpProblem> {
        match route.act {
            RouteAction::ServerInfo => {
                let sessions = u64::try_from(self.sessions.count()).unwrap_or(u64::MAX);
                body::json_response(StatusCode::OK, &ServerInfo { version: env!("CARGO_PKG_VERSION").into(), sessions })
            }
            RouteAction::OpenApiDocument => Ok(body::json_text(OPENAPI)),
            RouteAction::Create => self.start_session(SessionStart::New, input).await,
            RouteAction::BeginFleet => {
                let begun = self.sessions.begin_fleet(parse_input(input)?, KeepMode::UntilClosed).await;
                created_session(&begun?)
            }
            RouteAction::Resume => {
                let view = session_start::start_session(
                    &self.sessions,
                    SessionStart::Resume(session_param(path_params)?),
                    parse_input(input)?,
                    &self.context.limits,
                )
                .await?;
                body::json_response(StatusCode::OK, &view)
            }
            RouteAction::Fork => self.start_session(SessionStart::Fork(session_param(path_params)?), input).await,
            RouteAction::Stop => {
                let id = session_param(path_params)?;
                self.call(id, Method::SessionStop, json!({})).await?;
                if let Some(held) = self.sessions.find(id) {
                    held.keep(KeepMode::UntilQuiet).await;
                }
                Ok(body::no_content())
            }
            RouteAction::Remove => {
                let (home, id) = (self.sessions.home().clone(), session_param(path_params)?);
                if let Some(held) = self.sessions.find(id) {
                    // A session that cannot be closed cleanly is not removed below, which says why.
                    held.close().await.ok();
                }
                client::call_home(&home, Method::SessionsRemove, json!({ "session": id })).await?;
                Ok(body::no_content())
            }
            RouteAction::Watch => self.watch(session_param(path_params)?, input, headers).await,
            RouteAction::Call(method) => {
                let answer = self.call_method(method, path_params, input).await?;
                match route.gives {
                    RouteOutput::Json(status) => body::json_response(status, &answer),
                    RouteOutput::Nothing | RouteOutput::Events => Ok(body::no_content()),
                }
            }
        }
    }

    async fn start_session(&self, start: SessionStart, input: Value) -> Result<ApiResponse, HttpProblem> {
        let view: SessionView =
            session_start::start_session(&self.sessions, start, parse_input(input)?, &self.context.limits).await?;
        created_session(&view)
    }

    async fn call_method(&self, method: Method, path_params: &PathParams, input: Value) -> Result<Value, HttpProblem> {
        let mut params = with_path_params(input, path_params)?;
        match method.scope() {
            MethodScope::Home => {
                if path_params.iter().any(|(name, _)| *name == "session") {
                    params["session"] = session_param(path_params)?.to_string().into();
                }
                match method.source() {
                    AnswerSource::Settings => {
                        Ok(self.sessions.opener().answer(method, params).await.map_err(from_refusal)?)
                    }
                    AnswerSource::Home
                    | AnswerSource::Host
                    | AnswerSource::File
                    | AnswerSource::Owner
                    | AnswerSource::OwnerFirst
                    | AnswerSource::Command => Ok(client::call_home(self.sessions.home(), method, params).await?),
                }
            }
            MethodScope::Session => {
                if method.source() == AnswerSource::OwnerFirst {
                    self.limit_wait(&mut params);
                }
                self.call(session_param(path_params)?, method, params).await
            }
        }
    }

    /// Limits how long a client waits: its connection counts against the limit of open ones.
    fn limit_wait(&self, params: &mut Value) {
        let longest = u64::try_from(self.context.limits.answer_time.as_millis()).unwrap_or(u64::MAX);
        let wanted = params["timeoutMs"].as_u64().unwrap_or(u64::MAX);
        params["timeoutMs"] = wanted.min(longest).into();
    }

    async fn call(&self, id: SessionId, method: Method, params: Value) -> Result<Value, HttpProblem> {
        self.sessions.adopted(id).await;
        Ok(self.sessions.handle(id).call_value(method, params, self.context.limits.answer_time).await?)
    }

    async fn watch(&self, session: SessionId, input: Value, headers: &HeaderMap) -> Result<ApiResponse, HttpProblem> {
        let EventsQuery { after } = parse_input(input)?;
        let last_seen = match headers.get(LAST_EVENT) {
            Some(last) => parse_last_event(last.to_str().unwrap_or_default())?,
            None => after,
        };
        let permit = self.context.stream_permit()?;
        self.sessions.adopted(session).await;
        let relay = self.relay(session).await?;
        let request = EventStreamRequest {
            home: self.sessions.home().clone(),
            session,
            last_seen,
            keep_alive: self.context.limits.keep_alive,
            closing: self.context.closing.clone(),
            _permit: permit,
        };
        Ok(body::event_stream(events::stream(request, relay)))
    }

    /// The relay that sends a running session's events to all its watchers; none if no process runs it.
    async fn relay(&self, session: SessionId) -> Result<Option<Arc<EventRelay>>, HttpProblem> {
        if let Some(relay) = self.relays.find(session) {
            return Ok(Some(relay));
        }
        let Some(((client, notifications), events)) =
            session_access::connect_for_events(&self.sessions, session).await?
        else {
            return Ok(None);
        };
        let relay = Arc::new(EventRelay::new(client, notifications, events));
        self.relays.insert(session, &relay);
        Ok(Some(relay))
    }
}

/// The response with a new session.
fn created_session(view: &SessionView) -> Result<ApiResponse, HttpProblem> {
    let mut reply = body::json_response(StatusCode::CREATED, view)?;
    let location = format!("/v1/sessions/{}", view.id).try_into().map_err(HttpProblem::internal)?;
    reply.headers_mut().insert(LOCATION, location);
    Ok(reply)
}

/// The route of a request.
fn find_route(verb: &hyper::Method, uri: &Uri) -> Result<(&'static Route, PathParams), HttpProblem> {
    let matching = ROUTES.iter().filter_map(|route| Some((route, route.matches(uri.path())?)));
    let mut allowed = Vec::new();
    for (route, path_params) in matching {
        if route.verb == *verb {
            return Ok((route, path_params));
        }
        allowed.push(route.verb.as_str());
    }
    if allowed.is_empty() {
        return Err(HttpProblem::not_found(format!("there is nothing at {}", uri.path()))
            .remedy("GET /v1/openapi.json describes the API"));
    }
    let detail = format!("{verb} is not allowed for {}", uri.path());
    Err(HttpProblem::new(StatusCode::METHOD_NOT_ALLOWED, detail).allow(allowed.join(", ")))
}

fn parse_last_event(text: &str) -> Result<u64, HttpProblem> {
    let is_number = (1..=15).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = is_number.then(|| text.parse().ok()).flatten();
    number.ok_or_else(|| HttpProblem::bad_request("Last-Event-ID is not an event id"))
}

fn parse_input<T: DeserializeOwned>(input: Value) -> Result<T, HttpProblem> {
    serde_json::from_value(input).map_err(|error| HttpProblem::bad_request(error.to_string()))
}

/// The session that a path names.
fn session_param(params: &PathParams) -> Result<SessionId, HttpProblem> {
    let text = params.iter().find(|(name, _)| *name == "session").map(|(_, text)| text.as_str()).unwrap_or_default();
    crate::session_id(text)
        .ok_or_else(|| HttpProblem::not_found("there is no such session").remedy("GET /v1/sessions lists all sessions"))
}

/// Adds the path parameters to a request's input.
fn with_path_params(mut input: Value, path_params: &PathParams) -> Result<Value, HttpProblem> {
    for (name, text) in path_params {
        let key = match *name {
            "session" => continue,
            "task" if text.parse::<TaskId>().is_err() => return Err(HttpProblem::not_found("there is no such task")),
            "item" if text.parse::<ItemId>().is_err() => return Err(HttpProblem::not_found("there is no such item")),
            "list" => {
                text.parse::<ListAddress>().map_err(|error| HttpProblem::not_found(error.to_string()))?;
                "list"
            }
            "todo" => "id",
            name => name,
        };
        input[key] = text.as_str().into();
    }
    Ok(input)
}

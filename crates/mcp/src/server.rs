//! The connection to one server: negotiate the revision, list its tools, call them.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use protocol::api::McpServerIdentity;
use protocol::{CallId, McpProgress, McpRemoteTask, mcp_tool_name};
use serde_json::{Map, Value, json};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tools::{RequestMeta, Tool};

use crate::content::{self, ToolCallResult};
use crate::elicitation::McpElicitor;
use crate::link::{ServerLink, ServerRequest};
use crate::remote_task::{REQUESTED_TTL_MS, read_created};
use crate::revision::{PROTOCOL_VERSION, STATELESS_VERSION, ServerCapabilities, client_capabilities, client_info};
use crate::tool::McpTool;
use crate::{
    McpError, McpNegotiation, McpOptions, McpRevision, McpTaskSupport, McpTimeouts, McpToolDescription, McpTransport,
};

/// How long a server may take to answer before it is also asked in the older form: it may ignore unknown methods.
const DISCOVER_WAIT: Duration = Duration::from_secs(5);

/// How long a server may take to open the stream of its own messages before the first request.
const STREAM_WAIT: Duration = Duration::from_secs(1);

/// The code of a server that does not speak the revision of a request.
const UNSUPPORTED_VERSION: i64 = -32022;

/// How often a server may ask for input before it answers a call.
const MAX_INPUT_ROUNDS: usize = 10;

/// How long a subscription to changes is kept before it is renewed.
const SUBSCRIPTION_TIME: Duration = Duration::from_secs(24 * 60 * 60);

/// How long after a lost subscription a new one is made.
const RESUBSCRIBE_DELAY: Duration = Duration::from_secs(30);

/// A server that can be asked for its tools.
#[derive(Debug)]
pub struct McpServer {
    link: Arc<ServerLink>,
    capabilities: ServerCapabilities,
    /// Handles the server's own messages, and keeps a subscription to them.
    _tasks: JoinSet<()>,
}

/// The tools of a server.
#[derive(Debug)]
pub struct McpToolList {
    /// Its tools, each under a unique name.
    pub tools: Vec<Arc<dyn Tool>>,
    /// Why some of its tools cannot be used.
    pub rejected: Vec<String>,
}

/// The descriptions of a server's tools.
#[derive(Debug, Default)]
pub(crate) struct DescriptionList {
    pub(crate) descriptions: Vec<McpToolDescription>,
    /// Why some of its tools cannot be used.
    pub(crate) rejected: Vec<String>,
}

/// How a call is made.
#[derive(Debug, Clone, Default)]
pub(crate) struct CallOptions {
    /// Who answers the questions that the server asks meanwhile.
    pub(crate) elicitor: Option<Arc<dyn McpElicitor>>,
    /// Gets the progress that the server reports.
    pub(crate) progress: watch::Sender<Option<McpProgress>>,
    /// What the server gets besides the arguments.
    pub(crate) meta: RequestMeta,
}

/// How a server answered a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CallReply {
    /// With its result.
    Result(ToolCallResult),
    /// It does the call as a task of its own.
    Task(McpRemoteTask),
}

impl McpServer {
    /// Negotiates a revision with a server.
    pub async fn connect(
        name: &str,
        transport: Arc<dyn McpTransport>,
        options: McpOptions,
    ) -> Result<Arc<McpServer>, McpError> {
        let messages = transport.take_server_messages();
        let link = Arc::new(ServerLink::new(name, transport, options));
        let mut tasks = JoinSet::new();
        if let Some(messages) = messages {
            tasks.spawn(Arc::clone(&link).handle_messages(messages));
        }
        let capabilities = match link.options.negotiation {
            McpNegotiation::SessionOnly | McpNegotiation::Only(McpRevision::Session) => initialize(&link).await?,
            McpNegotiation::NewestFirst => negotiate(&link).await?,
            McpNegotiation::Only(McpRevision::Stateless) => discover(&link)
                .await?
                .ok_or_else(|| link.malformed("server/discover", "it does not speak 2026-07-28"))?,
        };
        match link.revision() {
            McpRevision::Stateless if capabilities.reports_changes() => {
                tasks.spawn(subscribe(Arc::clone(&link), capabilities.clone()));
            }
            McpRevision::Stateless => {}
            McpRevision::Session => {
                let (opened, is_open) = oneshot::channel();
                tasks.spawn(receive(Arc::clone(&link), opened));
                // A server that cannot send anything by itself says so at once; messages of a slow one arrive later.
                let _opened = timeout(STREAM_WAIT, is_open).await;
            }
        }
        Ok(Arc::new(McpServer { link, capabilities, _tasks: tasks }))
    }

    /// The server's name in the configuration.
    pub fn name(&self) -> &str {
        &self.link.server
    }

    /// The negotiated revision.
    pub fn revision(&self) -> McpRevision {
        self.link.revision()
    }

    pub(crate) fn link(&self) -> &Arc<ServerLink> {
        &self.link
    }

    /// The most bytes of text in the result of one call.
    pub(crate) fn max_text_bytes(&self) -> usize {
        self.link.options.limits.max_text_bytes
    }

    /// The time limits of its requests.
    pub(crate) fn timeouts(&self) -> McpTimeouts {
        self.link.options.timeouts
    }

    /// Tells the server that it is not needed any more.
    pub async fn close(&self) {
        self.link.transport.close().await;
    }

    /// The name and version that the server gives itself.
    pub fn identity(&self) -> Option<&McpServerIdentity> {
        self.capabilities.identity.as_ref()
    }

    /// Why the connection can no longer be used, once it cannot.
    pub(crate) fn closed(&self) -> Option<String> {
        self.link.transport.closed()
    }

    /// A number that grows when the server reports that its tools changed.
    pub(crate) fn tool_changes(&self) -> u64 {
        self.link.tool_changes()
    }

    /// Requests the server's tools.
    pub async fn list_tools(self: &Arc<Self>) -> Result<McpToolList, McpError> {
        let DescriptionList { descriptions, mut rejected } = self.fetch_descriptions().await?;
        let mut names = HashSet::new();
        let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
        for description in descriptions {
            let name = mcp_tool_name(self.name(), &description.name);
            if names.insert(name.clone()) {
                tools.push(Arc::new(McpTool::new(Arc::clone(self), name, description)));
            } else {
                rejected.push(format!("another tool already has the name of `{}`", description.name));
            }
        }
        Ok(McpToolList { tools, rejected })
    }

    pub(crate) async fn fetch_descriptions(&self) -> Result<DescriptionList, McpError> {
        let list = self.fetch_pages().await?;
        self.link.transport.use_tools(&list.descriptions);
        Ok(list)
    }

    async fn fetch_pages(&self) -> Result<DescriptionList, McpError> {
        const METHOD: &str = "tools/list";
        let limits = self.link.options.limits;
        let mut list = DescriptionList::default();
        let mut cursor: Option<String> = None;
        for _page in 0..limits.max_pages {
            let params = Map::from_iter(cursor.take().map(|cursor| ("cursor".to_owned(), Value::from(cursor))));
            let request = ServerRequest::new(METHOD, params, self.link.options.timeouts.list);
            let page = self.link.request(request).await?;
            let Some(entries) = page.get("tools").and_then(Value::as_array) else {
                return Err(self.link.malformed(METHOD, "it has no `tools` list"));
            };
            for entry in entries {
                if list.descriptions.len() + list.rejected.len() == limits.max_tools {
                    let max = limits.max_tools;
                    list.rejected.push(format!("there are more than {max} tools; the others are not used"));
                    return Ok(list);
                }
                match McpToolDescription::read(entry, &limits) {
                    Ok(description) => list.descriptions.push(description),
                    Err(why) => list.rejected.push(why),
                }
            }
            match page.get("nextCursor").and_then(Value::as_str) {
                Some(next) if !next.is_empty() => cursor = Some(next.to_owned()),
                Some(_) | None => return Ok(list),
            }
        }
        list.rejected.push(format!("the list has more than {} pages; the others are not used", limits.max_pages));
        Ok(list)
    }

    /// What the server says about itself.
    pub(crate) fn capabilities(&self) -> &ServerCapabilities {
        &self.capabilities
    }

    /// The options of the connection.
    pub(crate) fn options(&self) -> &McpOptions {
        &self.link.options
    }

    /// Sends a request during which the server has nothing to ask.
    pub(crate) async fn request(&self, request: ServerRequest) -> Result<Map<String, Value>, McpError> {
        self.link.request(request).await
    }

    pub(crate) fn malformed(&self, method: &'static str, what: impl Into<String>) -> McpError {
        self.link.malformed(method, what)
    }

    /// The entries of a list in pages, at most this many.
    pub(crate) async fn entries(&self, method: &'static str, field: &str, max: usize) -> Result<Vec<Value>, McpError> {
        let limits = self.link.options.limits;
        let mut entries = Vec::new();
        let mut cursor: Option<String> = None;
        for _page in 0..limits.max_pages {
            let params = Map::from_iter(cursor.take().map(|cursor| ("cursor".to_owned(), Value::from(cursor))));
            let request = ServerRequest::new(method, params, self.link.options.timeouts.list);
            let mut page = self.link.request(request).await?;
            let Some(Value::Array(listed)) = page.remove(field) else {
                return Err(self.link.malformed(method, format!("it has no `{field}` list")));
            };
            entries.extend(listed);
            entries.truncate(max);
            match page.get("nextCursor").and_then(Value::as_str) {
                Some(next) if !next.is_empty() && entries.len() < max => cursor = Some(next.to_owned()),
                Some(_) | None => break,
            }
        }
        Ok(entries)
    }

    /// Calls a tool. `call` is the model's tool call.
    pub(crate) async fn call(
        &self,
        tool: &McpToolDescription,
        arguments: Value,
        call: &CallId,
        options: CallOptions,
    ) -> Result<CallReply, McpError> {
        const METHOD: &str = "tools/call";
        let time_limit = self.timeouts().call;
        // One more second than the request itself, whose message says more.
        let result =
            match timeout(time_limit + Duration::from_secs(1), self.call_to_end(tool, arguments, call, &options)).await
            {
                Ok(result) => result?,
                Err(_elapsed) => {
                    let server = self.name().to_owned();
                    return Err(McpError::TimedOut { server, method: METHOD, after: time_limit, progress: None });
                }
            };
        if let Some(created) = read_created(self.revision(), &result, &call.to_string()) {
            return created.map(CallReply::Task).map_err(|what| self.link.malformed(METHOD, what));
        }
        let read = content::read_result(&result, self.max_text_bytes());
        read.map(CallReply::Result).map_err(|what| self.link.malformed(METHOD, what))
    }

    /// Calls a tool, and answers the questions of the server.
    async fn call_to_end(
        &self,
        tool: &McpToolDescription,
        arguments: Value,
        call: &CallId,
        options: &CallOptions,
    ) -> Result<Map<String, Value>, McpError> {
        const METHOD: &str = "tools/call";
        let mut params = self.call_params(tool, arguments, call, &options.meta);
        for _round in 0..MAX_INPUT_ROUNDS {
            let CallOptions { elicitor, progress, meta: _ } = options.clone();
            let request = ServerRequest::new(METHOD, params.clone(), self.timeouts().call);
            let result = self.link.request(ServerRequest { elicitor, progress, ..request }).await?;
            if result.get("resultType").is_none_or(|kind| kind != "input_required") {
                return Ok(result);
            }
            if let Some(requests) = result.get("inputRequests").and_then(Value::as_object) {
                let responses = self.link.answer_inputs(METHOD, requests, options.elicitor.as_ref()).await?;
                params.insert("inputResponses".into(), Value::Object(responses));
            }
            match result.get("requestState") {
                Some(state) => drop(params.insert("requestState".into(), state.clone())),
                None => drop(params.remove("requestState")),
            }
        }
        Err(self.link.malformed(METHOD, format!("it asked for input more than {MAX_INPUT_ROUNDS} times")))
    }

    fn call_params(
        &self,
        tool: &McpToolDescription,
        arguments: Value,
        call: &CallId,
        wanted: &RequestMeta,
    ) -> Map<String, Value> {
        let mut params =
            Map::from_iter([("name".to_owned(), Value::from(tool.name.as_str())), ("arguments".to_owned(), arguments)]);
        if let Some(meta) = meta_of_call(wanted, call, self.link.options.call_id_field) {
            params.insert("_meta".into(), Value::Object(meta));
        }
        let is_offered = self.link.options.tasks == McpTaskSupport::Offered;
        let runs_as_task = is_offered && tool.requires_task && self.capabilities.has_session_tasks;
        if runs_as_task && self.revision() == McpRevision::Session {
            params.insert("task".into(), json!({ "ttl": REQUESTED_TTL_MS }));
        }
        params
    }
}

/// What the server gets with a call besides its arguments; none if nothing is wanted.
fn meta_of_call(wanted: &RequestMeta, call: &CallId, call_id_field: Option<&str>) -> Option<Map<String, Value>> {
    let mut meta = match wanted {
        RequestMeta::Standard => Map::new(),
        RequestMeta::With(meta) => meta.clone(),
        RequestMeta::Nothing => return None,
    };
    let fields = std::iter::once("progressToken").chain(call_id_field);
    meta.extend(fields.map(|field| (field.to_owned(), call.to_string().into())));
    Some(meta)
}

/// Begins a session with the server, in the older form of the protocol.
pub(crate) async fn initialize(link: &ServerLink) -> Result<ServerCapabilities, McpError> {
    let capabilities = match link.options.negotiation {
        // The program that has the server answers no requests of it.
        McpNegotiation::SessionOnly => json!({}),
        McpNegotiation::NewestFirst | McpNegotiation::Only(_) => {
            client_capabilities(McpRevision::Session, &link.options)
        }
    };
    let params = Map::from_iter([
        ("protocolVersion".to_owned(), PROTOCOL_VERSION.into()),
        ("capabilities".to_owned(), capabilities),
        ("clientInfo".to_owned(), client_info()),
    ]);
    let time_limit = link.options.timeouts.initialize;
    let answer = link.request_session(ServerRequest::new("initialize", params, time_limit)).await?;
    let Some(version) = answer.get("protocolVersion").and_then(Value::as_str).filter(|version| is_version(version))
    else {
        return Err(link.malformed("initialize", "it has no `protocolVersion`"));
    };
    link.use_revision(McpRevision::Session, version);
    link.notify("notifications/initialized", time_limit).await?;
    Ok(ServerCapabilities::read(&answer))
}

/// Whether a text can be repeated in a header.
fn is_version(version: &str) -> bool {
    (1..=32).contains(&version.len()) && version.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Asks for the newest revision first. A server that refuses the request, or does not answer it soon, is asked in the
/// older form; of two answers the first one counts, unless it is a refusal.
async fn negotiate(link: &ServerLink) -> Result<ServerCapabilities, McpError> {
    let mut discover = std::pin::pin!(discover(link));
    match timeout(DISCOVER_WAIT, &mut discover).await {
        Ok(Ok(Some(capabilities))) => return Ok(capabilities),
        Ok(Ok(None)) => return initialize(link).await,
        Ok(Err(error)) => return Err(error),
        Err(_slow) => {}
    }
    let mut initialize = std::pin::pin!(initialize(link));
    tokio::select! {
        biased;
        discovered = &mut discover => match discovered {
            Ok(Some(capabilities)) => Ok(capabilities),
            Ok(None) => initialize.await,
            Err(error) => Err(error),
        },
        initialized = &mut initialize => match initialized {
            // It may have accepted the first request.
            Err(refusal @ McpError::Refused { .. }) => match timeout(DISCOVER_WAIT, discover).await {
                Ok(Ok(Some(capabilities))) => Ok(capabilities),
                Ok(Ok(None) | Err(_)) | Err(_) => Err(refusal),
            },
            initialized => initialized,
        },
    }
}

/// Asks a server what it can do; `None` if it speaks only older revisions. Servers refuse the request in many ways, such
/// as a page with an error status; one that cannot be reached does not answer the next request either.
async fn discover(link: &ServerLink) -> Result<Option<ServerCapabilities>, McpError> {
    let mut params = Map::new();
    crate::revision::add_stateless_meta(&mut params, &link.options);
    let request = ServerRequest::new("server/discover", params, link.options.timeouts.initialize);
    let mut answer = link.request(request.clone()).await;
    // The client speaks only one revision without a session; a server that does too is asked once more.
    if matches!(answer, Err(McpError::Refused { code: UNSUPPORTED_VERSION, .. })) {
        answer = link.request(request).await;
    }
    let answer = match answer {
        Ok(answer) => answer,
        Err(McpError::Refused { .. } | McpError::Malformed { .. }) => return Ok(None),
        Err(McpError::Unreachable { .. }) if link.transport.closed().is_none() => return Ok(None),
        Err(error) => return Err(error),
    };
    let versions = answer.get("supportedVersions").and_then(Value::as_array);
    if !versions.is_some_and(|versions| versions.iter().any(|version| version == STATELESS_VERSION)) {
        return Ok(None);
    }
    link.use_revision(McpRevision::Stateless, STATELESS_VERSION);
    Ok(Some(ServerCapabilities::read(&answer)))
}

/// Receives what the server sends outside of requests, in each of its sessions.
async fn receive(link: Arc<ServerLink>, mut opened: oneshot::Sender<()>) {
    loop {
        link.transport.receive(opened).await;
        link.session_begun.notified().await;
        opened = oneshot::channel().0;
    }
}

/// Keeps a subscription to the changes that the server reports.
async fn subscribe(link: Arc<ServerLink>, capabilities: ServerCapabilities) {
    loop {
        let params = Map::from_iter([("notifications".to_owned(), capabilities.subscription())]);
        let ended = link.request(ServerRequest::new("subscriptions/listen", params, SUBSCRIPTION_TIME)).await;
        if let Err(McpError::Refused { .. }) = ended {
            return;
        }
        tokio::time::sleep(RESUBSCRIBE_DELAY).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_sent_with_what_is_wanted_and_what_the_protocol_needs() {
        let meta = |wanted: RequestMeta| meta_of_call(&wanted, &CallId("c1".into()), Some("id")).map(Value::Object);
        assert_eq!(meta(RequestMeta::Standard), Some(json!({ "progressToken": "c1", "id": "c1" })));
        let given = json!({ "a": 1 }).as_object().cloned().unwrap();
        assert_eq!(meta(RequestMeta::With(given)), Some(json!({ "a": 1, "progressToken": "c1", "id": "c1" })));
        assert_eq!(meta(RequestMeta::Nothing), None);
    }
}

//! The methods of 2026-07-28: every request says what its client can do, results say what kind of result they are, and
//! clients follow changes with `subscriptions/listen`.

use std::time::Duration;

use rpc::RequestId;
use serde_json::{Map, Value, json};
use tokio::sync::broadcast::error::RecvError;

use super::message_sink::MessageSink;
use super::responder::{McpResponder, text_param};
use super::revision::{CAPABILITIES_META, SERVER_META, STATELESS_VERSION, SUBSCRIPTION_META, VERSION_META};
use super::{
    McpFault, McpReply, McpRequest, ProviderChange, ServedRevision, ServerFeature, fault::supported_versions, task_form,
};

/// How long clients may keep what a server says about itself and its tools.
const CACHE_TIME: Duration = Duration::from_secs(60);

/// How many resources and tasks one subscription may be about.
const MAX_WATCHED: usize = 1000;

/// Checks what every request carries, and returns its revision.
pub(crate) fn check_meta(params: &Map<String, Value>) -> Result<&str, McpFault> {
    let meta = params.get("_meta").and_then(Value::as_object);
    let meta = meta.ok_or_else(|| McpFault::incomplete("`_meta` is missing, or not an object"))?;
    let version = meta.get(VERSION_META).and_then(Value::as_str);
    let version =
        version.ok_or_else(|| McpFault::incomplete(format!("`{VERSION_META}` is missing, or not a string")))?;
    match meta.get(CAPABILITIES_META).is_some_and(Value::is_object) {
        true => Ok(version),
        false => Err(McpFault::incomplete(format!("`{CAPABILITIES_META}` is missing, or not an object"))),
    }
}

/// Refuses another revision than 2026-07-28.
pub(crate) fn require_stateless(version: &str) -> Result<(), McpFault> {
    if version == STATELESS_VERSION { Ok(()) } else { Err(McpFault::unsupported_version(version)) }
}

impl McpResponder {
    /// Whether clients without a session may call this method.
    pub(crate) fn has_stateless_method(&self, method: &str) -> bool {
        match method {
            "server/discover" | "tools/list" | "tools/call" | "subscriptions/listen" => true,
            "tasks/get" | "tasks/update" | "tasks/cancel" => self.has(ServerFeature::Tasks),
            provided => self.provides(provided),
        }
    }

    /// Answers a request that was checked with [`check_meta`].
    pub(crate) async fn answer_stateless(
        &self,
        id: &RequestId,
        method: &str,
        params: Map<String, Value>,
        sink: MessageSink,
    ) -> Result<Map<String, Value>, McpFault> {
        if !self.has_stateless_method(method) {
            return Err(McpFault::unknown_method(method));
        }
        let request = McpRequest::stateless(&params, sink.clone());
        let reply = match method {
            "server/discover" => McpReply::Complete(self.discover()),
            "tools/list" => McpReply::Complete(self.list_tools(&request, false)),
            "tools/call" => self.call_tool(&params, &request).await?,
            "subscriptions/listen" => McpReply::Complete(self.listen(id, &params, &sink).await?),
            "tasks/get" => {
                let id = task_param(&params, &request)?;
                McpReply::Complete(task_form::detailed_task(&self.provider.task(id, &request).await?))
            }
            "tasks/update" => {
                let id = task_param(&params, &request)?;
                let responses = params.get("inputResponses").and_then(Value::as_object);
                let responses =
                    responses.ok_or_else(|| McpFault::invalid_params("`inputResponses` is not an object"))?;
                self.provider.answer_task(id, responses, &request).await?;
                McpReply::Complete(Map::new())
            }
            "tasks/cancel" => {
                self.provider.cancel_task(task_param(&params, &request)?).await?;
                McpReply::Complete(Map::new())
            }
            provided => self.answer_provided(provided, &params, &request).await?,
        };
        Ok(self.stateless_result(method, reply))
    }

    fn discover(&self) -> Map<String, Value> {
        let mut result = Map::from_iter([
            ("supportedVersions".to_owned(), json!(supported_versions())),
            ("capabilities".to_owned(), self.capabilities(ServedRevision::Stateless, false)),
        ]);
        if let Some(instructions) = self.provider.identity().instructions {
            result.insert("instructions".into(), instructions.into());
        }
        result
    }

    /// Adds what every result says about itself and its server.
    fn stateless_result(&self, method: &str, reply: McpReply) -> Map<String, Value> {
        let (kind, mut result) = match reply {
            McpReply::Complete(result) => ("complete", result),
            McpReply::InputRequired { requests, state } => {
                let mut result = Map::from_iter([("inputRequests".to_owned(), Value::Object(requests))]);
                result.extend(state.map(|state| ("requestState".to_owned(), state.into())));
                ("input_required", result)
            }
            McpReply::Task(task) => ("task", task_form::extension_task(&task)),
        };
        result.insert("resultType".into(), kind.into());
        let cache_time = match method {
            "server/discover" | "tools/list" => Some(CACHE_TIME),
            "prompts/list" | "resources/list" | "resources/templates/list" | "resources/read" => Some(Duration::ZERO),
            _other => None,
        };
        if let Some(time) = cache_time {
            result.insert("ttlMs".into(), u64::try_from(time.as_millis()).unwrap_or(0).into());
            result.insert("cacheScope".into(), "private".into());
        }
        let meta = result.entry("_meta").or_insert_with(|| json!({}));
        meta[SERVER_META] = self.provider.identity().info();
        result
    }

    /// Tells the client of the changes that it names until it leaves.
    async fn listen(
        &self,
        id: &RequestId,
        params: &Map<String, Value>,
        sink: &MessageSink,
    ) -> Result<Map<String, Value>, McpFault> {
        let wanted = params.get("notifications").and_then(Value::as_object);
        let wanted = wanted.ok_or_else(|| McpFault::invalid_params("`notifications` is not an object"))?;
        let filter = ChangeFilter::read(self, wanted)?;
        let subscription = Value::from(id.clone());
        let tagged = |mut params: Value| {
            params["_meta"][SUBSCRIPTION_META] = subscription.clone();
            params
        };
        let mut changes = self.provider.changes();
        let accepted = tagged(json!({ "notifications": filter.accepted() }));
        let mut is_connected = sink.notify("notifications/subscriptions/acknowledged", accepted).await.is_ok();
        while is_connected {
            match changes.recv().await {
                Ok(change) => {
                    if let Some((method, params)) = filter.notification(&change) {
                        is_connected = sink.notify(method, tagged(params)).await.is_ok();
                    }
                }
                // The client asks for lists and tasks again anyway after a while.
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => break,
            }
        }
        Ok(Map::from_iter([("_meta".to_owned(), json!({ SUBSCRIPTION_META: subscription }))]))
    }
}

/// The changes that a client wants to know.
#[derive(Debug, Default)]
struct ChangeFilter {
    /// The names of lists, as the client wrote them.
    lists: Vec<&'static str>,
    resources: Vec<String>,
    tasks: Vec<String>,
}

impl ChangeFilter {
    fn read(responder: &McpResponder, wanted: &Map<String, Value>) -> Result<ChangeFilter, McpFault> {
        let mut filter = ChangeFilter::default();
        if responder.has(ServerFeature::ListChanges) {
            for (name, feature) in [
                ("toolsListChanged", None),
                ("promptsListChanged", Some(ServerFeature::Prompts)),
                ("resourcesListChanged", Some(ServerFeature::Resources)),
            ] {
                let is_offered = feature.is_none_or(|feature| responder.has(feature));
                if is_offered && wanted.get(name) == Some(&Value::Bool(true)) {
                    filter.lists.push(name);
                }
            }
        }
        if responder.has(ServerFeature::Resources) {
            filter.resources = names(wanted, "resourceSubscriptions")?;
        }
        if responder.has(ServerFeature::Tasks) {
            filter.tasks = names(wanted, "taskIds")?;
        }
        Ok(filter)
    }

    /// The part of the client's wishes that it gets.
    fn accepted(&self) -> Value {
        let mut accepted: Map<String, Value> =
            self.lists.iter().map(|name| ((*name).to_owned(), Value::Bool(true))).collect();
        for (name, watched) in [("resourceSubscriptions", &self.resources), ("taskIds", &self.tasks)] {
            if !watched.is_empty() {
                accepted.insert(name.to_owned(), json!(watched));
            }
        }
        Value::Object(accepted)
    }

    fn notification(&self, change: &ProviderChange) -> Option<(&'static str, Value)> {
        let list = |name: &str, method: &'static str| self.lists.contains(&name).then(|| (method, json!({})));
        match change {
            ProviderChange::Tools => list("toolsListChanged", "notifications/tools/list_changed"),
            ProviderChange::Prompts => list("promptsListChanged", "notifications/prompts/list_changed"),
            ProviderChange::Resources => list("resourcesListChanged", "notifications/resources/list_changed"),
            ProviderChange::Resource(uri) => {
                let is_wanted = self.resources.contains(uri);
                is_wanted.then(|| ("notifications/resources/updated", json!({ "uri": uri })))
            }
            ProviderChange::Task(task) => {
                let is_wanted = self.tasks.contains(&task.id);
                is_wanted.then(|| ("notifications/tasks", Value::Object(task_form::detailed_task(task))))
            }
        }
    }
}

fn names(wanted: &Map<String, Value>, field: &str) -> Result<Vec<String>, McpFault> {
    let invalid = || McpFault::invalid_params(format!("`{field}` is not a list of at most {MAX_WATCHED} strings"));
    let names = match wanted.get(field) {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(names) => names.as_array().filter(|names| names.len() <= MAX_WATCHED).ok_or_else(invalid)?,
    };
    names.iter().map(|name| name.as_str().map(str::to_owned).ok_or_else(invalid)).collect()
}

fn task_param<'a>(params: &'a Map<String, Value>, request: &McpRequest) -> Result<&'a str, McpFault> {
    if !request.client().has_tasks() {
        return Err(McpFault::missing_tasks());
    }
    text_param(params, "taskId")
}

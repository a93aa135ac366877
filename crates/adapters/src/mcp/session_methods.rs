//! The methods of 2025-11-25 and older: a session begins with `initialize`, and calls become tasks if the client wants.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::log_level::LogLevel;
use super::message_sink::MessageSink;
use super::responder::{McpResponder, has_session_tasks, text_param};
use super::session::McpSession;
use super::{
    InputOutcome, McpClientProfile, McpFault, McpReply, McpRequest, ProvidedTask, ProvidedTaskState, ServedRevision,
    ServerFeature, TasksPagePosition, revision, task_form,
};

impl McpResponder {
    /// Begins a session.
    pub(crate) fn initialize(&self, params: &Map<String, Value>) -> Result<(McpSession, Map<String, Value>), McpFault> {
        let version = revision::negotiate(text_param(params, "protocolVersion")?);
        let identity = self.provider.identity();
        let mut result = Map::from_iter([
            ("protocolVersion".to_owned(), version.into()),
            ("capabilities".to_owned(), self.capabilities(ServedRevision::Session, has_session_tasks(self, version))),
            ("serverInfo".to_owned(), identity.info()),
        ]);
        if let Some(instructions) = identity.instructions {
            result.insert("instructions".into(), instructions.into());
        }
        Ok((McpSession::new(McpClientProfile::of_initialize(params), version), result))
    }

    /// Answers a request in a session.
    pub(crate) async fn answer_in_session(
        &self,
        session: &Arc<McpSession>,
        method: &str,
        params: Map<String, Value>,
        sink: MessageSink,
    ) -> Result<Map<String, Value>, McpFault> {
        let request = McpRequest::in_session(session, &params, sink);
        let has_tasks = has_session_tasks(self, session.version);
        match method {
            "ping" => Ok(Map::new()),
            "tools/list" => Ok(self.list_tools(&request, has_tasks)),
            "tools/call" => session_result(session, self.call_tool(&params, &request).await?),
            "logging/setLevel" if self.has(ServerFeature::Logging) => {
                let level = text_param(&params, "level")?;
                let level = LogLevel::from_name(level)
                    .ok_or_else(|| McpFault::invalid_params("there is no such level of log messages"))?;
                session.set_log_level(level);
                Ok(Map::new())
            }
            "resources/subscribe" if self.has(ServerFeature::Resources) => {
                session.watch_resource(text_param(&params, "uri")?)?;
                Ok(Map::new())
            }
            "resources/unsubscribe" if self.has(ServerFeature::Resources) => {
                session.unwatch_resource(text_param(&params, "uri")?);
                Ok(Map::new())
            }
            "tasks/get" if has_tasks => {
                let task = self.provider.task(text_param(&params, "taskId")?, &request).await?;
                Ok(task_form::session_task(&task))
            }
            "tasks/result" if has_tasks => self.task_result(text_param(&params, "taskId")?, &request).await,
            "tasks/list" if has_tasks => self.list_tasks(&params).await,
            "tasks/cancel" if has_tasks => self.cancel_session_task(text_param(&params, "taskId")?, &request).await,
            provided => session_result(session, self.answer_provided(provided, &params, &request).await?),
        }
    }

    /// Waits until a task has ended, and returns the result of its call. Meanwhile it asks the client what the task asks.
    async fn task_result(&self, id: &str, request: &McpRequest) -> Result<Map<String, Value>, McpFault> {
        let mut task = self.provider.task(id, request).await?;
        let mut asked = BTreeSet::new();
        loop {
            let unasked = match task.state {
                ProvidedTaskState::Completed(mut result) => {
                    result.insert("_meta".into(), task_form::related_task(id));
                    return Ok(result);
                }
                ProvidedTaskState::Failed(error) => return Err(error.into()),
                ProvidedTaskState::Cancelled => return Err(McpFault::invalid_params("the task was cancelled")),
                ProvidedTaskState::Working => Map::new(),
                ProvidedTaskState::InputRequired(ref requests) => {
                    let is_new = |(key, _): &(String, Value)| asked.insert(key.clone());
                    requests.clone().into_iter().filter(is_new).collect()
                }
            };
            task = match unasked.is_empty() {
                true => self.provider.next_task(&task, request).await?,
                false => self.answer_inputs(id, unasked, request).await?,
            };
        }
    }

    /// Asks the client what a task asks, and returns the task after the answers.
    async fn answer_inputs(
        &self,
        id: &str,
        mut requests: Map<String, Value>,
        request: &McpRequest,
    ) -> Result<ProvidedTask, McpFault> {
        for asked in requests.values_mut() {
            asked["params"]["_meta"] = task_form::related_task(id);
        }
        if let InputOutcome::Answered(answers) = request.ask(requests, || None).await? {
            self.provider.answer_task(id, &answers, request).await?;
        }
        self.provider.task(id, request).await
    }

    async fn list_tasks(&self, params: &Map<String, Value>) -> Result<Map<String, Value>, McpFault> {
        let page = match params.get("cursor") {
            None | Some(Value::Null) => TasksPagePosition::First,
            Some(_cursor) => TasksPagePosition::After(text_param(params, "cursor")?.to_owned()),
        };
        let page = self.provider.tasks(page).await?;
        let tasks: Vec<Value> = page.tasks.iter().map(|task| task_form::session_task(task).into()).collect();
        let mut result = Map::from_iter([("tasks".to_owned(), Value::Array(tasks))]);
        if let Some(next) = page.next {
            result.insert("nextCursor".into(), next.into());
        }
        Ok(result)
    }

    async fn cancel_session_task(&self, id: &str, request: &McpRequest) -> Result<Map<String, Value>, McpFault> {
        let task = self.provider.task(id, request).await?;
        if task.state.is_final() {
            return Err(McpFault::invalid_params("the task has ended"));
        }
        self.provider.cancel_task(id).await?;
        let task = self.provider.task(id, request).await?;
        Ok(task_form::session_task(&task))
    }
}

fn session_result(session: &McpSession, reply: McpReply) -> Result<Map<String, Value>, McpFault> {
    match reply {
        McpReply::Complete(result) => Ok(result),
        McpReply::Task(task) => {
            session.watch_task(&task.id);
            Ok(Map::from_iter([("task".to_owned(), json!(task_form::session_task(&task)))]))
        }
        McpReply::InputRequired { .. } => Err(McpFault::internal("the server asks in a form that the client lacks")),
    }
}

//! A server's tool, as agents call it.

use std::sync::Arc;
use std::time::Duration;

use protocol::{CallId, clip_middle};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use tools::{
    BoxFuture, CallEnd, CallInProgress, FollowedCall, LongCallStart, MovedCall, RemoteOutcome, RemoteTaskEnd,
    ReplaceablePrompter, RequestMeta, RequiredPermission, SessionServices, Tool, ToolAccess, ToolContext,
    ToolDescriptor, ToolError, ToolLimits, ToolOutput, UserPrompter,
};

use crate::content::ToolCallResult;
use crate::elicitation::{McpElicitor, SessionElicitor};
use crate::followed_task::next_progress;
use crate::server::{CallOptions, CallReply};
use crate::{McpError, McpServer, McpToolDescription, remote_task};

/// JSON-RPC's code for invalid parameters.
const BAD_PARAMS: i64 = -32602;

/// How much longer than a call itself its task may take.
const CALL_TIMEOUT_MARGIN: Duration = Duration::from_secs(10);

/// How long a server has to say that it does a call as a task of its own, before the call moves to the background: only
/// then does the task survive its owner.
const REPLY_TIME: Duration = Duration::from_secs(1);

/// How long a call runs before users see its progress, and the shortest time between two reports of it.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(1);

/// How long after a call could not move to the background it tries again.
const MOVE_RETRY: Duration = Duration::from_secs(5);

/// A server's tool, as the only use of its connection.
#[derive(Debug)]
pub(crate) struct McpTool {
    spec: ToolDescriptor,
    tool: ConnectedTool,
}

impl McpTool {
    pub(crate) fn new(server: Arc<McpServer>, name: String, description: McpToolDescription) -> McpTool {
        let spec = descriptor(name, &description);
        McpTool { spec, tool: ConnectedTool { server, definition: None, description } }
    }
}

/// A server's tool as a model sees it.
pub(crate) fn descriptor(name: String, description: &McpToolDescription) -> ToolDescriptor {
    ToolDescriptor {
        name: name.into(),
        description: description.description.clone().into(),
        schema: description.schema.clone(),
        access: ToolAccess::Other,
    }
}

/// The permissions that a call of a server's tool needs.
pub(crate) fn required_permissions(input: &str, limits: &ToolLimits) -> Result<Vec<RequiredPermission>, ToolError> {
    parse_arguments(input, limits.input_bytes).map(|_arguments| vec![RequiredPermission::Other])
}

/// A tool of a connected server.
#[derive(Debug, Clone)]
pub(crate) struct ConnectedTool {
    pub(crate) server: Arc<McpServer>,
    /// A digest of the server's definition, if the session has one.
    pub(crate) definition: Option<String>,
    pub(crate) description: McpToolDescription,
}

impl ConnectedTool {
    /// Calls the tool for a model.
    pub(crate) async fn run(&self, input: &str, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let arguments = parse_arguments(input, cx.limits.input_bytes)?;
        // The tool may wait for a person; only the call's own timeout limits it.
        let _paused = cx.heartbeat.pause();
        match &cx.session {
            Some(session) => self.run_in_session(session, arguments, cx).await,
            None => self.run_alone(arguments, cx).await,
        }
    }

    async fn run_alone(&self, arguments: Value, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let call = cx.identity.call.clone();
        let reply = self.server.call(&self.description, arguments, &call, CallOptions::default()).await;
        match self.end_of_reply(reply) {
            CallEnd::Answered(end) => output(end, cx),
            CallEnd::Task { remote, .. } => {
                remote_task::cancel(&self.server, &remote.id).await;
                Err(ToolError::refused("the server does this as a task, which only a session can follow"))
            }
        }
    }

    /// A call that takes long, and one that the server does as a task of its own, continues as a task of the session.
    async fn run_in_session(
        &self,
        session: &SessionServices,
        arguments: Value,
        cx: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        let began = Instant::now();
        let meta = session.request_meta.meta_for(self.server.name(), &self.description.name, &arguments).await?;
        let mut call = self.begin_call(session, arguments.clone(), cx.identity.call.clone(), meta);
        let mut moves_at = session.long_calls.background_after().map(|after| began + after.max(REPLY_TIME));
        let mut next_report = began + PROGRESS_INTERVAL;
        loop {
            tokio::select! {
                end = &mut call.end => match end {
                    CallEnd::Answered(end) => return output(end, cx),
                    CallEnd::Task { remote, time_limit } => {
                        let start = LongCallStart { remote: Some(remote), time_limit, ..self.long_call(&arguments, began) };
                        return self.follow(session, start, cx).await;
                    }
                },
                progress = next_progress(&mut call.progress, next_report) => {
                    session.long_calls.report_progress(self.title(), progress).await;
                    next_report = Instant::now() + PROGRESS_INTERVAL;
                }
                () = sleep_until_time(moves_at) => {
                    match session.long_calls.move_to_background(self.long_call(&arguments, began), call).await {
                        MovedCall::Answered(answer) => return answer.map(|text| ToolOutput::text(&text, cx)),
                        MovedCall::NotNow(back) => (call, moves_at) = (back, Some(Instant::now() + MOVE_RETRY)),
                    }
                }
            }
        }
    }

    /// The tool with its server, for people.
    fn title(&self) -> String {
        format!("{}.{}", self.server.name(), self.description.name)
    }

    /// Begins a call, which ends when this is dropped.
    fn begin_call(
        &self,
        session: &SessionServices,
        arguments: Value,
        call: CallId,
        meta: RequestMeta,
    ) -> CallInProgress {
        let prompter = Arc::new(ReplaceablePrompter::new(Arc::clone(&session.user_prompter)));
        let user = Arc::clone(&prompter) as Arc<dyn UserPrompter>;
        let elicitor = SessionElicitor { prompter: user, model: Some(Arc::clone(&session.model)) };
        let sender = watch::Sender::default();
        let progress = sender.subscribe();
        let options =
            CallOptions { elicitor: Some(Arc::new(elicitor) as Arc<dyn McpElicitor>), progress: sender, meta };
        let tool = self.clone();
        let end = async move {
            let reply = tool.server.call(&tool.description, arguments, &call, options).await;
            tool.end_of_reply(reply)
        };
        CallInProgress { end: Box::pin(end), prompter, progress }
    }

    /// A call that continues as a task of the session, and began at this time.
    fn long_call(&self, arguments: &Value, began: Instant) -> LongCallStart {
        let elapsed = began.elapsed();
        LongCallStart {
            server: self.server.name().to_owned(),
            definition: self.definition.clone(),
            tool: self.description.name.clone(),
            arguments: arguments.to_string(),
            remote: None,
            elapsed,
            // The call has its own, more precise message when its time is up.
            time_limit: self.server.timeouts().call.saturating_sub(elapsed).saturating_add(CALL_TIMEOUT_MARGIN),
        }
    }

    /// Waits for a task of the server.
    async fn follow(
        &self,
        session: &SessionServices,
        start: LongCallStart,
        cx: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        let created = start.remote.as_ref().map(|remote| remote.id.clone());
        match session.long_calls.follow(start).await {
            FollowedCall::Answered(answer) => answer.map(|text| ToolOutput::text(&text, cx)),
            FollowedCall::NotRecorded(error) => {
                if let Some(id) = created {
                    remote_task::cancel(&self.server, &id).await;
                }
                Err(error)
            }
        }
    }

    fn end_of_reply(&self, reply: Result<CallReply, McpError>) -> CallEnd {
        match reply {
            Ok(CallReply::Result(result)) => CallEnd::Answered(end_of_call(result)),
            Ok(CallReply::Task(remote)) => CallEnd::Task { remote, time_limit: self.server.timeouts().task },
            Err(error) => {
                let text = refusal_text(&self.description.name, &error);
                CallEnd::Answered(RemoteTaskEnd { outcome: RemoteOutcome::Failed, text })
            }
        }
    }
}

/// The answer for the model.
fn output(RemoteTaskEnd { outcome, text }: RemoteTaskEnd, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
    match outcome {
        RemoteOutcome::Completed => Ok(ToolOutput::text(&text, cx)),
        RemoteOutcome::Failed | RemoteOutcome::Cancelled | RemoteOutcome::Lost => {
            Err(ToolError::Refused(text).clipped(cx.limits.output_bytes))
        }
    }
}

/// The end of a call with this result.
pub(crate) fn end_of_call(ToolCallResult { text, failed }: ToolCallResult) -> RemoteTaskEnd {
    RemoteTaskEnd { outcome: if failed { RemoteOutcome::Failed } else { RemoteOutcome::Completed }, text }
}

/// What the model is told of a failed call. The server's own error text, such as an exception, may contain anything and
/// is left out, unless the arguments were invalid: the model must know that.
pub(crate) fn refusal_text(tool: &str, error: &McpError) -> String {
    match error {
        McpError::Refused { code: BAD_PARAMS, .. }
        | McpError::NoAccess { .. }
        | McpError::TimedOut { .. }
        | McpError::Unreachable { .. }
        | McpError::Malformed { .. } => error.to_string(),
        McpError::Refused { server, code, .. } => {
            tracing::warn!(server, tool, code, "an MCP server's tool failed");
            format!("the tool {tool} of the MCP server `{server}` failed without details")
        }
    }
}

/// Sleeps; for ever without a time.
async fn sleep_until_time(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}

impl Tool for McpTool {
    fn spec(&self) -> &ToolDescriptor {
        &self.spec
    }

    fn required_permissions(&self, input: &str, limits: &ToolLimits) -> Result<Vec<RequiredPermission>, ToolError> {
        required_permissions(input, limits)
    }

    fn run<'a>(&'a self, input: &'a str, cx: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(self.tool.run(input, cx))
    }
}

/// Parses the model's arguments. The server checks them against its schema.
fn parse_arguments(input: &str, max: usize) -> Result<Value, ToolError> {
    if input.len() > max {
        return Err(ToolError::refused(format!("invalid input: {} bytes, at most {max} are allowed", input.len())));
    }
    // Models send an empty text for a call without arguments.
    if input.trim_ascii().is_empty() {
        return Ok(json!({}));
    }
    match serde_json::from_str(input) {
        Ok(Value::Object(fields)) => Ok(Value::Object(fields)),
        Ok(_other) => Err(ToolError::refused("invalid input: it must be one JSON object")),
        Err(error) => {
            let why = clip_middle(&error.to_string(), 300);
            Err(ToolError::refused(format!("invalid input: it must be one JSON object: {why}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_one_object() {
        assert_eq!(parse_arguments(" ", 10).unwrap(), json!({}));
        assert_eq!(parse_arguments(r#"{"a":1}"#, 10).unwrap(), json!({ "a": 1 }));
        for (input, why) in [("[1]", "one JSON object"), ("{", "EOF"), ("{\"a\":\"123456\"}", "at most 10")] {
            assert!(parse_arguments(input, 10).unwrap_err().to_string().contains(why), "{input}");
        }
    }
}

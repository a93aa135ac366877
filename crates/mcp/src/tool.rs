//! A server's tool, as agents call it.

use std::sync::Arc;
use std::time::Duration;

use protocol::{CallId, McpRemoteTask, clip_middle};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::Instant;
use tools::{
    BoxFuture, CallEnd, CallInProgress, FollowedCall, LongCallStart, ModelAsker, MovedCall, RemoteOutcome,
    RemoteTaskEnd, ReplaceablePrompter, RequiredPermission, Tool, ToolAccess, ToolContext, ToolDescriptor, ToolError,
    ToolLimits, ToolOutput, UserPrompter,
};

use crate::content::ToolCallResult;
use crate::elicitation::{McpElicitor, SessionElicitor};
use crate::server::{CallOptions, CallReply};
use crate::{McpError, McpServer, McpToolDescription, remote_task};

/// JSON-RPC's code for invalid parameters.
const BAD_PARAMS: i64 = -32602;

/// How much longer than a call itself its task may take.
const CALL_TIMEOUT_MARGIN: Duration = Duration::from_secs(10);

/// How long a server has to say that it does a call as a task of its own, before the call moves to the background: only
/// then does the task survive its owner.
const REPLY_TIME: Duration = Duration::from_secs(1);

/// How long after a call could not move to the background it tries again.
const MOVE_RETRY: Duration = Duration::from_secs(5);

/// A server's tool.
#[derive(Debug)]
pub(crate) struct McpTool {
    server: Arc<McpServer>,
    spec: ToolDescriptor,
    description: McpToolDescription,
}

impl McpTool {
    pub(crate) fn new(server: Arc<McpServer>, name: String, description: McpToolDescription) -> McpTool {
        McpTool { server, spec: descriptor(name, &description), description }
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

/// Calls a tool of a server for a model. A call that takes long, and one that the server does as a task of its own,
/// continues as a task of the session.
pub(crate) async fn run(
    server: Arc<McpServer>,
    tool: McpToolDescription,
    input: &str,
    cx: &ToolContext,
) -> Result<ToolOutput, ToolError> {
    let arguments = parse_arguments(input, cx.limits.input_bytes)?;
    // The tool may wait for a person; only the call's own timeout limits it.
    let _paused = cx.heartbeat.pause();
    let began = Instant::now();
    let timeouts = server.timeouts();
    let start = |remote: Option<McpRemoteTask>| {
        let elapsed = began.elapsed();
        let time_limit = match remote {
            Some(_) => timeouts.task,
            // The call has its own, more precise message when its time is up.
            None => timeouts.call.saturating_sub(elapsed).saturating_add(CALL_TIMEOUT_MARGIN),
        };
        let (server, tool) = (server.name().to_owned(), tool.name.clone());
        LongCallStart { server, tool, arguments: arguments.to_string(), remote, elapsed, time_limit }
    };
    let Some(session) = &cx.session else {
        let call = cx.identity.call.clone();
        let answer = server.call(&tool, arguments.clone(), &call, CallOptions::default()).await;
        return match end_of_reply(&tool, answer) {
            CallEnd::Answered(end) => output(end, cx),
            CallEnd::Task(remote) => {
                remote_task::cancel(&server, &remote.id).await;
                Err(ToolError::refused("the server does this as a task, which only a session can follow"))
            }
        };
    };
    let prompter = Arc::new(ReplaceablePrompter::new(Arc::clone(&session.user_prompter)));
    let (id, model) = (cx.identity.call.clone(), Some(Arc::clone(&session.model)));
    let mut call = begin_call(Arc::clone(&server), tool.clone(), arguments.clone(), id, prompter, model);
    let mut moves_after = session.long_calls.background_after().map(|after| after.max(REPLY_TIME));
    loop {
        tokio::select! {
            end = &mut call.end => match end {
                CallEnd::Answered(end) => return output(end, cx),
                CallEnd::Task(remote) => {
                    let id = remote.id.clone();
                    let answer = session.long_calls.follow(start(Some(remote))).await;
                    return match answer {
                        FollowedCall::Answered(answer) => answer.map(|text| ToolOutput::text(&text, cx)),
                        FollowedCall::NotRecorded(error) => {
                            remote_task::cancel(&server, &id).await;
                            Err(error)
                        }
                    };
                }
            },
            () = sleep_for(moves_after) => {
                match session.long_calls.move_to_background(start(None), call).await {
                    MovedCall::Answered(answer) => return answer.map(|text| ToolOutput::text(&text, cx)),
                    MovedCall::NotNow(back) => (call, moves_after) = (back, Some(MOVE_RETRY)),
                }
            }
        }
    }
}

/// Begins a call, which ends when this is dropped.
fn begin_call(
    server: Arc<McpServer>,
    tool: McpToolDescription,
    arguments: Value,
    call: CallId,
    prompter: Arc<ReplaceablePrompter>,
    model: Option<Arc<dyn ModelAsker>>,
) -> CallInProgress {
    let user = Arc::clone(&prompter) as Arc<dyn UserPrompter>;
    let elicitor = Arc::new(SessionElicitor { prompter: user, model }) as Arc<dyn McpElicitor>;
    let sender = watch::Sender::default();
    let progress = sender.subscribe();
    let options = CallOptions { elicitor: Some(elicitor), progress: sender };
    let end = Box::pin(async move { end_of_reply(&tool, server.call(&tool, arguments, &call, options).await) });
    CallInProgress { end, prompter, progress }
}

fn end_of_reply(tool: &McpToolDescription, reply: Result<CallReply, McpError>) -> CallEnd {
    match reply {
        Ok(CallReply::Result(result)) => CallEnd::Answered(end_of_call(result)),
        Ok(CallReply::Task(remote)) => CallEnd::Task(remote),
        Err(error) => {
            let text = refusal_text(&tool.name, &error);
            CallEnd::Answered(RemoteTaskEnd { outcome: RemoteOutcome::Failed, text })
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
async fn sleep_for(time: Option<Duration>) {
    match time {
        Some(time) => tokio::time::sleep(time).await,
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
        Box::pin(run(Arc::clone(&self.server), self.description.clone(), input, cx))
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

//! What a client may ask about tasks. A task that nobody knows is not an error to this family, but for its output.

use protocol::api::{Method, OutputResult, StopTaskParams, TaskParams};
use protocol::{CancelMode, TaskId};
use rpc::{CallError, RpcClient};
use serde_json::{Value, json};

use super::TaskReporter;
use crate::claude::background;

/// Stops a task and everything below it.
pub(in crate::claude) async fn stop(client: &RpcClient, request: &Value) -> Result<Value, String> {
    let Some(task) = named(request) else { return Ok(json!({})) };
    let params = StopTaskParams { task, how: CancelMode::Abort };
    let stopped: Result<Value, CallError> = client.call(Method::TasksStop, params).await;
    if let Err(error) = stopped {
        tracing::debug!(%task, %error, "a task was not stopped");
    }
    Ok(json!({}))
}

/// Sends tasks that are waited for to the background: that of one tool call, or all.
pub(in crate::claude) async fn background(
    client: &RpcClient,
    tasks: &TaskReporter,
    request: &Value,
) -> Result<Value, String> {
    for task in tasks.running(request["tool_use_id"].as_str()) {
        let promoted: Result<Value, CallError> = client.call(Method::TasksPromote, TaskParams { task }).await;
        if let Err(error) = promoted {
            tracing::debug!(%task, %error, "a task was not sent to the background");
        }
    }
    Ok(json!({}))
}

/// What a task printed or said last.
pub(in crate::claude) async fn output(client: &RpcClient, request: &Value) -> Result<Value, String> {
    let task = named(request).ok_or("there is no such task: give `task_id` as it came in `task_started`")?;
    let printed: OutputResult =
        client.call(Method::TasksOutput, TaskParams { task }).await.map_err(background::error_text)?;
    let OutputResult { output } = printed;
    let truncated = output.contains("bytes left out");
    Ok(json!({ "total_bytes": output.len(), "truncated": truncated, "output": output }))
}

fn named(request: &Value) -> Option<TaskId> {
    request["task_id"].as_str()?.parse().ok()
}

//! Control requests about tasks. For the Claude SDK, an unknown task is an error only when its output is requested.

use protocol::api::{Method, OutputResult, StopTaskParams, TaskParams};
use protocol::{CancelMode, TaskId};
use rpc::{CallError, RpcClient};
use serde_json::{Value, json};

use super::TaskReporter;
use crate::claude::background;

/// Stops a task and everything below it.
pub(in crate::claude) async fn stop(client: &RpcClient, request: &Value) -> Result<Value, String> {
    let Some(task) = task_param(request) else { return Ok(json!({})) };
    let params = StopTaskParams { task, how: CancelMode::Abort };
    let stopped: Result<Value, CallError> = client.call(Method::TasksStop, params).await;
    if let Err(error) = stopped {
        tracing::debug!(%task, %error, "cannot stop a task");
    }
    Ok(json!({}))
}

/// Moves tasks that the root waits for to the background: those of one tool call, or all.
pub(in crate::claude) async fn background(
    client: &RpcClient,
    tasks: &TaskReporter,
    request: &Value,
) -> Result<Value, String> {
    for task in tasks.running_tasks(request["tool_use_id"].as_str()) {
        let promoted: Result<Value, CallError> = client.call(Method::TasksPromote, TaskParams { task }).await;
        if let Err(error) = promoted {
            tracing::debug!(%task, %error, "cannot move a task to the background");
        }
    }
    Ok(json!({}))
}

/// A task's latest output or message.
pub(in crate::claude) async fn output(client: &RpcClient, request: &Value) -> Result<Value, String> {
    let task = task_param(request).ok_or("there is no such task: use the `task_id` from `task_started`")?;
    let result: OutputResult =
        client.call(Method::TasksOutput, TaskParams { task }).await.map_err(background::error_text)?;
    let OutputResult { output } = result;
    let truncated = output.contains("bytes left out");
    Ok(json!({ "total_bytes": output.len(), "truncated": truncated, "output": output }))
}

fn task_param(request: &Value) -> Option<TaskId> {
    request["task_id"].as_str()?.parse().ok()
}

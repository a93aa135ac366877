//! `session.shell.*`: commands of the user, which are tasks.

use std::path::PathBuf;
use std::sync::Arc;

use protocol::api::{Method, RunShellParams, RunShellResult, TaskRecord, TaskView, TaskWaitParams, TaskWaitResult};
use protocol::{TaskId, TaskOutcome, TaskState};
use rpc::ErrorObject;
use serde_json::{Value, json};

use super::fields::{optional_text, required_text};
use super::tasks::{output, stop, task_record};
use super::unhandled;
use crate::copilot::connection::CopilotConnection;
use crate::copilot::hosted_session::HostedSession;

/// How long a command may take unless its client says otherwise, in milliseconds.
const DEFAULT_TIMEOUT_MS: u64 = 30_000;

/// What a failed command's message begins with if a code tells how it ended.
const EXIT_CODE: &str = "exit code ";

/// The signals that end a command.
const SIGNALS: [&str; 3] = ["SIGTERM", "SIGKILL", "SIGINT"];

pub(crate) async fn call(
    _connection: &CopilotConnection,
    session: &Arc<HostedSession>,
    method: &str,
    params: Value,
) -> Result<Value, ErrorObject> {
    match method {
        "session.shell.exec" => exec(session, &params).await,
        "session.shell.kill" => kill(session, &params).await,
        "session.shell.executeUserRequested" => execute(session, &params).await,
        "session.shell.cancelUserRequested" => {
            let cancelled = match session.features.user_commands.task(required_text(&params, "requestId")?) {
                Some(task) => stop(session, task).await?,
                None => false,
            };
            Ok(json!({ "cancelled": cancelled }))
        }
        other => Err(unhandled(other)),
    }
}

/// Starts a command, which is stopped when its time is over.
async fn exec(session: &Arc<HostedSession>, params: &Value) -> Result<Value, ErrorObject> {
    let timeout_ms = params["timeout"].as_u64().unwrap_or(DEFAULT_TIMEOUT_MS);
    let task = run(session, params, optional_text(params, "cwd").map(PathBuf::from)).await?;
    let limited = Arc::clone(session);
    session.features.run_in_background(async move {
        let wait = TaskWaitParams { task, timeout_ms: Some(timeout_ms) };
        let ended: Result<TaskWaitResult, ErrorObject> = limited.call(Method::TasksWait, wait).await;
        if ended.is_ok_and(|ended| !ended.at_rest)
            && let Err(error) = stop(&limited, task).await
        {
            tracing::warn!(%task, error = error.message, "a command of a client continues after its time");
        }
    });
    Ok(json!({ "processId": task.to_string() }))
}

async fn kill(session: &HostedSession, params: &Value) -> Result<Value, ErrorObject> {
    let id = required_text(params, "processId")?;
    if let Some(signal) = optional_text(params, "signal").filter(|signal| !SIGNALS.contains(signal)) {
        return Err(ErrorObject::bad_params(format!("unknown signal `{signal}`: use one of {}", SIGNALS.join(", "))));
    }
    let is_running = |task: &TaskView| task.kind.is_user_command() && !matches!(task.state, TaskState::Finished { .. });
    let killed = match task_record(session, id).await? {
        Some(TaskRecord { task, .. }) if is_running(&task) => stop(session, task.id).await?,
        Some(_) | None => false,
    };
    Ok(json!({ "killed": killed }))
}

/// Runs a command to its end.
async fn execute(session: &HostedSession, params: &Value) -> Result<Value, ErrorObject> {
    let request = required_text(params, "requestId")?;
    let task = run(session, params, None).await?;
    let running = session.features.user_commands.add(request, task);
    let Some(_running) = running else {
        stop(session, task).await?;
        return Err(ErrorObject::bad_params(format!("a command with the `requestId` {request} is running")));
    };
    let wait = TaskWaitParams { task, timeout_ms: None };
    let _ended: TaskWaitResult = session.call(Method::TasksWait, wait).await?;
    let record = task_record(session, &task.to_string()).await?;
    let record = record.ok_or_else(|| ErrorObject::internal("the command's record is gone"))?;
    let output = output::task_output(session, task).await?;
    Ok(result_of(&record, output))
}

async fn run(session: &HostedSession, params: &Value, cwd: Option<PathBuf>) -> Result<TaskId, ErrorObject> {
    let command = required_text(params, "command")?.to_owned();
    let RunShellResult { task } = session.call(Method::ShellRun, RunShellParams { command, cwd }).await?;
    Ok(task)
}

fn result_of(record: &TaskRecord, output: String) -> Value {
    let outcome = match &record.task.state {
        TaskState::Finished { outcome } => Some(outcome),
        TaskState::Queued
        | TaskState::Running
        | TaskState::Idle
        | TaskState::Parked { .. }
        | TaskState::Interrupted => None,
    };
    let mut result = json!({
        "toolCallId": record.task.id.to_string(),
        "success": outcome == Some(&TaskOutcome::Completed),
        "output": output,
    });
    match outcome {
        Some(TaskOutcome::Completed) => result["exitCode"] = 0.into(),
        Some(TaskOutcome::Failed { message, .. }) => {
            let code = message.strip_prefix(EXIT_CODE).and_then(|code| code.parse::<i32>().ok());
            (result["exitCode"], result["error"]) = (json!(code), message.as_str().into());
        }
        Some(other) => result["error"] = other.as_str().into(),
        None => result["error"] = "the command did not end".into(),
    }
    result
}

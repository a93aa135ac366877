//! Calls of MCP servers' tools that continue as tasks: a server's own task is recorded before anything waits for it, and
//! a call that takes long moves to the background.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kernel::{CallPhase, KernelInput, RunUpdate};
use protocol::{McpProgress, McpTaskSpec, TaskId, TaskMode, TaskOutcome, WaitEnd};
use tools::{BoxFuture, CallInProgress, FollowedCall, LongCallStart, MovedCall, ToolError};

use crate::call_waits::Caller;
use crate::session_context::SessionContext;
use crate::spawn::SpawnBuilder;
use crate::subagents::tool_error;
use crate::supervisor::InputRejection;

/// What the model is told of a call that was running when its process ended.
const INTERRUPTED: &str = "the process that ran this call ended while the server's question was open; the call may or \
                           may not have taken effect: check before you repeat it";

/// Calls that have moved to the background, until their tasks take them over.
#[derive(Debug, Default)]
pub(crate) struct MovedCalls(Mutex<HashMap<TaskId, CallInProgress>>);

impl MovedCalls {
    fn put(&self, task: TaskId, call: CallInProgress) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(task, call);
    }

    /// The call that this task continues.
    pub(crate) fn take(&self, task: TaskId) -> Option<CallInProgress> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&task)
    }
}

/// The long calls of an agent.
#[derive(Debug)]
pub(crate) struct AgentLongCalls {
    pub(crate) context: Arc<SessionContext>,
    pub(crate) caller: Caller,
}

impl tools::LongCalls for AgentLongCalls {
    fn resume(&self) -> BoxFuture<'_, Option<Result<String, ToolError>>> {
        Box::pin(async {
            let wait_over = self.caller.waits.register(&self.caller.call);
            let task = match self.caller.phase().await {
                Ok(Some(CallPhase::Waiting(wait))) => {
                    // `answer_after_wait` reads from the phase of the call why the wait ended.
                    let _why = wait_over.await;
                    wait.awaited.first().copied()
                }
                Ok(Some(CallPhase::Waited { on, .. })) => on.first().copied(),
                // An earlier process asked the user in the name of the server, which is gone or waits for an answer
                // to another connection.
                Ok(Some(CallPhase::Asking(ask))) if ask.subject.has_call_started() => {
                    return Some(Err(ToolError::refused(INTERRUPTED)));
                }
                Ok(Some(CallPhase::Decided(decided))) if decided.call_started => {
                    return Some(Err(ToolError::refused(INTERRUPTED)));
                }
                Ok(
                    Some(
                        CallPhase::Pending
                        | CallPhase::Started
                        | CallPhase::Asking(_)
                        | CallPhase::Decided(_)
                        | CallPhase::Answered,
                    )
                    | None,
                ) => return None,
                Err(rejected) => return Some(Err(ToolError::failed(rejected))),
            };
            Some(self.answer_after_wait(task).await)
        })
    }

    fn background_after(&self) -> Option<Duration> {
        let may = self.context.log.may_spawn_in_background(self.caller.run.task);
        may.then_some(self.context.facts.call_background_after)
    }

    fn report_progress(&self, tool: String, progress: McpProgress) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let Caller { supervisor, run, turn, call, .. } = &self.caller;
            let update = RunUpdate::CallProgressed { turn: *turn, call: call.clone(), tool, progress };
            // A call that asks the user is not running.
            if let Err(rejected) = supervisor.report(*run, update).await {
                tracing::debug!(%run, %rejected, "the progress of a call is not recorded");
            }
        })
    }

    fn follow(&self, start: LongCallStart) -> BoxFuture<'_, FollowedCall> {
        Box::pin(async move {
            let wait_over = self.caller.waits.register(&self.caller.call);
            let waits = self.background_after().map(|after| after.saturating_sub(start.elapsed));
            let until = waits.map(|time| self.context.facts.clock.now().plus(time));
            let built = self.built(start);
            let awaited = match until {
                Some(until) => built.awaited_until(until),
                None => built.mode(TaskMode::Sync),
            };
            let spawn = awaited.build(&self.context);
            let task = spawn.id;
            if let Err(rejected) = self.caller.supervisor.submit(KernelInput::Spawn(spawn)).await {
                return FollowedCall::NotRecorded(tool_error(rejected));
            }
            let _why = wait_over.await;
            FollowedCall::Answered(self.answer_after_wait(Some(task)).await)
        })
    }

    fn move_to_background(&self, start: LongCallStart, call: CallInProgress) -> BoxFuture<'_, MovedCall> {
        Box::pin(async move {
            let spawn = self.built(start).build(&self.context);
            let task = spawn.id;
            // The task may start before the reply arrives.
            self.context.moved_calls.put(task, call);
            let rejected = match self.caller.supervisor.submit(KernelInput::Spawn(spawn)).await {
                Ok(_receipt) => return MovedCall::Answered(Ok(self.moved_text(task))),
                Err(rejected) => rejected,
            };
            match (self.context.moved_calls.take(task), rejected) {
                (Some(call), InputRejection::Refused(_)) => MovedCall::NotNow(call),
                (_, rejected) => MovedCall::Answered(Err(tool_error(rejected))),
            }
        })
    }
}

impl AgentLongCalls {
    fn built(&self, start: LongCallStart) -> SpawnBuilder {
        let LongCallStart { server, definition, tool, arguments, remote, elapsed: _, time_limit } = start;
        let started_at = self.context.facts.clock.now();
        let deadline_at = started_at.plus(time_limit);
        let spec = McpTaskSpec { server, definition, tool, remote, started_at, deadline_at };
        SpawnBuilder::mcp(spec).called_by(&self.caller).prompt(arguments)
    }

    /// The answer of a call whose wait for a task is over.
    async fn answer_after_wait(&self, task: Option<TaskId>) -> Result<String, ToolError> {
        let task = task.ok_or_else(|| ToolError::refused("the task of this call is gone"))?;
        match self.caller.phase().await.map_err(ToolError::failed)? {
            Some(CallPhase::Waited { why: WaitEnd::Promoted | WaitEnd::TimedOut, .. }) => Ok(self.moved_text(task)),
            Some(_) | None => self.result(task),
        }
    }

    fn moved_text(&self, task: TaskId) -> String {
        let path = self.context.log.roster.path(task);
        format!(
            "This call takes long and moved to the background as {path} ({task}). Do not repeat it. Do other work \
             meanwhile: its result arrives as a message."
        )
    }

    /// The result of a task that has ended, as the answer of its call.
    fn result(&self, task: TaskId) -> Result<String, ToolError> {
        let log = &self.context.log;
        let ending = log.roster.with_task(task, |entry| {
            entry.first_ending().map(|(activation, ending)| (activation, ending.outcome.clone()))
        });
        let Some((activation, outcome)) = ending.flatten() else {
            return Err(ToolError::refused("the task of this call was stopped before it began"));
        };
        let text = log.task_trace(task).result_of(activation).0.to_owned();
        match outcome {
            TaskOutcome::Completed => Ok(text),
            TaskOutcome::Failed { message, .. } if text.is_empty() => Err(ToolError::refused(message)),
            outcome if text.is_empty() => {
                Err(ToolError::refused(format!("the task of this call ended: {}", outcome.as_str())))
            }
            TaskOutcome::Failed { .. }
            | TaskOutcome::Cancelled { .. }
            | TaskOutcome::TimedOut { .. }
            | TaskOutcome::BudgetExhausted
            | TaskOutcome::Lost => Err(ToolError::Refused(text).clipped(self.context.facts.tools.output_bytes)),
        }
    }
}

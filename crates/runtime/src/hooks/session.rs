//! Hooks on a session's start and end, and on the user's prompts.

use std::sync::Arc;
use std::time::Duration;

use hooks::{HookEventData, SessionOrigin};
use protocol::api::SendParams;
use protocol::{HookEvent, TaskId};

use super::run_hooks;
use crate::session_context::SessionContext;
use crate::supervisor::{InputRejection, Supervisor};

/// How long to wait for all hooks on the end of a session.
const SHUTDOWN_WAIT: Duration = Duration::from_secs(10);

/// Runs the hooks on the session's start. The root receives their text in its first activation.
pub(crate) async fn session_started(
    context: &Arc<SessionContext>,
    supervisor: &Supervisor,
    root: TaskId,
    origin: SessionOrigin,
) {
    if let Some(verdict) = run_root_hooks(context, supervisor, root, HookEventData::SessionStart(origin)).await {
        context.session_hooks.keep_context(verdict.context);
    }
}

/// Runs the hooks on the session's end.
pub(crate) async fn session_ended(context: &Arc<SessionContext>, supervisor: &Supervisor, root: TaskId) {
    let event = HookEventData::SessionEnd { reason: "other".into() };
    if tokio::time::timeout(SHUTDOWN_WAIT, run_root_hooks(context, supervisor, root, event)).await.is_err() {
        tracing::warn!("hooks on the end of the session took too long");
    }
}

/// Whether any hook applies to this message.
pub(crate) fn has_prompt_hook(context: &Arc<SessionContext>, root: TaskId, message: &SendParams) -> bool {
    message.task.is_none_or(|task| task == root)
        && [HookEvent::UserPromptSubmitted, HookEvent::UserPromptTransformed]
            .into_iter()
            .any(|event| has_root_hook(context, root, event))
}

/// Runs the hooks on the user's prompt; returns the prompt with their changes, or their denial.
pub(crate) async fn filter_prompt(
    context: &Arc<SessionContext>,
    supervisor: &Supervisor,
    root: TaskId,
    message: SendParams,
) -> Result<SendParams, InputRejection> {
    if !has_prompt_hook(context, root, &message) {
        return Ok(message);
    }
    let message = filter_typed_prompt(context, supervisor, root, message).await?;
    transform_prompt(context, supervisor, root, message).await
}

/// Runs the hooks on the prompt as the user typed it.
async fn filter_typed_prompt(
    context: &Arc<SessionContext>,
    supervisor: &Supervisor,
    root: TaskId,
    mut message: SendParams,
) -> Result<SendParams, InputRejection> {
    let mut prompt = message.text.clone();
    context.workplace.redactor.redact_text(&mut prompt);
    let event = HookEventData::Prompt { prompt };
    let Some(verdict) = run_root_hooks(context, supervisor, root, event).await else { return Ok(message) };
    if let Some(reason) = verdict.denial_reason() {
        return Err(InputRejection::Hook(reason.to_owned()));
    }
    let text = verdict.replacement_text.unwrap_or(message.text);
    message.text = std::iter::once(text).chain(verdict.context).collect::<Vec<_>>().join("\n\n");
    Ok(message)
}

/// Runs the hooks on the prompt as the root's model will read it. What they make of it, the user does not see.
async fn transform_prompt(
    context: &Arc<SessionContext>,
    supervisor: &Supervisor,
    root: TaskId,
    mut message: SendParams,
) -> Result<SendParams, InputRejection> {
    let mut transformed = message.text.clone();
    context.workplace.redactor.redact_text(&mut transformed);
    let prompt = message.display.clone().unwrap_or_else(|| transformed.clone());
    let event = HookEventData::TransformedPrompt { prompt, transformed };
    let Some(verdict) = run_root_hooks(context, supervisor, root, event).await else { return Ok(message) };
    if let Some(reason) = verdict.denial_reason() {
        return Err(InputRejection::Hook(reason.to_owned()));
    }
    if let Some(text) = verdict.replacement_text {
        message.display.get_or_insert(message.text);
        message.text = text;
    }
    Ok(message)
}

/// Whether the session or the root agent has a hook for this event.
fn has_root_hook(context: &SessionContext, root: TaskId, event: HookEvent) -> bool {
    let has_own = || {
        context
            .current_definition(root)
            .is_some_and(|definition| definition.hooks.iter().any(|hook| hook.event == event))
    };
    context.session_hooks.has_hook_for(event) || has_own()
}

/// Runs the hooks for an event of the root; returns nothing if there are none.
async fn run_root_hooks(
    context: &Arc<SessionContext>,
    supervisor: &Supervisor,
    root: TaskId,
    data: HookEventData,
) -> Option<hooks::HookVerdict> {
    if !has_root_hook(context, root, data.event(true)) {
        return None;
    }
    let run = supervisor.query(move |kernel| kernel.task(root).map(kernel::KernelTask::run_id)).await.ok()??;
    Some(run_hooks(context, run, data).await)
}

//! A session's beginning and end, and the prompts that a person gives it.

use std::sync::Arc;
use std::time::Duration;

use hooks::{HookEventData, SessionOrigin};
use protocol::api::SendParams;
use protocol::{HookEvent, TaskId};

use super::run_hooks;
use crate::agent::SessionContext;
use crate::supervisor::{InputRejection, Supervisor};

/// How long hooks on the end of a session are waited for, all together.
const SHUTDOWN_WAIT: Duration = Duration::from_secs(10);

/// Tells hooks that the session begins. What they say, the root hears when it is woken first.
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

/// Tells hooks that the session's run ends.
pub(crate) async fn session_ended(context: &Arc<SessionContext>, supervisor: &Supervisor, root: TaskId) {
    let occasion = HookEventData::SessionEnd { reason: "other".into() };
    if tokio::time::timeout(SHUTDOWN_WAIT, run_root_hooks(context, supervisor, root, occasion)).await.is_err() {
        tracing::warn!("hooks on the end of the session took too long");
    }
}

/// Whether any hook is told of such a message.
pub(crate) fn has_prompt_hook(context: &Arc<SessionContext>, root: TaskId, message: &SendParams) -> bool {
    message.task.is_none_or(|task| task == root) && has_root_hook(context, root, HookEvent::UserPromptSubmitted)
}

/// A person's prompt to the root as hooks let it pass, or what they have against it.
pub(crate) async fn filter_prompt(
    context: &Arc<SessionContext>,
    supervisor: &Supervisor,
    root: TaskId,
    mut message: SendParams,
) -> Result<SendParams, InputRejection> {
    if !has_prompt_hook(context, root, &message) {
        return Ok(message);
    }
    let mut prompt = message.text.clone();
    context.redactor.redact_text(&mut prompt);
    let occasion = HookEventData::Prompt { prompt };
    let Some(verdict) = run_root_hooks(context, supervisor, root, occasion).await else { return Ok(message) };
    if let Some(reason) = verdict.denial_reason() {
        return Err(InputRejection::Hook(reason.to_owned()));
    }
    let words = verdict.replacement_text.unwrap_or(message.text);
    message.text = std::iter::once(words).chain(verdict.context).collect::<Vec<_>>().join("\n\n");
    Ok(message)
}

/// Whether a hook of the session or of the root's own agent listens to such an event.
fn has_root_hook(context: &SessionContext, root: TaskId, event: HookEvent) -> bool {
    let is_own =
        || context.current_definition(root).is_some_and(|own| own.hooks.iter().any(|hook| hook.event == event));
    context.session_hooks.has_hook_for(event) || is_own()
}

/// What hooks say to something that concerns the root; nothing when none of them listens.
async fn run_root_hooks(
    context: &Arc<SessionContext>,
    supervisor: &Supervisor,
    root: TaskId,
    occasion: HookEventData,
) -> Option<hooks::HookVerdict> {
    if !has_root_hook(context, root, occasion.event(true)) {
        return None;
    }
    let run = supervisor.query(move |kernel| kernel.task(root).map(kernel::KernelTask::run_id)).await.ok()??;
    Some(run_hooks(context, run, occasion).await)
}

//! A session's beginning and end, and the prompts that a person gives it.

use std::sync::Arc;
use std::time::Duration;

use hooks::{Occasion, Origin};
use protocol::api::SendParams;
use protocol::{HookEvent, TaskId};

use super::tell;
use crate::agent::Desk;
use crate::supervisor::{Rejected, Supervisor};

/// How long hooks on the end of a session are waited for, all together.
const LEAVING: Duration = Duration::from_secs(10);

/// Tells hooks that the session begins. What they say, the root hears when it is woken first.
pub(crate) async fn started(desk: &Arc<Desk>, supervisor: &Supervisor, root: TaskId, origin: Origin) {
    if let Some(verdict) = told(desk, supervisor, root, Occasion::SessionStart(origin)).await {
        desk.listeners.keep(verdict.context);
    }
}

/// Tells hooks that the session's run ends.
pub(crate) async fn ended(desk: &Arc<Desk>, supervisor: &Supervisor, root: TaskId) {
    let occasion = Occasion::SessionEnd { reason: "other".into() };
    if tokio::time::timeout(LEAVING, told(desk, supervisor, root, occasion)).await.is_err() {
        tracing::warn!("hooks on the end of the session took too long");
    }
}

/// Whether any hook is told of such a message.
pub(crate) fn hear_prompt(desk: &Arc<Desk>, root: TaskId, message: &SendParams) -> bool {
    message.task.is_none_or(|task| task == root) && listen(desk, root, HookEvent::UserPromptSubmitted)
}

/// A person's prompt to the root as hooks let it pass, or what they have against it.
pub(crate) async fn prompted(
    desk: &Arc<Desk>,
    supervisor: &Supervisor,
    root: TaskId,
    mut message: SendParams,
) -> Result<SendParams, Rejected> {
    if !hear_prompt(desk, root, &message) {
        return Ok(message);
    }
    let mut prompt = message.text.clone();
    desk.redactor.text(&mut prompt);
    let occasion = Occasion::Prompt { prompt };
    let Some(verdict) = told(desk, supervisor, root, occasion).await else { return Ok(message) };
    if let Some(reason) = verdict.denied() {
        return Err(Rejected::Hook(reason.to_owned()));
    }
    let words = verdict.text.unwrap_or(message.text);
    message.text = std::iter::once(words).chain(verdict.context).collect::<Vec<_>>().join("\n\n");
    Ok(message)
}

/// Whether a hook of the session or of the root's own agent listens to such an event.
fn listen(desk: &Desk, root: TaskId, event: HookEvent) -> bool {
    let is_own = || desk.present(root).is_some_and(|own| own.hooks.iter().any(|hook| hook.event == event));
    desk.listeners.listen(event) || is_own()
}

/// What hooks say to something that concerns the root; nothing when none of them listens.
async fn told(desk: &Arc<Desk>, supervisor: &Supervisor, root: TaskId, occasion: Occasion) -> Option<hooks::Verdict> {
    if !listen(desk, root, occasion.event(true)) {
        return None;
    }
    let run = supervisor.look(move |kernel| kernel.task(root).map(kernel::Task::run)).await.ok()??;
    Some(tell(desk, run, occasion).await)
}

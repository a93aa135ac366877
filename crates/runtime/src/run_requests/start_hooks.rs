//! The hooks on the start of an activation.

use std::sync::Arc;

use hooks::{HookEventData, HookVerdict, ToolUse};
use protocol::{RunId, TaskId};

use crate::hooks::run_hooks;
use crate::roster::RosterEntry;
use crate::session_context::SessionContext;
use crate::supervisor::Supervisor;

/// Runs the start hooks of a run's task; returns nothing if it has no hooks on start or end. The root's start hooks are
/// those of the session, which have run.
pub(super) async fn run(context: &Arc<SessionContext>, run: RunId) -> Option<HookVerdict> {
    if !context.has_lifecycle_hooks(run.task) {
        return None;
    }
    Some(if context.is_root(run.task) {
        HookVerdict { context: context.session_hooks.take_context(), ..HookVerdict::default() }
    } else {
        run_hooks(context, run, HookEventData::AgentStart).await
    })
}

/// Runs the permission-denied hooks of the parent for the call that started a task.
pub(super) async fn report_denial(
    context: &Arc<SessionContext>,
    supervisor: &Supervisor,
    task: TaskId,
    reason: String,
) {
    let start_call = |entry: &RosterEntry| {
        let input = serde_json::json!({ "agent_type": entry.spec.agent, "name": entry.spec.name });
        entry.spec.call.clone().zip(entry.spec.parent).map(|(id, parent)| (id, parent, input.to_string()))
    };
    let Some((id, parent, input)) = context.log.roster.with_task(task, start_call).flatten() else { return };
    let parent = supervisor.query(move |kernel| kernel.task(parent).map(kernel::KernelTask::run_id)).await;
    let Ok(Some(run)) = parent else { return };
    let call = ToolUse { id, tool: protocol::tool_name::TASK.into(), input };
    let _verdict = run_hooks(context, run, HookEventData::PermissionDenied { call, reason }).await;
}

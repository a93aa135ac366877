//! Compacts a conversation when the user asks for it.

use std::sync::Arc;

use hooks::HookEventData;
use kernel::{InputRefusal, KernelInput, TaskPhase};
use protocol::{Hinted, TaskId};
use store::StoreError;

use crate::agent::{compact_fully, mark_requested};
use crate::hooks::run_hooks;
use crate::prepared_agent::PrepareAgentError;
use crate::run_requests::{LocalSession, TaskProfile};
use crate::session_context::SessionContext;
use crate::supervisor::{InputRejection, Supervisor};

/// Why a conversation is not compacted.
#[derive(Debug, thiserror::Error)]
pub(super) enum CompactError {
    #[error(transparent)]
    Rejected(#[from] InputRejection),
    #[error(transparent)]
    Agent(#[from] PrepareAgentError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Hinted for CompactError {
    fn hint(&self) -> Option<String> {
        match self {
            CompactError::Agent(error) => error.hint(),
            CompactError::Rejected(_) | CompactError::Store(_) => None,
        }
    }
}

/// Compacts the conversation of an idle task on request. The conversation of a busy task is compacted before its next
/// turn.
pub(super) async fn compact_now(
    context: &Arc<SessionContext>,
    supervisor: &Supervisor,
    task: TaskId,
) -> Result<CompactionOutcome, CompactError> {
    let run_and_phase =
        supervisor.query(move |kernel| kernel.task(task).map(|task| (task.run_id(), task.phase.clone()))).await;
    let Some((run, TaskPhase::Idle)) = run_and_phase? else {
        context.request_compaction(task);
        return Ok(CompactionOutcome::Later);
    };
    let prepared = context.prepared_agent(task)?;
    let conversation = context.log.conversation(task)?;
    let profile = TaskProfile::of(context, task).map_err(|_unknown| PrepareAgentError::UnknownTask(task))?;
    let session = LocalSession::new(Arc::clone(context), supervisor.clone(), run);
    let compaction = compact_fully(&session, (&profile, &prepared), &conversation).await?;
    let Some(compaction) = compaction.map(mark_requested) else { return Ok(CompactionOutcome::Nothing) };
    let messages = compaction.messages;
    // The user requested the compaction, so hooks cannot prevent it.
    let _verdict = run_hooks(context, run, HookEventData::Compact(compaction.cause)).await;
    match supervisor.submit(KernelInput::Compact { task, compaction }).await {
        Ok(_receipt) => Ok(CompactionOutcome::Done { messages }),
        Err(InputRejection::Refused(InputRefusal::TurnInProgress)) => {
            context.request_compaction(task);
            Ok(CompactionOutcome::Later)
        }
        Err(rejected) => Err(rejected.into()),
    }
}

/// The outcome of a requested compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CompactionOutcome {
    /// A digest replaces this number of messages.
    Done {
        /// The number of messages.
        messages: u32,
    },
    /// The compaction follows before the next turn.
    Later,
    /// There is nothing worth leaving out.
    Nothing,
}

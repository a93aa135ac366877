//! Cuts the conversation of a session at an earlier message.

use kernel::KernelInput;
use protocol::{Hinted, TaskId};
use store::StoreError;

use crate::session_context::SessionContext;
use crate::supervisor::{InputRejection, Supervisor};

/// Why a conversation is not cut.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConversationCutError {
    #[error("the conversation cannot be cut after event {0}")]
    NoCutPoint(u64),
    #[error(transparent)]
    Rejected(#[from] InputRejection),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Hinted for ConversationCutError {
    fn hint(&self) -> Option<String> {
        match self {
            ConversationCutError::NoCutPoint(_) => {
                Some("cut it right before a message of the user that is not older than the last compaction".into())
            }
            ConversationCutError::Rejected(_) | ConversationCutError::Store(_) => None,
        }
    }
}

/// Removes the messages that a task got after an event. Its conversation must be at rest.
pub(crate) async fn cut_conversation(
    context: &SessionContext,
    supervisor: &Supervisor,
    task: TaskId,
    after: u64,
) -> Result<(), ConversationCutError> {
    expect_cut_point(context, task, after)?;
    supervisor.submit(KernelInput::CutConversation { task, after }).await?;
    Ok(())
}

/// Fails unless a conversation can be cut after an event.
pub(crate) fn expect_cut_point(context: &SessionContext, task: TaskId, after: u64) -> Result<(), ConversationCutError> {
    match context.log.conversation(task)?.can_cut(after) {
        true => Ok(()),
        false => Err(ConversationCutError::NoCutPoint(after)),
    }
}

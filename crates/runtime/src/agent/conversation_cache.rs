//! Conversations kept between activations. An agent that is prompted again resumes its conversation and reads only the
//! new part of its log: reading the whole log each time would cost more with every message.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use protocol::{CompletionPolicy, TaskId};
use store::StoreError;

use super::SessionContext;
use crate::conversation::Conversation;

/// How many conversations of subagents are kept. The others are read from the log again when they resume.
const MAX_RECENT: usize = 8;

/// The conversations of idle agents.
#[derive(Debug, Default)]
pub(crate) struct ConversationCache(Mutex<CachedConversations>);

#[derive(Debug, Default)]
struct CachedConversations {
    root: Option<(TaskId, Conversation)>,
    /// The longest idle first.
    recent: VecDeque<(TaskId, Conversation)>,
}

impl CachedConversations {
    fn take(&mut self, task: TaskId) -> Option<Conversation> {
        if let Some((_, root)) = self.root.take_if(|(root, _)| *root == task) {
            return Some(root);
        }
        let at = self.recent.iter().position(|(kept, _)| *kept == task)?;
        self.recent.remove(at).map(|(_, conversation)| conversation)
    }

    fn put(&mut self, task: TaskId, conversation: Conversation) {
        self.recent.push_back((task, conversation));
        if self.recent.len() > MAX_RECENT {
            self.recent.pop_front();
        }
    }
}

impl SessionContext {
    /// A task's conversation as of the log, for the run that resumes it.
    pub(super) fn resume_conversation(&self, task: TaskId) -> Result<Conversation, StoreError> {
        let kept = self.conversations.0.lock().unwrap_or_else(PoisonError::into_inner).take(task);
        let mut conversation = kept.unwrap_or_default();
        for envelope in self.task_log_after(task, conversation.seq())? {
            conversation.apply_event(&envelope, self);
        }
        Ok(conversation)
    }

    /// Keeps the conversation of a run that has ended, if its agent may resume it.
    pub(super) fn cache_conversation(&self, task: TaskId, conversation: Conversation) {
        let known = self.roster.with_task(task, |known| (known.depth == 0, known.spec.on_complete));
        let mut kept = self.conversations.0.lock().unwrap_or_else(PoisonError::into_inner);
        match known {
            Some((true, _)) => kept.root = Some((task, conversation)),
            Some((false, CompletionPolicy::Idle)) => kept.put(task, conversation),
            Some((false, CompletionPolicy::Finish)) | None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: u128) -> TaskId {
        TaskId::new(format!("{n:032x}").parse().unwrap())
    }

    #[test]
    fn only_the_latest_conversations_are_kept_and_each_is_taken_once() {
        let mut kept =
            CachedConversations { root: Some((id(0), Conversation::default())), ..CachedConversations::default() };
        (1..=100).for_each(|n| kept.put(id(n), Conversation::default()));
        assert!(kept.take(id(92)).is_none() && kept.take(id(93)).is_some() && kept.take(id(93)).is_none());
        assert!(kept.take(id(0)).is_some() && kept.take(id(0)).is_none());
        assert_eq!(kept.recent.len(), MAX_RECENT - 1);
    }
}

//! Conversations kept between activations. An agent that is prompted again resumes its conversation and reads only the
//! new part of its log: reading the whole log each time would cost more with every message.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use protocol::{CompletionPolicy, TaskId};

use crate::conversation::Conversation;
use crate::run_requests::TaskProfile;

/// How many conversations of subagents are kept. The others are read from the log again when they resume.
const MAX_RECENT_CONVERSATIONS: usize = 8;

/// The conversations of idle agents.
#[derive(Debug, Default)]
pub(crate) struct ConversationCache(Mutex<CachedConversations>);

#[derive(Debug, Default)]
struct CachedConversations {
    root: Option<(TaskId, Conversation)>,
    /// Conversations of subagents, the longest idle first.
    recent: VecDeque<(TaskId, Conversation)>,
}

impl CachedConversations {
    fn take(&mut self, task: TaskId) -> Option<Conversation> {
        if let Some((_, root)) = self.root.take_if(|(root, _)| *root == task) {
            return Some(root);
        }
        let index = self.recent.iter().position(|(kept, _)| *kept == task)?;
        self.recent.remove(index).map(|(_, conversation)| conversation)
    }

    fn put_recent(&mut self, task: TaskId, conversation: Conversation) {
        self.recent.push_back((task, conversation));
        if self.recent.len() > MAX_RECENT_CONVERSATIONS {
            self.recent.pop_front();
        }
    }
}

impl ConversationCache {
    /// Takes the conversation of a task for the run that resumes it.
    pub(super) fn take(&self, task: TaskId) -> Option<Conversation> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take(task)
    }

    /// Keeps the conversation of a run that has ended, if its agent may resume it.
    pub(super) fn put(&self, profile: &TaskProfile, conversation: Conversation) {
        let mut cached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match (profile.is_root(), profile.spec.on_complete) {
            (true, _) => cached.root = Some((profile.task, conversation)),
            (false, CompletionPolicy::Idle) => cached.put_recent(profile.task, conversation),
            (false, CompletionPolicy::Finish) => {}
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
    fn only_recent_conversations_are_cached_and_each_is_taken_once() {
        let mut cache =
            CachedConversations { root: Some((id(0), Conversation::default())), ..CachedConversations::default() };
        (1..=100).for_each(|n| cache.put_recent(id(n), Conversation::default()));
        assert!(cache.take(id(92)).is_none() && cache.take(id(93)).is_some() && cache.take(id(93)).is_none());
        assert!(cache.take(id(0)).is_some() && cache.take(id(0)).is_none());
        assert_eq!(cache.recent.len(), MAX_RECENT_CONVERSATIONS - 1);
    }
}

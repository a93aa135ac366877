//! What this process remembers of the files of each task.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use protocol::TaskId;
use tools::FileStamps;

use crate::expectations::FileSnapshot;

/// How many tasks without a run are remembered.
const MAX_IDLE: usize = 32;

/// What one task has seen of its files, in all its activations in this process.
#[derive(Debug, Default)]
pub(crate) struct TaskMemory {
    /// The files that the agent has read, as it last saw them. Files that only another agent has read do not count.
    pub(crate) stamps: Arc<FileStamps>,
    /// The files that the task is expected to change, as they were when this process first ran it.
    pub(crate) expected_files: OnceLock<FileSnapshot>,
}

/// The memories of tasks. A task whose memory is dropped starts without it, as it would in a new process.
#[derive(Debug, Default)]
pub(crate) struct TaskMemories(Mutex<Remembered>);

#[derive(Debug, Default)]
struct Remembered {
    tasks: HashMap<TaskId, (u64, Arc<TaskMemory>)>,
    /// Counts the requests, to find the memories that were used last.
    requests: u64,
}

impl TaskMemories {
    /// The memory of a task.
    pub(crate) fn of(&self, task: TaskId) -> Arc<TaskMemory> {
        let mut remembered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        remembered.requests += 1;
        let now = remembered.requests;
        if remembered.tasks.len() == remembered.tasks.capacity() {
            remembered.forget_idle();
        }
        let (used, memory) = remembered.tasks.entry(task).or_default();
        *used = now;
        Arc::clone(memory)
    }
}

impl Remembered {
    /// Forgets tasks that no run uses, except those used last.
    fn forget_idle(&mut self) {
        let is_idle = |memory: &Arc<TaskMemory>| Arc::strong_count(memory) == 1;
        let idle = self.tasks.values().filter(|(_, memory)| is_idle(memory));
        let mut used: Vec<u64> = idle.map(|(used, _)| *used).collect();
        used.sort_unstable();
        let Some(oldest_kept) = used.len().checked_sub(MAX_IDLE).and_then(|index| used.get(index).copied()) else {
            return;
        };
        self.tasks.retain(|_, (used, memory)| *used >= oldest_kept || !is_idle(memory));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: u128) -> TaskId {
        TaskId::new(format!("{n:032x}").parse().unwrap())
    }

    #[test]
    fn tasks_with_a_run_and_the_latest_others_are_remembered() {
        let memories = TaskMemories::default();
        let held = memories.of(id(0));
        (1..=1_000).for_each(|n| drop(memories.of(id(n))));
        assert!(Arc::ptr_eq(&held, &memories.of(id(0))));
        let remembered = memories.0.lock().unwrap();
        assert!(remembered.tasks.contains_key(&id(1_000)) && remembered.tasks.len() < 200);
    }
}

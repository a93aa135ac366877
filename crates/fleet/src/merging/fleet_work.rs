//! The work of a fleet's workers, folded from the log.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use git::Commit;
use protocol::{Event, FleetEnd, Isolation, LogEntry, TaskId, TodoId};
use store::{SessionReader, StoreError};

use crate::services::FinishedTodo;

/// How many events are read at a time.
const PAGE_EVENTS: usize = 512;

/// The work of a fleet's workers.
#[derive(Debug, Default)]
pub(super) struct FleetWork {
    /// How many fleets were finished before this one.
    pub(super) finished_fleets: u32,
    /// The commit with the work of each todo.
    pub(super) commits: BTreeMap<TodoId, Commit>,
    /// The merged todos, each with its merge commit.
    pub(super) merged: BTreeMap<TodoId, Commit>,
    /// The latest merge.
    pub(super) tip: Option<Commit>,
    /// The agents that were started to resolve conflicts.
    pub(super) resolvers: Vec<ConflictResolver>,
    /// The checkouts of workers and of agents that resolve conflicts.
    pub(super) checkouts: BTreeMap<TaskId, String>,
    /// The commit that each task's checkout was sealed as.
    sealed: HashMap<TaskId, Commit>,
    /// The workers, and the agents that resolve conflicts.
    workers: HashSet<TaskId>,
    /// Whether the fleet has ended with all todos done.
    is_over: bool,
    /// The last event that was applied.
    last_seq: u64,
}

/// An agent that was started to resolve a conflict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ConflictResolver {
    pub(super) task: TaskId,
    /// The todo whose work conflicts.
    pub(super) todo: TodoId,
    /// The merge that it started from.
    pub(super) base: Commit,
}

impl FleetWork {
    /// Applies the events since the last call.
    pub(super) fn catch_up(&mut self, reader: &SessionReader) -> Result<(), StoreError> {
        loop {
            let page = reader.events_after(self.last_seq, PAGE_EVENTS)?;
            for envelope in &page {
                self.last_seq = envelope.seq;
                self.apply_event(&envelope.entry);
            }
            if page.len() < PAGE_EVENTS {
                return Ok(());
            }
        }
    }

    /// Removes work whose todo is not done any more: it was deleted or reopened.
    pub(super) fn retain_done(&mut self, done: &[FinishedTodo]) {
        let done: BTreeSet<&TodoId> = done.iter().map(|done| &done.todo.id).collect();
        self.commits.retain(|todo, _| done.contains(todo));
    }

    /// The commit that a task's checkout was sealed as.
    pub(super) fn sealed(&self, task: TaskId) -> Option<&Commit> {
        self.sealed.get(&task)
    }

    fn apply_event(&mut self, entry: &LogEntry) {
        match &entry.event {
            // The work of a finished fleet is already the user's; an unfinished fleet continues.
            Event::FleetBegan(_) if self.is_over => {
                *self = FleetWork {
                    finished_fleets: self.finished_fleets + 1,
                    last_seq: self.last_seq,
                    ..FleetWork::default()
                };
            }
            Event::FleetEnded { end, .. } => self.is_over = *end == FleetEnd::Done,
            Event::TaskCreated(spec) => {
                if spec.todo.is_some() || spec.merges.is_some() {
                    self.workers.insert(entry.task);
                }
                if let (Some(todo), Some(Isolation::Worktree { base: Some(base), .. })) =
                    (&spec.merges, &spec.isolation)
                {
                    let (task, todo) = (entry.task, todo.clone());
                    let resolver = Commit::new(base).map(|base| ConflictResolver { task, todo, base });
                    self.resolvers.extend(resolver);
                }
            }
            Event::WorkCheckedOut { path, .. } if self.workers.contains(&entry.task) => {
                self.checkouts.insert(entry.task, path.clone());
            }
            Event::WorkSealed { commit, .. } => {
                self.sealed.extend(Commit::new(commit).map(|commit| (entry.task, commit)));
            }
            Event::TodoDone { todo, fence: Some(_), .. } => self.record_done(todo, entry.task),
            Event::TodoDone { todo, fence: None, reused } => {
                let work = reused.as_ref().and_then(|reused| reused.commit.as_deref()).and_then(Commit::new);
                work.into_iter().for_each(|work| self.record_reused(todo, work));
            }
            Event::WorkMerged { todo, commit } => {
                if let Some(commit) = Commit::new(commit) {
                    self.tip = Some(commit.clone());
                    self.merged.insert(todo.clone(), commit);
                }
            }
            _other => {}
        }
    }

    /// Queues the work of an earlier run for merging, unless it is merged already.
    fn record_reused(&mut self, todo: &TodoId, work: Commit) {
        if self.commits.get(todo) != Some(&work) {
            self.merged.remove(todo);
            self.commits.insert(todo.clone(), work);
        }
    }

    fn record_done(&mut self, todo: &TodoId, task: TaskId) {
        self.merged.remove(todo);
        match self.sealed.get(&task) {
            Some(commit) => self.commits.insert(todo.clone(), commit.clone()),
            None => self.commits.remove(todo),
        };
    }
}

#[cfg(test)]
mod tests {
    use protocol::{FleetConfig, TaskSpec, TaskType, Timestamp};
    use uuid::Uuid;

    use super::*;

    fn id(n: u128) -> TaskId {
        TaskId::new(Uuid::from_u128(n))
    }

    fn commit(n: u8) -> Commit {
        Commit::new(&format!("{n:040x}")).unwrap()
    }

    fn fleet_config() -> FleetConfig {
        serde_json::from_value(serde_json::json!({ "goal": "", "retries": 0, "rounds": 0, "isolated": true })).unwrap()
    }

    fn read(work: &mut FleetWork, task: u128, event: Event) {
        work.apply_event(&LogEntry { task: id(task), at: Timestamp(0), event });
    }

    fn seal(work: &mut FleetWork, task: u128, n: u8) {
        let json = serde_json::json!({ "type": "workSealed", "commit": commit(n).as_str() });
        read(work, task, serde_json::from_value(json).unwrap());
    }

    #[test]
    fn the_work_of_a_todo_is_the_commit_that_its_worker_sealed() {
        let mut work = FleetWork::default();
        let done = |fence| Event::TodoDone { todo: "a".into(), fence, reused: None };
        read(&mut work, 1, Event::FleetBegan(fleet_config()));
        seal(&mut work, 2, 1);
        assert!(work.commits.is_empty(), "a failed worker contributes nothing");
        seal(&mut work, 3, 2);
        read(&mut work, 3, done(Some(2)));
        assert_eq!(work.commits[&TodoId::from("a")], commit(2));
        read(&mut work, 1, Event::WorkMerged { todo: "a".into(), commit: commit(7).to_string() });
        assert_eq!((work.merged.len(), &work.tip), (1, &Some(commit(7))));
        read(&mut work, 1, done(None));
        assert_eq!(work.merged.len(), 1, "earlier work stays merged");
        seal(&mut work, 4, 3);
        read(&mut work, 4, done(Some(3)));
        assert_eq!(work.commits[&TodoId::from("a")], commit(3));
        assert!(work.merged.is_empty(), "new work is merged again");
    }

    #[test]
    fn reused_work_is_merged_once() {
        let mut work = FleetWork::default();
        let reused = |n| {
            let result = protocol::ReusedResult { result: String::new(), commit: Some(commit(n).to_string()) };
            Event::TodoDone { todo: "a".into(), fence: None, reused: Some(result) }
        };
        read(&mut work, 1, Event::FleetBegan(fleet_config()));
        read(&mut work, 1, reused(1));
        assert_eq!(work.commits[&TodoId::from("a")], commit(1));
        read(&mut work, 1, Event::WorkMerged { todo: "a".into(), commit: commit(7).to_string() });
        read(&mut work, 1, reused(1));
        assert_eq!(work.merged.len(), 1);
        read(&mut work, 1, reused(2));
        assert_eq!((work.merged.len(), &work.commits[&TodoId::from("a")]), (0, &commit(2)));
    }

    #[test]
    fn work_of_a_removed_todo_is_left_out() {
        let mut work = FleetWork::default();
        for (todo, task) in [("a", 2), ("b", 3)] {
            seal(&mut work, task, 1);
            read(&mut work, task, Event::TodoDone { todo: todo.into(), fence: Some(1), reused: None });
        }
        work.retain_done(&[FinishedTodo { todo: protocol::Todo::new("b", "B"), commit: None }]);
        assert_eq!(work.commits.keys().collect::<Vec<_>>(), [&TodoId::from("b")]);
    }

    #[test]
    fn an_unfinished_fleet_continues_and_a_finished_one_does_not() {
        let mut work = FleetWork::default();
        for (end, fleets, remaining) in [(FleetEnd::Stopped, 0, 1), (FleetEnd::Blocked, 0, 1), (FleetEnd::Done, 1, 0)] {
            read(&mut work, 1, Event::FleetBegan(fleet_config()));
            seal(&mut work, 3, 2);
            read(&mut work, 3, Event::TodoDone { todo: "a".into(), fence: Some(1), reused: None });
            read(&mut work, 1, Event::FleetEnded { end, why: None });
            read(&mut work, 1, Event::FleetBegan(fleet_config()));
            assert_eq!((work.finished_fleets, work.commits.len()), (fleets, remaining), "{end:?}");
        }
    }

    #[test]
    fn a_resolver_is_identified_by_its_base_commit() {
        let mut work = FleetWork::default();
        let isolation = Some(Isolation::Worktree { base: Some(commit(9).to_string()), dirty: false });
        let spec = TaskSpec { merges: Some("a".into()), isolation, ..TaskSpec::new(TaskType::Agent, "a", "merge-a") };
        read(&mut work, 5, Event::TaskCreated(Box::new(spec)));
        assert_eq!(work.resolvers, [ConflictResolver { task: id(5), todo: "a".into(), base: commit(9) }]);
    }
}

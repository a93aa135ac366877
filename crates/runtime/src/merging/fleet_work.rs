//! The work of a fleet's workers, folded from the log.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use git::Commit;
use protocol::{Event, FleetEnd, Isolation, LogEntry, TaskId, TodoId};
use store::{SessionReader, StoreError};

use crate::fleet::FinishedTodo;

/// How many events are read at a time.
const PAGE: usize = 512;

/// The work of a fleet's workers.
#[derive(Debug, Default)]
pub(super) struct FleetWork {
    /// How many fleets were finished before this one.
    pub(super) fleets: u32,
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
    sealed: HashMap<TaskId, Commit>,
    workers: HashSet<TaskId>,
    is_over: bool,
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
            let page = reader.events_after(self.last_seq, PAGE)?;
            for envelope in &page {
                self.last_seq = envelope.seq;
                self.read(&envelope.entry);
            }
            if page.len() < PAGE {
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

    fn read(&mut self, entry: &LogEntry) {
        match &entry.event {
            // The work of a finished fleet is already the user's; an unfinished fleet continues.
            Event::FleetBegan(_) if self.is_over => {
                *self = FleetWork { fleets: self.fleets + 1, last_seq: self.last_seq, ..FleetWork::default() };
            }
            Event::FleetEnded { end } => self.is_over = *end == FleetEnd::Done,
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
            Event::TodoDone { todo, fence: Some(_), .. } => self.done(todo, entry.task),
            Event::TodoDone { todo, fence: None, reused } => {
                let work = reused.as_ref().and_then(|reused| reused.commit.as_deref()).and_then(Commit::new);
                work.into_iter().for_each(|work| self.reuse(todo, work));
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
    fn reuse(&mut self, todo: &TodoId, work: Commit) {
        if self.commits.get(todo) != Some(&work) {
            self.merged.remove(todo);
            self.commits.insert(todo.clone(), work);
        }
    }

    fn done(&mut self, todo: &TodoId, task: TaskId) {
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

    fn terms() -> FleetConfig {
        serde_json::from_value(serde_json::json!({ "goal": "", "retries": 0, "rounds": 0, "isolated": true })).unwrap()
    }

    fn read(works: &mut FleetWork, task: u128, event: Event) {
        works.read(&LogEntry { task: id(task), at: Timestamp(0), event });
    }

    fn seal(works: &mut FleetWork, task: u128, n: u8) {
        let json = serde_json::json!({ "type": "workSealed", "commit": commit(n).as_str() });
        read(works, task, serde_json::from_value(json).unwrap());
    }

    #[test]
    fn what_a_todo_brought_is_what_whoever_did_it_sealed() {
        let mut works = FleetWork::default();
        let done = |fence| Event::TodoDone { todo: "a".into(), fence, reused: None };
        read(&mut works, 1, Event::FleetBegan(terms()));
        seal(&mut works, 2, 1);
        assert!(works.commits.is_empty(), "a worker that failed brings nothing");
        seal(&mut works, 3, 2);
        read(&mut works, 3, done(Some(2)));
        assert_eq!(works.commits[&TodoId::from("a")], commit(2));
        read(&mut works, 1, Event::WorkMerged { todo: "a".into(), commit: commit(7).to_string() });
        assert_eq!((works.merged.len(), &works.tip), (1, &Some(commit(7))));
        read(&mut works, 1, done(None));
        assert_eq!(works.merged.len(), 1, "what was done before stays as it is");
        seal(&mut works, 4, 3);
        read(&mut works, 4, done(Some(3)));
        assert_eq!(works.commits[&TodoId::from("a")], commit(3));
        assert!(works.merged.is_empty(), "what was done anew is merged anew");
    }

    #[test]
    fn what_an_earlier_run_did_is_merged_once() {
        let mut works = FleetWork::default();
        let reused = |n| {
            let brought = protocol::ReusedResult { result: String::new(), commit: Some(commit(n).to_string()) };
            Event::TodoDone { todo: "a".into(), fence: None, reused: Some(brought) }
        };
        read(&mut works, 1, Event::FleetBegan(terms()));
        read(&mut works, 1, reused(1));
        assert_eq!(works.commits[&TodoId::from("a")], commit(1));
        read(&mut works, 1, Event::WorkMerged { todo: "a".into(), commit: commit(7).to_string() });
        read(&mut works, 1, reused(1));
        assert_eq!(works.merged.len(), 1);
        read(&mut works, 1, reused(2));
        assert_eq!((works.merged.len(), &works.commits[&TodoId::from("a")]), (0, &commit(2)));
    }

    #[test]
    fn work_of_a_todo_that_is_gone_is_left_out() {
        let mut works = FleetWork::default();
        for (todo, task) in [("a", 2), ("b", 3)] {
            seal(&mut works, task, 1);
            read(&mut works, task, Event::TodoDone { todo: todo.into(), fence: Some(1), reused: None });
        }
        works.retain_done(&[FinishedTodo { todo: protocol::Todo::new("b", "B"), work: None }]);
        assert_eq!(works.commits.keys().collect::<Vec<_>>(), [&TodoId::from("b")]);
    }

    #[test]
    fn a_fleet_that_was_broken_off_goes_on_and_one_that_was_done_does_not() {
        let mut works = FleetWork::default();
        for (end, fleets, left) in [(FleetEnd::Stopped, 0, 1), (FleetEnd::Blocked, 0, 1), (FleetEnd::Done, 1, 0)] {
            read(&mut works, 1, Event::FleetBegan(terms()));
            seal(&mut works, 3, 2);
            read(&mut works, 3, Event::TodoDone { todo: "a".into(), fence: Some(1), reused: None });
            read(&mut works, 1, Event::FleetEnded { end });
            read(&mut works, 1, Event::FleetBegan(terms()));
            assert_eq!((works.fleets, works.commits.len()), (fleets, left), "{end:?}");
        }
    }

    #[test]
    fn who_was_started_to_merge_is_known_by_the_merge_that_it_began_with() {
        let mut works = FleetWork::default();
        let isolation = Some(Isolation::Worktree { base: Some(commit(9).to_string()), dirty: false });
        let spec = TaskSpec { merges: Some("a".into()), isolation, ..TaskSpec::new(TaskType::Agent, "a", "merge-a") };
        read(&mut works, 5, Event::TaskCreated(Box::new(spec)));
        assert_eq!(works.resolvers, [ConflictResolver { task: id(5), todo: "a".into(), base: commit(9) }]);
    }
}

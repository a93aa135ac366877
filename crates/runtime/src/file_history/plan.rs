//! Which state each file goes back to, and whether it may: decided from the recorded changes alone.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use protocol::{CallId, TaskId};
use store::file_history::{ChangeAuthor, RecordedChange, RecordedContent};

/// A recorded change, with the number of the event that it followed.
#[derive(Debug, Clone)]
pub(super) struct PlacedChange {
    pub(super) seq: u64,
    pub(super) change: RecordedChange,
}

/// Places changes in the session's log. A call that the log does not have was made after those before it.
pub(super) fn place_changes(changes: Vec<RecordedChange>, calls: &HashMap<(TaskId, CallId), u64>) -> Vec<PlacedChange> {
    let mut last = 0;
    let place = |change: RecordedChange| {
        let seq = match &change.by {
            ChangeAuthor::Call { task, call } => calls.get(&(*task, call.clone())).copied(),
            ChangeAuthor::Rewind { seq } => Some(*seq),
        };
        last = seq.unwrap_or(last);
        PlacedChange { seq: last, change }
    };
    changes.into_iter().map(place).collect()
}

/// How one file goes back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FilePlan {
    /// Its state at the place to go back to.
    pub(super) target: RecordedContent,
    /// Its state after the last recorded change.
    pub(super) last: RecordedContent,
    /// Its state before the last change, if a tool had left it so: the process may have been killed before the change.
    pub(super) unless_made: Option<RecordedContent>,
}

impl FilePlan {
    /// Whether a file is as it was left by the last change.
    pub(super) fn is_as_left(&self, current: &RecordedContent) -> bool {
        current.is_same(&self.last) || self.unless_made.as_ref().is_some_and(|before| current.is_same(before))
    }

    /// Whether a file is as it was at the place to go back to, and no change has happened in effect.
    pub(super) fn is_unchanged(&self) -> bool {
        self.target.is_same(&self.last)
    }
}

/// The files that were changed after an event, and how each of them goes back.
pub(super) fn plan_files(changes: &[PlacedChange], after: u64) -> BTreeMap<PathBuf, FilePlan> {
    let mut plans: BTreeMap<PathBuf, FilePlan> = BTreeMap::new();
    let mut left: HashMap<&PathBuf, &RecordedContent> = HashMap::new();
    for PlacedChange { seq, change } in changes {
        let before = left.insert(&change.path, &change.after);
        let unless_made = before.is_none_or(|left| left.is_same(&change.before)).then(|| change.before.clone());
        match plans.get_mut(&change.path) {
            Some(plan) => (plan.last, plan.unless_made) = (change.after.clone(), unless_made),
            None if *seq > after => {
                let (target, last) = (change.before.clone(), change.after.clone());
                plans.insert(change.path.clone(), FilePlan { target, last, unless_made });
            }
            None => {}
        }
    }
    plans.retain(|_, plan| !plan.is_unchanged());
    plans
}

#[cfg(test)]
mod tests {
    use protocol::Timestamp;

    use super::*;

    fn content(text: &str) -> RecordedContent {
        if text.is_empty() { RecordedContent::Missing } else { RecordedContent::file(text.as_bytes(), 0o644) }
    }

    fn changed(seq: u64, before: &str, after: &str) -> PlacedChange {
        let by = ChangeAuthor::Rewind { seq };
        let change = RecordedChange {
            by,
            at: Timestamp(seq),
            path: "/a".into(),
            before: content(before),
            after: content(after),
        };
        PlacedChange { seq, change }
    }

    fn target(changes: &[PlacedChange], after: u64) -> Option<RecordedContent> {
        plan_files(changes, after).remove(&PathBuf::from("/a")).map(|plan| plan.target)
    }

    #[test]
    fn a_file_goes_back_to_its_state_before_the_first_later_change() {
        let mut changes = vec![changed(10, "", "one"), changed(20, "one", "two"), changed(30, "two", "three")];
        assert_eq!(target(&changes, 5), Some(content("")));
        assert_eq!(target(&changes, 10), Some(content("one")));
        assert_eq!(target(&changes, 25), Some(content("two")));
        assert_eq!(target(&changes, 30), None);
        // A rewind is a change like any other, so it can be taken back.
        changes.push(changed(40, "three", "one"));
        assert_eq!(target(&changes, 15), None, "it is as it was");
        assert_eq!(target(&changes, 35), Some(content("three")));
    }

    #[test]
    fn only_a_file_that_is_as_a_tool_left_it_is_replaced() {
        let path = PathBuf::from("/a");
        let plan = |changes: &[PlacedChange]| plan_files(changes, 0).remove(&path).unwrap();
        let plain = plan(&[changed(10, "", "one"), changed(20, "one", "two")]);
        assert!(plain.is_as_left(&content("two")) && !plain.is_as_left(&content("mine")));
        assert!(plain.is_as_left(&content("one")), "the last change was not made");
        assert!(!plain.is_as_left(&RecordedContent::Unread));
        // Somebody changed the file between the two changes: its content then was not that of a tool.
        let mixed = plan(&[changed(10, "", "one"), changed(20, "one and mine", "two")]);
        assert!(mixed.is_as_left(&content("two")) && !mixed.is_as_left(&content("one and mine")));
    }

    #[test]
    fn a_change_follows_the_start_of_its_call() {
        let task: TaskId = "task-00000000000000000000000000000001".parse().unwrap();
        let of_call = |name: &str| RecordedChange {
            by: ChangeAuthor::Call { task, call: CallId(name.into()) },
            ..changed(0, "", "x").change
        };
        let calls = HashMap::from([((task, CallId("known".into())), 7)]);
        let placed = place_changes(vec![of_call("lost"), of_call("known"), of_call("lost")], &calls);
        assert_eq!(placed.iter().map(|change| change.seq).collect::<Vec<_>>(), [0, 7, 7]);
    }
}

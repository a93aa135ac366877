//! Slots: how many agents run at once, and who is next.

use std::collections::BTreeMap;

use protocol::TaskId;

/// The slots in use and the two lines for them. Those who come back from a wait go first: they hold half-done
/// work, and the tree above them waits for it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Slots {
    pub(crate) held: u32,
    pub(crate) returning: Line,
    pub(crate) fresh: Line,
}

/// A first-come line that a task can also leave from the middle.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Line {
    places: BTreeMap<u64, TaskId>,
    tickets: BTreeMap<TaskId, u64>,
    next: u64,
}

impl Line {
    pub(crate) fn join(&mut self, task: TaskId) {
        self.places.insert(self.next, task);
        self.tickets.insert(task, self.next);
        self.next += 1;
    }

    pub(crate) fn leave(&mut self, task: TaskId) {
        if let Some(ticket) = self.tickets.remove(&task) {
            self.places.remove(&ticket);
        }
    }

    pub(crate) fn first(&self) -> Option<TaskId> {
        self.places.values().next().copied()
    }

    /// Everybody in line, the next first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = TaskId> {
        self.places.values().copied()
    }

    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    #[cfg(test)]
    pub(crate) fn contains(&self, task: TaskId) -> bool {
        self.tickets.contains_key(&task)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(n: u128) -> TaskId {
        TaskId::new(format!("{n:032x}").parse().unwrap())
    }

    #[test]
    fn a_line_serves_in_order_and_lets_people_leave() {
        let mut line = Line::default();
        [3, 1, 2].into_iter().map(task).for_each(|id| line.join(id));
        line.leave(task(3));
        line.leave(task(9));
        assert!(!line.contains(task(3)) && line.contains(task(2)));
        assert_eq!(line.first(), Some(task(1)));
        line.leave(task(1));
        line.join(task(3));
        assert_eq!(line.first(), Some(task(2)));
    }
}

//! Slots: how many agents run at once, and which is next.

use std::collections::BTreeMap;
use std::sync::Arc;

use protocol::TaskId;

/// The slots in use and the two queues for them. Agents that return from a wait go first: they have work in
/// progress, and the tree above them waits for it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Slots {
    pub(crate) held: u32,
    /// How many agents of each type hold a slot.
    held_by: BTreeMap<Arc<str>, u32>,
    pub(crate) returning: SlotQueue,
    pub(crate) starting: SlotQueue,
}

impl Slots {
    pub(crate) fn take(&mut self, kind: &Arc<str>) {
        self.held += 1;
        *self.held_by.entry(Arc::clone(kind)).or_default() += 1;
    }

    pub(crate) fn give_back(&mut self, kind: &str) {
        self.held -= 1;
        if let Some(held) = self.held_by.get_mut(kind) {
            *held -= 1;
        }
    }

    /// How many agents of a type hold a slot or wait for one.
    pub(crate) fn wanted_by(&self, kind: &str) -> u32 {
        let queued = self.starting.count(kind) + self.returning.count(kind);
        self.held_by(kind).saturating_add(u32::try_from(queued).unwrap_or(u32::MAX))
    }

    /// How many agents of a type hold a slot.
    pub(crate) fn held_by(&self, kind: &str) -> u32 {
        self.held_by.get(kind).copied().unwrap_or_default()
    }
}

/// A first-come queue that a task can also leave from the middle. It is kept by type, so that a type without room is
/// skipped in one step.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SlotQueue {
    places: BTreeMap<Arc<str>, BTreeMap<u64, TaskId>>,
    tickets: BTreeMap<TaskId, u64>,
    next: u64,
}

impl SlotQueue {
    pub(crate) fn join(&mut self, task: TaskId, kind: &Arc<str>) {
        self.places.entry(Arc::clone(kind)).or_default().insert(self.next, task);
        self.tickets.insert(task, self.next);
        self.next += 1;
    }

    pub(crate) fn leave(&mut self, task: TaskId, kind: &str) {
        let Some(ticket) = self.tickets.remove(&task) else { return };
        if let Some(places) = self.places.get_mut(kind) {
            places.remove(&ticket);
            if places.is_empty() {
                self.places.remove(kind);
            }
        }
    }

    /// The first in line whose type has room.
    pub(crate) fn first(&self, has_room: impl Fn(&str) -> bool) -> Option<TaskId> {
        let firsts = self.places.iter().filter(|(kind, _)| has_room(kind)).filter_map(|(_, line)| line.iter().next());
        firsts.min().map(|(_, task)| *task)
    }

    fn count(&self, kind: &str) -> usize {
        self.places.get(kind).map_or(0, BTreeMap::len)
    }

    pub(crate) fn len(&self) -> usize {
        self.tickets.len()
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
        let mut line = SlotQueue::default();
        let (a, b): (Arc<str>, Arc<str>) = ("a".into(), "b".into());
        for (n, kind) in [(3, &a), (1, &b), (2, &a)] {
            line.join(task(n), kind);
        }
        line.leave(task(3), &a);
        line.leave(task(9), &a);
        assert!(!line.contains(task(3)) && line.contains(task(2)));
        assert_eq!(line.first(|_| true), Some(task(1)));
        assert_eq!(line.first(|kind| kind == "a"), Some(task(2)));
        line.leave(task(1), &b);
        line.join(task(3), &b);
        assert_eq!(line.first(|_| true), Some(task(2)));
        assert_eq!((line.first(|_| false), line.len()), (None, 2));
    }
}

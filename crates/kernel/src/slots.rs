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
    pub(crate) fn take(&mut self, agent_type: &Arc<str>) {
        self.held += 1;
        *self.held_by.entry(Arc::clone(agent_type)).or_default() += 1;
    }

    pub(crate) fn give_back(&mut self, agent_type: &str) {
        self.held -= 1;
        if let Some(held) = self.held_by.get_mut(agent_type) {
            *held -= 1;
        }
    }

    /// How many agents of a type hold a slot or wait for one.
    pub(crate) fn held_or_queued_by(&self, agent_type: &str) -> u32 {
        let queued = self.starting.count(agent_type) + self.returning.count(agent_type);
        self.held_by(agent_type).saturating_add(u32::try_from(queued).unwrap_or(u32::MAX))
    }

    /// How many agents of a type hold a slot.
    pub(crate) fn held_by(&self, agent_type: &str) -> u32 {
        self.held_by.get(agent_type).copied().unwrap_or_default()
    }
}

/// A first-come queue that a task can also leave from the middle. It is kept by agent type, so that a type without room
/// is skipped in one step.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SlotQueue {
    /// The tasks of each agent type, by ticket.
    by_type: BTreeMap<Arc<str>, BTreeMap<u64, TaskId>>,
    /// The number of each task in the queue; lower numbers come first.
    tickets: BTreeMap<TaskId, u64>,
    /// The next ticket.
    next_ticket: u64,
}

impl SlotQueue {
    pub(crate) fn join(&mut self, task: TaskId, agent_type: &Arc<str>) {
        self.by_type.entry(Arc::clone(agent_type)).or_default().insert(self.next_ticket, task);
        self.tickets.insert(task, self.next_ticket);
        self.next_ticket += 1;
    }

    pub(crate) fn leave(&mut self, task: TaskId, agent_type: &str) {
        let Some(ticket) = self.tickets.remove(&task) else { return };
        if let Some(places) = self.by_type.get_mut(agent_type) {
            places.remove(&ticket);
            if places.is_empty() {
                self.by_type.remove(agent_type);
            }
        }
    }

    /// The first in line whose type has room.
    pub(crate) fn first(&self, has_room: impl Fn(&str) -> bool) -> Option<TaskId> {
        let firsts = self
            .by_type
            .iter()
            .filter(|(agent_type, _)| has_room(agent_type))
            .filter_map(|(_, queue)| queue.iter().next());
        firsts.min().map(|(_, task)| *task)
    }

    fn count(&self, agent_type: &str) -> usize {
        self.by_type.get(agent_type).map_or(0, BTreeMap::len)
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
    fn a_queue_keeps_its_order_and_tasks_can_leave_it() {
        let mut queue = SlotQueue::default();
        let (a, b): (Arc<str>, Arc<str>) = ("a".into(), "b".into());
        for (n, agent_type) in [(3, &a), (1, &b), (2, &a)] {
            queue.join(task(n), agent_type);
        }
        queue.leave(task(3), &a);
        queue.leave(task(9), &a);
        assert!(!queue.contains(task(3)) && queue.contains(task(2)));
        assert_eq!(queue.first(|_| true), Some(task(1)));
        assert_eq!(queue.first(|agent_type| agent_type == "a"), Some(task(2)));
        queue.leave(task(1), &b);
        queue.join(task(3), &b);
        assert_eq!(queue.first(|_| true), Some(task(2)));
        assert_eq!((queue.first(|_| false), queue.len()), (None, 2));
    }
}

//! The tasks of a session. Two states that know the same of a task can keep it once: a session may have thousands of
//! tasks that are over, and its owner has two states.

use std::collections::BTreeMap;
use std::sync::Arc;

use protocol::TaskId;

use crate::KernelTask;

/// Most children of a task that is kept once: whoever changes it first makes a copy of it.
const FEW: usize = 8;

/// The tasks of a session, by their ids.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct KernelTasks(BTreeMap<TaskId, Arc<KernelTask>>);

impl KernelTasks {
    pub(crate) fn get(&self, id: &TaskId) -> Option<&KernelTask> {
        self.0.get(id).map(Arc::as_ref)
    }

    /// A task to be changed. One that another state has too becomes this one's own.
    pub(crate) fn get_mut(&mut self, id: &TaskId) -> Option<&mut KernelTask> {
        self.0.get_mut(id).map(Arc::make_mut)
    }

    pub(crate) fn contains_key(&self, id: &TaskId) -> bool {
        self.0.contains_key(id)
    }

    pub(crate) fn insert(&mut self, task: KernelTask) {
        self.0.insert(task.id, Arc::new(task));
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &TaskId> {
        self.0.keys()
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &KernelTask> {
        self.0.values().map(Arc::as_ref)
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Those of the tasks to be changed that `which` picks.
    pub(crate) fn some_mut(&mut self, which: impl Fn(&KernelTask) -> bool) -> impl Iterator<Item = &mut KernelTask> {
        self.0.values_mut().filter(move |task| which(task)).map(Arc::make_mut)
    }

    /// Keeps a task that is at rest once, if the other state knows the same of it.
    pub(crate) fn share(&mut self, id: TaskId, with: &KernelTasks) {
        if let (Some(own), Some(other)) = (self.0.get_mut(&id), with.0.get(&id))
            && other.phase.is_at_rest()
            && other.children.len() <= FEW
            && !Arc::ptr_eq(own, other)
            && own == other
        {
            *own = Arc::clone(other);
        }
    }
}

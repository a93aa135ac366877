//! The tasks of a session. Two states that hold the same task can share its memory: a session may have thousands of
//! finished tasks, and its owner holds a committed state and a draft.

use std::collections::BTreeMap;
use std::sync::Arc;

use protocol::TaskId;

use crate::KernelTask;

/// Tasks with more children than this are not shared: the first state to change a shared task must copy it, with its
/// list of children.
const MAX_SHARED_CHILDREN: usize = 8;

/// The tasks of a session, by their ids.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct KernelTasks(BTreeMap<TaskId, Arc<KernelTask>>);

impl KernelTasks {
    pub(crate) fn get(&self, id: &TaskId) -> Option<&KernelTask> {
        self.0.get(id).map(Arc::as_ref)
    }

    /// A task to change. A shared task is copied first.
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

    /// The tasks that `which` selects, to change them.
    pub(crate) fn filter_mut(&mut self, which: impl Fn(&KernelTask) -> bool) -> impl Iterator<Item = &mut KernelTask> {
        self.0.values_mut().filter(move |task| which(task)).map(Arc::make_mut)
    }

    /// Shares the memory of a task at rest with another state, if the task is equal in both.
    pub(crate) fn share(&mut self, id: TaskId, with: &KernelTasks) {
        if let (Some(own), Some(other)) = (self.0.get_mut(&id), with.0.get(&id))
            && other.phase.is_at_rest()
            && other.children.len() <= MAX_SHARED_CHILDREN
            && !Arc::ptr_eq(own, other)
            && own == other
        {
            *own = Arc::clone(other);
        }
    }
}

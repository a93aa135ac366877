//! Tools of programs that join a session while it runs. Agents have them from their next activation on, until the
//! program leaves.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tools::Tool;

/// The tools of programs that joined a session. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct JoinedTools(Arc<Mutex<JoinedToolSet>>);

#[derive(Debug, Default)]
struct JoinedToolSet {
    tools: Vec<Arc<dyn Tool>>,
    /// The number of changes.
    version: u64,
}

impl JoinedTools {
    /// Adds tools; one with a name that another has replaces that one.
    pub fn add(&self, tools: impl IntoIterator<Item = Arc<dyn Tool>>) {
        let mut set = self.lock();
        for tool in tools {
            set.tools.retain(|known| known.spec().name != tool.spec().name);
            set.tools.push(tool);
            set.version += 1;
        }
    }

    /// Removes tools, unless others with the same names have replaced them.
    pub fn remove(&self, tools: &[Arc<dyn Tool>]) {
        let mut set = self.lock();
        set.tools.retain(|known| !tools.iter().any(|tool| Arc::ptr_eq(tool, known)));
        set.version += 1;
    }

    /// The tools, in the order in which they were added.
    pub(crate) fn list(&self) -> Vec<Arc<dyn Tool>> {
        self.lock().tools.clone()
    }

    /// Differs after every change.
    pub(crate) fn version(&self) -> u64 {
        self.lock().version
    }

    fn lock(&self) -> MutexGuard<'_, JoinedToolSet> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_there_until_its_program_leaves() {
        let (joined, first, second) = (JoinedTools::default(), tools::ask_user(), tools::ask_user());
        let version = joined.version();
        joined.add([Arc::clone(&first)]);
        joined.clone().add([Arc::clone(&second)]);
        assert_eq!(joined.list().len(), 1, "they have the same name");
        assert_ne!(joined.version(), version);
        joined.remove(&[first]);
        assert_eq!(joined.list().len(), 1, "it was replaced already");
        joined.remove(&[second]);
        assert!(joined.list().is_empty());
    }
}

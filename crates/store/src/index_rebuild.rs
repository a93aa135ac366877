//! Reports of index rebuilds. The caller that opened the index may not be able to show a report, so it is kept here
//! until the command line shows it to the user.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// A rebuild of an index that was lost or damaged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexRebuild {
    /// The index.
    pub path: PathBuf,
    /// What was wrong with it, and where the damaged file is now; none if it was missing.
    pub damaged: Option<(String, PathBuf)>,
    /// How many sessions it has.
    pub sessions: usize,
    /// How many items of shared lists it has.
    pub items: usize,
    /// How many trusted projects it has.
    pub trusted: usize,
}

static UNREPORTED: Mutex<Vec<IndexRebuild>> = Mutex::new(Vec::new());

/// The rebuilds since the last call.
pub fn take_index_rebuilds() -> Vec<IndexRebuild> {
    std::mem::take(&mut *UNREPORTED.lock().unwrap_or_else(PoisonError::into_inner))
}

pub(crate) fn report(rebuild: IndexRebuild) {
    UNREPORTED.lock().unwrap_or_else(PoisonError::into_inner).push(rebuild);
}

impl fmt::Display for IndexRebuild {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let IndexRebuild { path, damaged, sessions, items, trusted } = self;
        let path = path.display();
        match damaged {
            Some((detail, aside)) => {
                write!(f, "{path} was damaged ({detail}) and was rebuilt; the damaged file is {}", aside.display())?;
            }
            None => write!(f, "{path} was missing and was rebuilt")?,
        }
        write!(
            f,
            "; it has {sessions} sessions, {items} items of shared lists and {trusted} trusted projects; \
             today's spending is counted from the sessions; learnt provider limits and cached fleet results are lost"
        )
    }
}

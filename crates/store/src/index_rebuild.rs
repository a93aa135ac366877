//! What is told of an index that was made again. Whoever opened it may have wanted something else of it, so that it is
//! kept here until the edge tells the person.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// An index that was lost or damaged and is there again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexRebuild {
    /// The index.
    pub path: PathBuf,
    /// What was wrong with it, and where it was put; none if it was gone.
    pub damaged: Option<(String, PathBuf)>,
    /// How many sessions it has.
    pub sessions: usize,
    /// How many items of shared lists it has.
    pub items: usize,
    /// How many trusted projects it has.
    pub trusted: usize,
}

static UNREPORTED: Mutex<Vec<IndexRebuild>> = Mutex::new(Vec::new());

/// What was made again since this was last asked.
pub fn take_index_rebuilds() -> Vec<IndexRebuild> {
    std::mem::take(&mut *UNREPORTED.lock().unwrap_or_else(PoisonError::into_inner))
}

pub(crate) fn report(rebuilt: IndexRebuild) {
    UNREPORTED.lock().unwrap_or_else(PoisonError::into_inner).push(rebuilt);
}

impl fmt::Display for IndexRebuild {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let IndexRebuild { path, damaged, sessions, items, trusted } = self;
        let path = path.display();
        match damaged {
            Some((detail, aside)) => {
                write!(f, "{path} was damaged ({detail}) and was made again; it is kept at {}", aside.display())?;
            }
            None => write!(f, "{path} was missing and was made again")?,
        }
        write!(
            f,
            "; it has {sessions} sessions, {items} items of shared lists and {trusted} trusted projects; \
             what was spent today is counted from the sessions, and what is known of providers' limits and what \
             fleets can use again begin anew"
        )
    }
}

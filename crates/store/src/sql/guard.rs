//! Stops a statement that takes too long or too much memory, or is cancelled.

use std::fs;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use super::SqlLimits;

/// How many steps of SQLite's virtual machine pass between two checks.
pub(super) const EVERY: i32 = 200;

/// How often memory is checked, since a check costs a system call.
const LOOK: Duration = Duration::from_millis(5);

/// Why a statement was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StopCause {
    /// It took too long.
    Deadline,
    /// It took too much memory.
    Memory,
    /// The caller gave up.
    Cancelled,
}

/// The limits of one call, checked from inside the engine.
#[derive(Clone)]
pub(super) struct SqlGuard(Arc<GuardState>);

struct GuardState {
    cancel: Mutex<Box<dyn Fn() -> bool + Send>>,
    until: Instant,
    most: Option<u64>,
    looked: Mutex<Instant>,
    tripped: OnceLock<StopCause>,
}

impl SqlGuard {
    /// Starts to watch.
    pub(super) fn new(limits: SqlLimits, cancel: impl Fn() -> bool + Send + 'static) -> SqlGuard {
        let now = Instant::now();
        SqlGuard(Arc::new(GuardState {
            cancel: Mutex::new(Box::new(cancel)),
            until: now + limits.deadline,
            most: resident().map(|resident| resident.saturating_add(limits.memory)),
            looked: Mutex::new(now),
            tripped: OnceLock::new(),
        }))
    }

    /// The callback that SQLite calls while it works.
    pub(super) fn watch(&self) -> impl FnMut() -> bool + Send + 'static {
        let guard = self.clone();
        move || guard.must_stop()
    }

    /// Whether the call must stop here.
    pub(super) fn must_stop(&self) -> bool {
        let GuardState { cancel, until, tripped, .. } = &*self.0;
        let now = Instant::now();
        let why = if cancel.lock().unwrap_or_else(PoisonError::into_inner)() {
            Some(StopCause::Cancelled)
        } else if now >= *until {
            Some(StopCause::Deadline)
        } else if self.is_over_memory(now) {
            Some(StopCause::Memory)
        } else {
            None
        };
        why.is_some_and(|why| {
            tripped.get_or_init(|| why);
            true
        })
    }

    /// Why the call was stopped, if it was.
    pub(super) fn tripped(&self) -> Option<StopCause> {
        self.0.tripped.get().copied()
    }

    fn is_over_memory(&self, now: Instant) -> bool {
        let mut looked = self.0.looked.lock().unwrap_or_else(PoisonError::into_inner);
        if now.duration_since(*looked) < LOOK {
            return false;
        }
        *looked = now;
        self.0.most.zip(resident()).is_some_and(|(most, resident)| resident > most)
    }
}

/// The memory that this process uses, if the system reports it.
fn resident() -> Option<u64> {
    const PAGE: u64 = 4096;
    let pages = fs::read_to_string("/proc/self/statm").ok()?;
    pages.split_whitespace().nth(1)?.parse::<u64>().ok().map(|pages| pages * PAGE)
}

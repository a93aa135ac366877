//! Stops a statement that takes too long or too much memory, or is cancelled.

use std::fs;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use super::SqlLimits;

/// How many steps of SQLite's virtual machine pass between two checks.
pub(super) const CHECK_INTERVAL_STEPS: i32 = 200;

/// How often memory is checked, since a check costs a system call.
const MEMORY_CHECK_INTERVAL: Duration = Duration::from_millis(5);

/// Why a statement was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StopCause {
    /// It took too long.
    Deadline,
    /// It took too much memory.
    Memory,
    /// The caller cancelled it.
    Cancelled,
}

/// The limits of one call, checked from inside the engine.
#[derive(Clone)]
pub(super) struct SqlGuard(Arc<GuardState>);

struct GuardState {
    cancel: Mutex<Box<dyn Fn() -> bool + Send>>,
    deadline: Instant,
    /// The maximum memory of the process, in bytes, if it can be measured.
    max_memory: Option<u64>,
    /// When memory was last checked.
    memory_checked_at: Mutex<Instant>,
    /// Why the call was stopped, once it was.
    stop_cause: OnceLock<StopCause>,
}

impl SqlGuard {
    /// A guard whose time starts now.
    pub(super) fn new(limits: SqlLimits, cancel: impl Fn() -> bool + Send + 'static) -> SqlGuard {
        let now = Instant::now();
        SqlGuard(Arc::new(GuardState {
            cancel: Mutex::new(Box::new(cancel)),
            deadline: now + limits.deadline,
            max_memory: resident_bytes().map(|resident| resident.saturating_add(limits.memory)),
            memory_checked_at: Mutex::new(now),
            stop_cause: OnceLock::new(),
        }))
    }

    /// The callback that SQLite calls while it works.
    pub(super) fn watch(&self) -> impl FnMut() -> bool + Send + 'static {
        let guard = self.clone();
        move || guard.must_stop()
    }

    /// Whether the call must stop here.
    pub(super) fn must_stop(&self) -> bool {
        let GuardState { cancel, deadline: until, stop_cause: tripped, .. } = &*self.0;
        let now = Instant::now();
        let cause = if cancel.lock().unwrap_or_else(PoisonError::into_inner)() {
            Some(StopCause::Cancelled)
        } else if now >= *until {
            Some(StopCause::Deadline)
        } else if self.is_over_memory(now) {
            Some(StopCause::Memory)
        } else {
            None
        };
        cause.is_some_and(|cause| {
            tripped.get_or_init(|| cause);
            true
        })
    }

    /// Why the call was stopped, if it was.
    pub(super) fn tripped(&self) -> Option<StopCause> {
        self.0.stop_cause.get().copied()
    }

    fn is_over_memory(&self, now: Instant) -> bool {
        let mut checked_at = self.0.memory_checked_at.lock().unwrap_or_else(PoisonError::into_inner);
        if now.duration_since(*checked_at) < MEMORY_CHECK_INTERVAL {
            return false;
        }
        *checked_at = now;
        self.0.max_memory.zip(resident_bytes()).is_some_and(|(max, resident)| resident > max)
    }
}

/// The memory that this process uses, in bytes, if the system reports it.
fn resident_bytes() -> Option<u64> {
    const PAGE: u64 = 4096;
    let pages = fs::read_to_string("/proc/self/statm").ok()?;
    pages.split_whitespace().nth(1)?.parse::<u64>().ok().map(|pages| pages * PAGE)
}

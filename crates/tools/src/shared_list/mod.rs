//! The tools of a shared list, each in two files: what it does, and what the model is told. They go by the names that
//! such tools usually have.

mod task_create;
mod task_get;
mod task_list;
mod task_output;
mod task_stop;
mod task_update;

use std::time::Duration;

use crate::WaitLimit;

pub(crate) use task_create::TaskCreate;
pub(crate) use task_get::TaskGet;
pub(crate) use task_list::TaskList;
pub(crate) use task_output::TaskOutput;
pub(crate) use task_stop::TaskStop;
pub(crate) use task_update::TaskUpdate;

/// Longest time that a call waits.
const MAX_WAIT: Duration = Duration::from_secs(24 * 3600);

/// How long a call waits, if it does: the time that it says, or the usual one.
fn waiting(waits: bool, millis: Option<u64>, usual: Duration) -> WaitLimit {
    match waits {
        true => WaitLimit::For(millis.map_or(usual, Duration::from_millis).min(MAX_WAIT)),
        false => WaitLimit::No,
    }
}

//! The tools of a shared list, each in two files: its code (`.rs`) and its description for the model (`.md`). Their
//! names are the common names of such tools.

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

/// Maximum time that a call waits.
const MAX_WAIT: Duration = Duration::from_secs(24 * 3600);

/// How long a call waits, if it does: the requested time or the default.
fn wait_limit(waits: bool, millis: Option<u64>, default: Duration) -> WaitLimit {
    match waits {
        true => WaitLimit::For(millis.map_or(default, Duration::from_millis).min(MAX_WAIT)),
        false => WaitLimit::NoWait,
    }
}

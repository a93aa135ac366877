//! The tools of a shared list, each in two files: its code (`.rs`) and its description for the model (`.md`). Their
//! names are the common names of such tools.

mod task_create;
mod task_get;
mod task_list;
mod task_output;
mod task_stop;
mod task_update;

use std::sync::Arc;
use std::time::Duration;

use task_create::TaskCreate;
use task_get::TaskGet;
use task_list::TaskList;
use task_output::TaskOutput;
use task_stop::TaskStop;
use task_update::TaskUpdate;

use crate::args::typed_tool;
use crate::{Tool, WaitLimit};

/// The tools of a shared list: creating, showing and changing items, and the tasks that work on them.
pub fn shared_list_tools() -> Vec<Arc<dyn Tool>> {
    vec![
        typed_tool::<TaskCreate>(),
        typed_tool::<TaskGet>(),
        typed_tool::<TaskList>(),
        typed_tool::<TaskUpdate>(),
        typed_tool::<TaskOutput>(),
        typed_tool::<TaskStop>(),
    ]
}

/// Maximum time that a call waits.
const MAX_WAIT: Duration = Duration::from_secs(24 * 3600);

/// How long a call waits, if it does: the requested time or the default.
fn wait_limit(waits: bool, millis: Option<u64>, default: Duration) -> WaitLimit {
    match waits {
        true => WaitLimit::For(millis.map_or(default, Duration::from_millis).min(MAX_WAIT)),
        false => WaitLimit::NoWait,
    }
}

//! What a task printed or said last. The owner and every other process read it in the same way.

use host::Home;
use protocol::api::TaskView;
use protocol::{Clip, Kind, SessionId};

use crate::shells;

/// Most bytes of it in one piece.
const OUTPUT: usize = 64 * 1024;

/// What a command printed so far, or what an agent said when it last ended, clipped.
pub fn output(home: &Home, session: SessionId, task: &TaskView) -> String {
    match task.kind {
        Kind::Shell => shells::printed(home, session, task.id, OUTPUT).into_string(),
        Kind::Main | Kind::Agent => Clip::new(task.result.as_deref().unwrap_or_default(), OUTPUT).into_string(),
    }
}

//! The API that the owner of a session serves: a table of methods, with their parameters and results.

mod agents;
mod command_outcome;
mod external_tasks;
mod fleet;
mod methods;
mod session;
mod session_host;
mod slash;
mod status;
mod tasks;
mod todos;

pub use agents::*;
pub use command_outcome::{CommandFate, CommandOutcome, RefusalKind};
pub use external_tasks::*;
pub use fleet::*;
pub use methods::{AnswerSource, ApiCall, CallOrdering, METHODS, Method, MethodSpec, Nothing, calls};
pub use session::*;
pub use session_host::*;
pub use slash::*;
pub use status::{ParkingView, RunPhase, StatusView};
pub use tasks::*;
pub use todos::*;

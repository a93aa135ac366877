//! The API: a table of methods, with their parameters and results.

mod agents;
mod catalog;
mod command_outcome;
mod context;
mod external_tasks;
mod fleet;
mod lists;
mod mcp;
mod methods;
mod rewind;
mod session;
mod session_host;
mod sessions;
mod settings;
mod shell;
mod skills;
mod slash;
mod status;
mod tasks;
mod todos;
mod upkeep;
mod usage;
mod waiting;

pub use agents::*;
pub use catalog::*;
pub use command_outcome::{CommandFate, CommandOutcome, RefusalKind};
pub use context::*;
pub use external_tasks::*;
pub use fleet::*;
pub use lists::*;
pub use mcp::*;
pub use methods::{
    AnswerSource, ApiCall, CallOrdering, METHODS, Method, MethodScope, MethodSpec, Nothing, SessionMethod, calls,
};
pub use rewind::*;
pub use session::*;
pub use session_host::*;
pub use sessions::*;
pub use settings::*;
pub use shell::*;
pub use skills::*;
pub use slash::*;
pub use status::{ParkingView, PhaseFacts, RunPhase, StatusView};
pub use tasks::*;
pub use todos::*;
pub use upkeep::*;
pub use usage::*;
pub use waiting::*;

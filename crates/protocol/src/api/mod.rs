//! The API that the owner of a session serves: a table of methods, and what each takes and gives.

mod agents;
mod errands;
mod fate;
mod methods;
mod slash;
mod status;
mod tasks;
mod todos;
mod words;

pub use agents::*;
pub use errands::*;
pub use fate::{CommandFate, RefusalKind};
pub use methods::{METHODS, Method, Order, Shape};
pub use slash::*;
pub use status::StatusView;
pub use tasks::*;
pub use todos::*;
pub use words::*;

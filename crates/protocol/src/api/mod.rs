//! The API that the owner of a session serves: a table of methods, and what each takes and gives.

mod fate;
mod methods;
mod tasks;
mod todos;
mod words;

pub use fate::{CommandFate, RefusalKind};
pub use methods::{METHODS, Method, Order, Shape};
pub use tasks::*;
pub use todos::*;
pub use words::*;

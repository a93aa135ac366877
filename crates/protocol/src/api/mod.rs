//! The API that the owner of a session serves: a table of methods, and what each takes and gives.

mod methods;
mod words;

pub use methods::{METHODS, Method, Order, Shape};
pub use words::*;

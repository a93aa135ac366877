//! The output of commands, bounded in memory and on disk.

mod capture;
mod spool;
mod terminal_text;

pub use capture::Capture;
pub use spool::Spool;

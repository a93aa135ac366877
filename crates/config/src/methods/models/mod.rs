//! Providers, their models, and the servers on this machine.

mod probe;
mod start_command;
mod view;

pub use probe::{ProbeResult, probe_local_servers};
pub use start_command::start_command;
pub use view::closed_models;

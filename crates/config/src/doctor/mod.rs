//! Checks the installation and suggests fixes. It never writes, and reports anything broken instead of stopping at it.

mod agents;
mod check;
mod context;
mod git;
mod home;
mod installation;
mod limits;
mod machine;
mod mcp_servers;
mod models;
mod programs;
mod project;
mod sandbox;
mod session_host;
mod settings;

use check::DoctorCheck;
use context::DoctorContext;
pub use git::is_too_old as is_git_too_old;
pub use installation::check_installation;

//! A program that is its own guardian, and the process of its agents.

use std::process::ExitCode;

/// Becomes the guardian, or the process of one agent, if this process was started as such. A program that is its own
/// guardian
/// ([`SessionBuilder::guarded_by_this_program`](crate::SessionBuilder::guarded_by_this_program)) calls this first,
/// before it starts a thread or reads anything, and exits with the returned code:
///
/// ```
/// # use std::process::ExitCode;
/// fn main() -> ExitCode {
///     if let Some(code) = bosun_sdk::guard() {
///         return code;
///     }
///     // The program itself.
///     ExitCode::SUCCESS
/// }
/// ```
pub fn guard() -> Option<ExitCode> {
    let first = std::env::args_os().nth(1)?;
    if first == host::guardian::GUARDIAN_ARGUMENT {
        return Some(host::guardian_main());
    }
    (first == runtime::RUN_ARGUMENT).then(runtime::run_process_main)
}

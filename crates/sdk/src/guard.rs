//! A program that is its own guardian.

use std::process::ExitCode;

/// Becomes the guardian if this process was started as one. A program that is its own guardian
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
    let is_guardian = std::env::args_os().nth(1).is_some_and(|first| first == host::guardian::GUARDIAN_ARGUMENT);
    is_guardian.then(host::guardian_main)
}

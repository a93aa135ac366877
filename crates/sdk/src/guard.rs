//! A program that is its own guardian.

use std::process::ExitCode;

/// Becomes the guardian if this process was started to be one. A program that is its own guardian
/// ([`Builder::guarded_by_this_program`](crate::Builder::guarded_by_this_program)) calls it first of all, before it
/// starts a thread or reads anything, and ends with the code that it is given:
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
    let is_asked = std::env::args_os().nth(1).is_some_and(|first| first == host::guardian::GUARDIAN_ARGUMENT);
    is_asked.then(host::guardian_main)
}

//! The guardian for this crate's tests.

use std::process::ExitCode;

fn main() -> ExitCode {
    let is_guardian = std::env::args_os().nth(1).is_some_and(|argument| argument == host::guardian::GUARDIAN_ARGUMENT);
    if is_guardian { host::guardian_main() } else { ExitCode::FAILURE }
}

//! Git on real repositories.

#![expect(clippy::panic, reason = "a test fails by panicking")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::disallowed_methods, reason = "git is found where the test runner finds it")]

extern crate bosun_git as git;

mod checkouts;
mod confined;
mod crowd;
mod discarding;
mod hostile;
mod merging;
mod mischief;
mod processes;
mod running;
mod sealing;
mod stage;

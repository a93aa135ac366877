//! The real binary, driven as a person or a program would drive it.
//!
//! Every [`BinaryFixture`] has its own home and folder, which are removed when the test ends. Nothing here waits for a
//! fixed time: conditions are polled until a deadline, which fails the test.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test fails by panicking, and is not part of what it tests"
)]

mod damage;
mod disk;
mod fixture;
mod invocation;
mod machine;
mod running;
pub mod sdk;
mod tmux;

pub use damage::{garble, set_format, truncate};
pub use disk::{Ballast, SmallDisk};
pub use fixture::BinaryFixture;
pub use invocation::BinaryInvocation;
pub use machine::{NOBODY, commands_with, is_root, peak_memory, unique_sleep, within};
pub use running::{BinaryExit, ProcessSignal, RunningBinary};
pub use tmux::Tmux;

/// How long anything may take before a test fails.
pub const PATIENCE: std::time::Duration = std::time::Duration::from_secs(120);

//! No orphans: whatever this process starts is gone soon after this process is, however it ended.
//!
//! ```text
//! bosun ──seqpacket──▶ guardian ──▶ job (own process group, BOSUN_JOB in its environment)
//!   └ reads and writes the job's pipes itself
//! ```
//!
//! Programs are started by a guardian, a second process with one thread. It is a *child subreaper*: a process
//! whose parent dies becomes the guardian's child, also after `setsid`, a double fork or `nohup`, so that
//! everything that was ever started stays below it. When the socket to its owner closes it kills all of that
//! and ends. The owner is a subreaper too: should the guardian be killed, what it guarded falls to the owner,
//! which kills it and starts a new guardian with the next program.
//!
//! A program may stop its guardian with a signal. The owner looks at it while programs run and lets it go on; one that is
//! stopped again and again is killed with everything below it. Should both be killed at once, whoever opens the session
//! next finds what they left by its marks.
//!
//! The guardian keeps one more promise: when a job's first process ends, what that job left behind is killed
//! before the exit is reported, unless the program was started with [`Leftovers::Keep`].

mod birth;
mod client;
mod error;
mod jobs;
mod leftovers;
mod link;
mod mark;
mod packet;
mod phase;
mod process;
mod program;
mod record;
mod server;
mod start;
mod wire;

pub use client::Guardian;
pub use error::{SpawnError, Survivors, WaitError};
pub use process::{Job, Process, ProcessInput, ProcessOutput};
pub use program::{ExitGrace, ExitStatus, KillMode, Leftovers, Program, ProgramExit, Stderr, Stdin};
pub use server::guardian_main;

pub(crate) use birth::is_guardian;
pub(crate) use leftovers::{RecordedPrograms, end_marked, kill_guardian, wake_guardian};
pub(crate) use mark::{has_lowered_locks, is_marked};

/// The argument that makes an executable a guardian.
pub const GUARDIAN_ARGUMENT: &str = "__guardian";

//! Ensures that there are no orphans: every process that this one starts is gone soon after this process ends, however
//! it ended.
//!
//! ```text
//! bosun ──seqpacket──▶ guardian ──▶ job (own process group, BOSUN_JOB in its environment)
//!   └ reads and writes the job's pipes itself
//! ```
//!
//! A guardian, a second process with one thread, starts the programs. It is a *child subreaper*: a process whose parent
//! dies becomes the guardian's child, also after `setsid`, a double fork or `nohup`, so that everything that was ever
//! started stays below it. When the socket to its owner closes, it kills all of them and ends. The owner is a subreaper
//! too: if the guardian is killed, the owner inherits its processes, kills them, and starts a new guardian with the
//! next program.
//!
//! A program may stop its guardian with a signal. The owner checks the guardian while programs run and resumes it; if
//! it is stopped repeatedly, the owner kills it with everything below it. If owner and guardian are killed at once, the
//! next owner of the session finds their processes by the marks.
//!
//! The guardian also guarantees: when a job's first process ends, the processes that it left are killed before the exit
//! is reported, unless the program was started with [`Leftovers::Keep`].

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
pub(crate) use mark::{has_lowered_lock_limit, is_marked};

/// The argument that makes an executable a guardian.
pub const GUARDIAN_ARGUMENT: &str = "__guardian";

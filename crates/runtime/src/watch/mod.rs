//! Watches over what runs: agents of which nothing is heard are called stalled and, in the end, given up; while memory
//! is short, no more of them begin.
//!
//! Time is counted in looks, one a second. A machine that slept, a process that was stopped, a clock that jumped: each
//! is one look, whatever clocks say, so only silence while this process was awake counts. No clock of the system tells
//! that: the monotonic one stands still while the machine sleeps, but runs on while a process is stopped.

mod settings;
mod silence;
mod streamed;
mod wards;
mod watchman;
mod words;

pub use settings::Watch;

pub(crate) use silence::is_sign_of_life;
pub(crate) use streamed::Streamed;
pub(crate) use wards::Wards;
pub(crate) use watchman::Watchman;
pub(crate) use words::Words;

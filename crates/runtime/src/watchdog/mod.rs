//! Watches over what runs: agents of which nothing is heard are called stalled and, in the end, given up; while memory
//! is short, no more of them begin.
//!
//! Time is counted in looks, one a second. A machine that slept, a process that was stopped, a clock that jumped: each
//! is one look, whatever clocks say, so only silence while this process was awake counts. No clock of the system tells
//! that: the monotonic one stands still while the machine sleeps, but runs on while a process is stopped.

mod latest_text;
mod settings;
mod silence;
mod streamed;
mod watch_loop;
mod watched_runs;

pub use settings::WatchdogSettings;

pub(crate) use latest_text::LatestText;
pub(crate) use silence::is_sign_of_life;
pub(crate) use streamed::StreamedTokens;
pub(crate) use watch_loop::Watchdog;
pub(crate) use watched_runs::WatchedRuns;

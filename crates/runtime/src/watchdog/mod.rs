//! Watches the runs: marks silent agents as stalled and finally aborts them; while memory is short, no agents start.
//!
//! Time is counted in checks, one per second. A sleep of the machine, a stop of the process or a jump of the clock is
//! one check, so only silence while this process was running counts. No system clock measures that: the monotonic clock
//! stands still while the machine sleeps, but continues while a process is stopped.

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

//! A session in the test's own process, with controlled time, ids, model and disk.
//!
//! [`scenario`] describes one; [`Scenario::run`] plays it until it is idle in one call, [`Scenario::ready`] returns a
//! fixture for tests that open, interrupt, leave and reopen step by step. Every request to the model is checked, and
//! nothing waits without a deadline.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

mod checked;
mod clock;
mod driver;
mod fixture;
mod guardian;
mod ids;
mod models;
mod probe;
mod run;
mod scenario;
mod transcript;
mod waiting;

pub use checked::CheckedModel;
pub use clock::FakeClock;
pub use driver::SessionDriver;
pub use fixture::SessionFixture;
pub use guardian::guardian;
pub use ids::CountedIds;
pub use models::TestModels;
pub use probe::FailingProbe;
pub use run::PlayedSession;
pub use runtime::SessionStart;
pub use scenario::{Scenario, rules, scenario};
pub use transcript::transcript;
pub use waiting::{TIME_LIMIT, UNTIL_GO, eventually, pass_time_limit, run_ready_tasks, until_file};

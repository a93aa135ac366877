//! A session in the test's own process, with time, ids, model and disk under control.
//!
//! [`scenario`] describes one; [`Scenario::run`] plays it to its rest in one call, [`Scenario::ready`] sets the stage
//! for tests that open, interrupt, leave and reopen step by step. Whatever is played, every request to the model is
//! checked, and nothing waits without a deadline.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

mod checked;
mod clock;
mod driver;
mod guardian;
mod ids;
mod probe;
mod run;
mod scenario;
mod shelf;
mod stage;
mod transcript;

pub use checked::Checked;
pub use clock::FakeClock;
pub use driver::Driver;
pub use guardian::guardian;
pub use ids::CountedIds;
pub use probe::FailingProbe;
pub use run::Run;
pub use scenario::{Scenario, scenario};
pub use shelf::Shelf;
pub use stage::Stage;
pub use transcript::transcript;

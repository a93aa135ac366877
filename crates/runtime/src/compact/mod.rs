//! Makes room in a conversation that outgrows its model, without asking anybody.
//!
//! Old tool output goes first; then a digest stands for the beginning. What is decided is an event, and the fold of
//! that event is the same live and after a restart. No call is ever parted from its answer, and the log keeps all.

mod apply;
mod bounded_text;
mod call_summary;
mod cut;
mod digest;
mod history;
mod plan;
mod recent_lines;
mod stub;
#[cfg(test)]
mod tests;

pub(crate) use apply::apply_compaction;
pub(crate) use bounded_text::one_line;
pub(crate) use digest::CurrentState;
pub(crate) use history::CompactedHistory;
pub(crate) use plan::{CompactionPlan, PlannedCompaction};

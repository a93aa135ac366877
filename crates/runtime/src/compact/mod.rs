//! Compaction: shortens a conversation that outgrows its model, without a model request.
//!
//! Old tool output goes first; then a digest replaces the beginning. The compaction is recorded as an event, which has
//! the same effect live and after a restart. No call is ever separated from its answer, and the log keeps everything.

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
pub use bounded_text::one_line;
pub(crate) use digest::CurrentState;
pub(crate) use history::CompactedHistory;
pub(crate) use plan::{CompactionPlan, PlannedCompaction};

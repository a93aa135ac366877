//! Makes room in a conversation that outgrows its model, without asking anybody.
//!
//! Old tool output goes first; then a digest stands for the beginning. What is decided is an event, and the fold of
//! that event is the same live and after a restart. No call is ever parted from its answer, and the log keeps all.

mod cut;
mod digest;
mod fold;
mod gist;
mod latest;
mod past;
mod plan;
mod stub;
#[cfg(test)]
mod tests;
mod words;

pub(crate) use digest::Present;
pub(crate) use fold::fold;
pub(crate) use past::Past;
pub(crate) use plan::{Made, Plan};
pub(crate) use words::one_line;

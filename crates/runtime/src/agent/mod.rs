//! An agent's activation: read the mail, ask the model and run its calls, until the model has answered.
//!
//! The loop holds no state of its own. Its conversation is folded from durable events, so it can be dropped at any time
//! and resumed elsewhere from the last event.

mod answer_handling;
mod call;
mod call_admission;
mod call_ids;
mod call_normalization;
mod context_window;
mod contract;
mod conversation_cache;
mod day_budget;
mod deadline;
mod early_start;
mod lifecycle_hooks;
mod link;
mod model_call;
mod open_call;
mod quote;
mod repeat_guard;
mod retry;
mod run;
mod sealing;
mod tool_calls;
mod turns;

pub(crate) use context_window::{compact_fully, mark_requested};
pub(crate) use conversation_cache::ConversationCache;
pub(crate) use deadline::Deadline;
pub(crate) use link::AgentLink;
pub(crate) use open_call::OpenCall;
pub(crate) use quote::{input_tokens as request_tokens, message_tokens, text_tokens, tool_tokens};
pub(crate) use run::{AgentRun, RunParts};

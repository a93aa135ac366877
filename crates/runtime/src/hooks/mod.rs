//! Runs the hooks of a session and applies their verdicts.
//!
//! Without hooks none of this costs anything: no event, no commit, no file. With them, stop hooks run for each
//! activation whose start hooks ran, even if the owner of the session has changed.

mod mcp_requests;
mod session;
mod session_hooks;
mod stop_hooks;
mod tool_calls;
mod transcripts;

pub(crate) use mcp_requests::HookedRequestMeta;
pub(crate) use session::{filter_prompt, has_prompt_hook, session_ended, session_started};
pub(crate) use session_hooks::{SessionHooks, run_hooks};
pub(crate) use stop_hooks::{OpenActivationPolicy, StopHookRuns};
pub(crate) use tool_calls::{
    HookDenial, HookHalt, PendingPostHook, PendingPostHooks, PreToolFeedback, after_answered_call, after_call,
    before_call, check_command, permission_requested,
};

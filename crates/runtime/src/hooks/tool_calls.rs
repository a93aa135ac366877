//! Hooks on tool calls: before the permission check, and after the call.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use hooks::{HookEventData, Ruling, ToolUse};
use kernel::RunUpdate;
use policy::{Verdict, VerdictBasis};
use protocol::{CallId, Clip, RuleEffect, RunId, ToolCallRequest, ToolResult, ToolResultStatus};
use serde_json::{Value, json};

use super::run_hooks;
use crate::agent::OpenCall;
use crate::run_requests::RunInput;
use crate::session_context::{SessionContext, Workplace};
use crate::supervisor::InputRejection;

/// The most bytes of text from all hooks about one call.
const MAX_CONTEXT_BYTES: usize = 16 * 1024;

/// The most bytes of changed arguments that the model is shown.
const MAX_INPUT_BYTES: usize = 2 * 1024;

/// The feedback of hooks before the permission check of a call.
#[derive(Debug, Default)]
pub(crate) struct PreToolFeedback {
    /// Text for the agent, added to the answer.
    context: Vec<String>,
    /// Why a hook wants the user to decide, if it does.
    ask_reason: Option<String>,
    /// Whether a hook of the client allows the call.
    client_allows: bool,
}

impl PreToolFeedback {
    /// Applies the hooks to a verdict: they may turn an allow into an ask. They permit more only in place of the client
    /// that would be asked, and only if no rule demands its decision.
    pub(crate) fn apply(&self, call: &ToolCallRequest, verdict: Verdict) -> Verdict {
        match (&self.ask_reason, verdict.effect) {
            (Some(why), RuleEffect::Allow) => {
                let (effect, basis) = (RuleEffect::Ask, VerdictBasis::Hook(why.clone()));
                Verdict { effect, basis, part: call.tool.clone(), suggested_rule: None, others: Vec::new() }
            }
            (None, RuleEffect::Ask) if self.client_allows => allowed_by_client(verdict),
            (Some(_) | None, RuleEffect::Allow | RuleEffect::Ask | RuleEffect::Deny) => verdict,
        }
    }
}

/// The verdict after a hook of the client has allowed the call: a rule that asks for a decision still counts.
fn allowed_by_client(verdict: Verdict) -> Verdict {
    let mut parts = std::iter::once(&verdict).chain(&verdict.others);
    match parts.any(|part| part.basis.rule().is_some()) {
        true => verdict,
        false => Verdict { effect: RuleEffect::Allow, ..verdict },
    }
}

/// Runs the hooks before the permission check of a call. The input that they return is the one that is checked,
/// shown to the user, run and recorded. If they deny the call, returns its answer.
pub(crate) async fn before_call(
    open: &OpenCall,
    call: &mut ToolCallRequest,
) -> Result<Result<PreToolFeedback, ToolResult>, InputRejection> {
    let verdict = open.session.run_hooks(HookEventData::PreTool(tool_use(call))).await;
    open.halt.record(&verdict);
    let client_allows = verdict.is_allowed_by_client();
    let mut feedback = PreToolFeedback { context: verdict.context, ask_reason: None, client_allows };
    match verdict.ruling {
        Ruling::Deny { reason } => return Ok(Err(denied_result(call, &reason))),
        Ruling::Ask { reason } => feedback.ask_reason = Some(reason),
        Ruling::Nothing | Ruling::Allow => {}
    }
    let changed = verdict.updated_input.map(Value::Object).filter(|input| !is_same(input, &call.input));
    if let Some(input) = changed {
        let input = input.to_string();
        let (turn, id) = (open.turn, call.id.clone());
        let report = RunUpdate::CallRewritten { turn, call: id, input: input.clone() };
        open.session.report(report).await?;
        feedback
            .context
            .insert(0, format!("A hook changed this call. It was made with: {}", Clip::new(&input, MAX_INPUT_BYTES)));
        call.input = input;
    }
    Ok(Ok(feedback))
}

/// Runs the hooks before the user is asked; returns the verdict, or the answer if they deny. Only a hook of the client
/// that would be asked can allow the call.
pub(crate) async fn permission_requested(
    open: &OpenCall,
    call: &ToolCallRequest,
    verdict: Verdict,
) -> Result<Verdict, ToolResult> {
    let event = HookEventData::PermissionRequest { call: tool_use(call), reason: verdict.reason() };
    let answer = open.session.run_hooks(event).await;
    open.halt.record(&answer);
    match answer.denial_reason() {
        Some(reason) => Err(denied_result(call, reason)),
        None if answer.is_allowed_by_client() => Ok(allowed_by_client(verdict)),
        None => Ok(verdict),
    }
}

/// Why hooks do not let a command of the runtime run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HookDenial {
    #[error("a hook denied it: {0}")]
    Denied(String),
    #[error("a hook removed the command")]
    Removed,
}

/// Runs the hooks on a command of the runtime itself; returns the command with their changes, or their denial. An ask
/// counts as a denial.
pub(crate) async fn check_command(
    context: &Arc<SessionContext>,
    run: RunId,
    command: &str,
) -> Result<String, HookDenial> {
    let (id, input) = (CallId(format!("expects-{}", run.task)), json!({ "command": command }).to_string());
    let call = ToolUse { id, tool: protocol::tool_name::SHELL.into(), input };
    let verdict = run_hooks(context, run, HookEventData::PreTool(call)).await;
    match verdict.ruling {
        Ruling::Deny { reason } | Ruling::Ask { reason } => return Err(HookDenial::Denied(reason)),
        Ruling::Nothing | Ruling::Allow => {}
    }
    match verdict.updated_input.as_ref().map(|input| input.get("command").and_then(Value::as_str)) {
        Some(Some(changed)) => Ok(changed.to_owned()),
        Some(None) => Err(HookDenial::Removed),
        None => Ok(command.to_owned()),
    }
}

/// Runs the hooks after a call, before its answer is committed; their text is added to the answer.
pub(crate) async fn after_call(
    workplace: &Workplace,
    open: &OpenCall,
    call: &ToolCallRequest,
    feedback: PreToolFeedback,
    answer: ToolResult,
) -> ToolResult {
    let verdict = run_post_hooks(workplace, open, call, &answer).await;
    let added: Vec<String> = feedback.context.into_iter().chain(verdict.context).collect();
    let clipped = |text: String| Clip::new(&text, workplace.facts.tools.output_bytes).into_string();
    let text = verdict.replacement_text.map_or(answer.text, clipped);
    let text = if added.is_empty() { text } else { format!("{text}\n\n{}", joined_context(&added)) };
    ToolResult { status: answer.status, text }
}

/// Runs the hooks after a call whose answer is already committed and only says that the agent has started. Their text
/// and their replacement of the answer are sent to the calling agent as mail.
pub(crate) async fn after_answered_call(workplace: &Workplace, pending: PendingPostHook, answer: &ToolResult) {
    let PendingPostHook { call, open, feedback } = pending;
    let verdict = run_post_hooks(workplace, &open, &call, answer).await;
    let replaced = verdict.replacement_text.map(|text| {
        let text = Clip::new(&text, workplace.facts.tools.output_bytes);
        format!("a hook replaced its answer; use this instead:\n{text}")
    });
    let added: Vec<String> = feedback.context.into_iter().chain(replaced).chain(verdict.context).collect();
    if added.is_empty() {
        return;
    }
    let text = format!("About the call {} of `{}`: {}", call.id, call.tool, joined_context(&added));
    if let Err(rejected) = open.session.submit_all([RunInput::Note(text)]).await {
        tracing::info!(%rejected, "the text of a hook was not delivered");
    }
}

/// Runs the hooks for the result of a call.
async fn run_post_hooks(
    workplace: &Workplace,
    open: &OpenCall,
    call: &ToolCallRequest,
    answer: &ToolResult,
) -> ::hooks::HookVerdict {
    let (call, mut text) = (tool_use(call), answer.text.clone());
    // The answer is not committed yet and may still contain secrets.
    workplace.redactor.redact_text(&mut text);
    let event = match answer.status {
        ToolResultStatus::Done => HookEventData::PostTool { call, answer: text },
        ToolResultStatus::Refused => HookEventData::ToolFailed { call, error: text },
        ToolResultStatus::Broken => {
            let error = HookEventData::Error { what: "tool", message: text.clone() };
            // Hooks cannot decide anything here.
            let _verdict = open.session.run_hooks(error).await;
            HookEventData::ToolFailed { call, error: text }
        }
        ToolResultStatus::Denied => HookEventData::PermissionDenied { call, reason: text },
        ToolResultStatus::Interrupted | ToolResultStatus::Cancelled => return ::hooks::HookVerdict::default(),
    };
    let verdict = open.session.run_hooks(event).await;
    open.halt.record(&verdict);
    verdict
}

/// A hook's request that an agent stops altogether, once the calls of its answer are over.
#[derive(Debug, Clone, Default)]
pub(crate) struct HookHalt(Arc<OnceLock<String>>);

impl HookHalt {
    fn record(&self, verdict: &::hooks::HookVerdict) {
        if let Some(reason) = &verdict.halt_reason {
            // The first reason counts.
            self.0.set(reason.clone()).ok();
        }
    }

    /// Why the agent must stop, if it must.
    pub(crate) fn reason(&self) -> Option<&str> {
        self.0.get().map(String::as_str)
    }
}

/// A call whose pre-tool hooks ran and whose post-tool hooks did not.
#[derive(Debug)]
pub(crate) struct PendingPostHook {
    pub(crate) call: ToolCallRequest,
    pub(crate) open: OpenCall,
    pub(crate) feedback: PreToolFeedback,
}

/// Calls that start agents: they may be answered in the step that starts them, before their post-tool hooks run.
#[derive(Debug, Clone, Default)]
pub(crate) struct PendingPostHooks(Arc<Mutex<Vec<PendingPostHook>>>);

impl PendingPostHooks {
    pub(crate) fn push(&self, pending: PendingPostHook) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(pending);
    }

    /// Takes the feedback for a call that is answered in the usual way after all.
    pub(crate) fn take_feedback(&self, call: &CallId) -> PreToolFeedback {
        let mut pending = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let index = pending.iter().position(|pending| pending.call.id == *call);
        index.map(|index| pending.swap_remove(index).feedback).unwrap_or_default()
    }

    pub(crate) fn take_all(&self) -> Vec<PendingPostHook> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn tool_use(call: &ToolCallRequest) -> ToolUse {
    ToolUse { id: call.id.clone(), tool: call.tool.clone(), input: call.input.clone() }
}

fn denied_result(call: &ToolCallRequest, reason: &str) -> ToolResult {
    let text = format!("A hook denied this call of `{}`: {reason}", call.tool);
    ToolResult { status: ToolResultStatus::Denied, text: Clip::new(&text, MAX_CONTEXT_BYTES).into_string() }
}

fn is_same(input: &Value, written: &str) -> bool {
    serde_json::from_str::<Value>(written).is_ok_and(|written| written == *input)
}

fn joined_context(context: &[String]) -> Clip {
    Clip::new(&context.join("\n\n"), MAX_CONTEXT_BYTES)
}

//! Tool calls: what hooks say before one is judged, and after it has run.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use hooks::{HookEventData, Ruling, ToolUse};
use kernel::{KernelInput, NewMail, RunUpdate};
use policy::{Verdict, VerdictBasis};
use protocol::{
    CallId, Clip, MailBody, MailDelivery, Principal, RuleEffect, RunId, ToolCallRequest, ToolResult, ToolResultStatus,
};
use serde_json::{Value, json};

use super::run_hooks;
use crate::agent::SessionContext;
use crate::call_waits::Caller;
use crate::supervisor::InputRejection;

/// Most bytes that all hooks together tell an agent about one call.
const MAX_CONTEXT_BYTES: usize = 16 * 1024;

/// Most bytes of changed arguments that the model is told.
const MAX_INPUT_BYTES: usize = 2 * 1024;

/// What hooks made of a call before it was judged.
#[derive(Debug, Default)]
pub(crate) struct PreToolFeedback {
    /// What the agent is told with the answer.
    context: Vec<String>,
    /// Why a person is to decide, if that is wanted.
    ask: Option<String>,
}

impl PreToolFeedback {
    /// The verdict with what hooks want: they may make an ask of what rules allow, and lift nothing.
    pub(crate) fn narrow(&self, call: &ToolCallRequest, verdict: Verdict) -> Verdict {
        match (&self.ask, verdict.effect) {
            (Some(why), RuleEffect::Allow) => {
                let (effect, ground) = (RuleEffect::Ask, VerdictBasis::Hook(why.clone()));
                Verdict { effect, basis: ground, part: call.tool.clone(), rule: None, others: Vec::new() }
            }
            (Some(_) | None, RuleEffect::Allow | RuleEffect::Ask | RuleEffect::Deny) => verdict,
        }
    }
}

/// Tells hooks of a call that is about to be judged. What they make of it is what is judged, asked about, run and
/// recorded; or the call has its answer.
pub(crate) async fn before_call(
    context: &Arc<SessionContext>,
    caller: &Caller,
    call: &mut ToolCallRequest,
) -> Result<Result<PreToolFeedback, ToolResult>, InputRejection> {
    let verdict = run_hooks(context, caller.run, HookEventData::PreTool(tool_use(call))).await;
    caller.halt.record(&verdict);
    let mut heard = PreToolFeedback { context: verdict.context, ask: None };
    match verdict.ruling {
        Ruling::Deny { reason } => return Ok(Err(denied(call, &reason))),
        Ruling::Ask { reason } => heard.ask = Some(reason),
        Ruling::Nothing | Ruling::Allow => {}
    }
    let changed = verdict.updated_input.map(Value::Object).filter(|input| !is_same(input, &call.input));
    if let Some(input) = changed {
        let input = input.to_string();
        let (turn, id) = (caller.turn, call.id.clone());
        let report = RunUpdate::CallRewritten { turn, call: id, input: input.clone() };
        caller.supervisor.report(caller.run, report).await?;
        heard
            .context
            .insert(0, format!("A hook changed this call. It was made with: {}", Clip::new(&input, MAX_INPUT_BYTES)));
        call.input = input;
    }
    Ok(Ok(heard))
}

/// Tells hooks that a person would be asked; gives the answer if they say no. Their yes is not a person's.
pub(crate) async fn permission_requested(
    context: &Arc<SessionContext>,
    caller: &Caller,
    call: &ToolCallRequest,
    verdict: &Verdict,
) -> Option<ToolResult> {
    let occasion = HookEventData::PermissionRequest { call: tool_use(call), reason: verdict.reason() };
    let verdict = run_hooks(context, caller.run, occasion).await;
    caller.halt.record(&verdict);
    context.grants.apply_hook_updates(&verdict.rules);
    verdict.denial_reason().map(|reason| denied(call, reason))
}

/// A command that the runtime runs for a run's task, as hooks let it pass; or what they have against it. Nobody is there
/// to be asked about it.
pub(crate) async fn check_command(context: &Arc<SessionContext>, run: RunId, command: &str) -> Result<String, String> {
    let (id, input) = (CallId(format!("expects-{}", run.task)), json!({ "command": command }).to_string());
    let verdict = run_hooks(context, run, HookEventData::PreTool(ToolUse { id, tool: "shell".into(), input })).await;
    match verdict.ruling {
        Ruling::Deny { reason } | Ruling::Ask { reason } => return Err(format!("a hook did not permit it: {reason}")),
        Ruling::Nothing | Ruling::Allow => {}
    }
    match verdict.updated_input.as_ref().map(|input| input.get("command").and_then(Value::as_str)) {
        Some(Some(changed)) => Ok(changed.to_owned()),
        Some(None) => Err("a hook took the command out of it".into()),
        None => Ok(command.to_owned()),
    }
}

/// Tells hooks what became of a call, before that is durable: what they have to say goes with it.
pub(crate) async fn after_call(
    context: &Arc<SessionContext>,
    caller: &Caller,
    call: &ToolCallRequest,
    heard: PreToolFeedback,
    answer: ToolResult,
) -> ToolResult {
    let verdict = run_post_hooks(context, caller, call, &answer).await;
    let added: Vec<String> = heard.context.into_iter().chain(verdict.context).collect();
    let replaced = |text: String| Clip::new(&text, context.settings.tools.output).into_string();
    let text = verdict.replacement_text.map_or(answer.text, replaced);
    let text = if added.is_empty() { text } else { format!("{text}\n\n{}", joined_context(&added)) };
    ToolResult { status: answer.status, text }
}

/// Tells hooks what became of a call whose answer is durable: what they have to say is mail, and so is what they put in
/// the place of the answer, which has said no more than that the agent has started.
pub(crate) async fn after_answered_call(context: &Arc<SessionContext>, untold: PendingPostHook, answer: &ToolResult) {
    let PendingPostHook { call, caller, feedback: heard } = untold;
    let verdict = run_post_hooks(context, &caller, &call, answer).await;
    let replaced = verdict.replacement_text.map(|text| {
        let text = Clip::new(&text, context.settings.tools.output);
        format!("a hook replaced its answer; go by this instead:\n{text}")
    });
    let added: Vec<String> = heard.context.into_iter().chain(replaced).chain(verdict.context).collect();
    if added.is_empty() {
        return;
    }
    let text = format!("About the call {} of `{}`: {}", call.id, call.tool, joined_context(&added));
    let (to, from, delivery) = (caller.run.task, Principal::Runtime, MailDelivery::Steer);
    let letter = NewMail { to, from, delivery, body: MailBody::text(text) };
    if let Err(rejected) = caller.supervisor.submit(KernelInput::Send(letter)).await {
        tracing::info!(%rejected, "what a hook said is not heard");
    }
}

/// What hooks say to what became of a call.
async fn run_post_hooks(
    context: &Arc<SessionContext>,
    caller: &Caller,
    call: &ToolCallRequest,
    answer: &ToolResult,
) -> ::hooks::HookVerdict {
    let (call, mut text) = (tool_use(call), answer.text.clone());
    // It is not durable yet, and may still hold what nobody is to read.
    context.redactor.redact_text(&mut text);
    let occasion = match answer.status {
        ToolResultStatus::Done => HookEventData::PostTool { call, answer: text },
        ToolResultStatus::Refused => HookEventData::ToolFailed { call, error: text },
        ToolResultStatus::Broken => {
            let error = HookEventData::Error { what: "tool", message: text.clone() };
            // There is nothing to decide about it.
            let _heard = run_hooks(context, caller.run, error).await;
            HookEventData::ToolFailed { call, error: text }
        }
        ToolResultStatus::Denied => HookEventData::PermissionDenied { call, reason: text },
        ToolResultStatus::Interrupted | ToolResultStatus::Cancelled => return ::hooks::HookVerdict::default(),
    };
    let verdict = run_hooks(context, caller.run, occasion).await;
    caller.halt.record(&verdict);
    verdict
}

/// A hook's word that an agent is to stop altogether, once the calls of its answer are over.
#[derive(Debug, Clone, Default)]
pub(crate) struct HookHalt(Arc<OnceLock<String>>);

impl HookHalt {
    fn record(&self, verdict: &::hooks::HookVerdict) {
        if let Some(reason) = &verdict.halt_reason {
            // The first reason is the one that counts.
            self.0.set(reason.clone()).ok();
        }
    }

    /// Why the agent is to stop, if it is.
    pub(crate) fn reason(&self) -> Option<&str> {
        self.0.get().map(String::as_str)
    }
}

/// A call that hooks were told of before, and not after.
#[derive(Debug)]
pub(crate) struct PendingPostHook {
    pub(crate) call: ToolCallRequest,
    pub(crate) caller: Caller,
    pub(crate) feedback: PreToolFeedback,
}

/// Calls that start agents: they may be answered in the step that starts them, and hooks be told only then.
#[derive(Debug, Clone, Default)]
pub(crate) struct PendingPostHooks(Arc<Mutex<Vec<PendingPostHook>>>);

impl PendingPostHooks {
    pub(crate) fn push(&self, untold: PendingPostHook) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(untold);
    }

    /// What hooks said before a call that is answered in the usual way after all.
    pub(crate) fn settle(&self, call: &CallId) -> PreToolFeedback {
        let mut untold = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = untold.iter().position(|untold| untold.call.id == *call);
        at.map(|at| untold.swap_remove(at).feedback).unwrap_or_default()
    }

    pub(crate) fn take(&self) -> Vec<PendingPostHook> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn tool_use(call: &ToolCallRequest) -> ToolUse {
    ToolUse { id: call.id.clone(), tool: call.tool.clone(), input: call.input.clone() }
}

fn denied(call: &ToolCallRequest, reason: &str) -> ToolResult {
    let text = format!("A hook did not permit this call of `{}`: {reason}", call.tool);
    ToolResult { status: ToolResultStatus::Denied, text: Clip::new(&text, MAX_CONTEXT_BYTES).into_string() }
}

fn is_same(input: &Value, written: &str) -> bool {
    serde_json::from_str::<Value>(written).is_ok_and(|written| written == *input)
}

fn joined_context(context: &[String]) -> Clip {
    Clip::new(&context.join("\n\n"), MAX_CONTEXT_BYTES)
}

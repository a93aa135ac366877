//! Whether a call may run: the same question for every call of every agent, with the same steps. Refuse what is only
//! repeated, find the tool, let hooks say what they have against it, check the permission on the final input.

use std::sync::Arc;

use futures_util::future::join_all;
use kernel::{CallPhase, DecidedAsk};
use policy::Verdict;
use protocol::{Clip, RuleEffect, ToolCallRequest, ToolResult, ToolResultStatus};
use tools::{FileAccessGuard, Tool, ToolError};

use super::call::CallContext;
use crate::asks;
use crate::call_waits::{AskWaiter, Caller};
use crate::hooks::{self, PreToolFeedback};
use crate::permission_check::{self, CallPermission};
use crate::repeats;
use crate::supervisor::InputRejection;

/// A call that has been looked at, before any of its message runs.
pub(super) struct ReviewedCall<'a> {
    pub(super) call: ToolCallRequest,
    pub(super) caller: Caller,
    pub(super) hook_feedback: PreToolFeedback,
    pub(super) admission: CallAdmission<'a>,
}

/// What becomes of a call.
pub(super) enum CallAdmission<'a> {
    /// It runs.
    Run(&'a Arc<dyn Tool>, Arc<dyn FileAccessGuard>),
    /// It runs if a person permits it.
    Asked(&'a Arc<dyn Tool>, Box<CallPermission>, AskWaiter),
    /// It is answered as it is.
    Answer(ToolResult),
}

/// Looks at the calls of one message, before any of them runs: what needs permission asks for it, so that a person can
/// decide on all of it at once.
pub(super) async fn review_calls(
    bench: &CallContext,
    calls: Vec<(ToolCallRequest, Caller)>,
) -> Result<Vec<ReviewedCall<'_>>, InputRejection> {
    let judged = join_all(calls.into_iter().map(|(call, caller)| judge_call(bench, call, caller))).await;
    let judged = judged.into_iter().collect::<Result<Vec<_>, InputRejection>>()?;
    // Only when all are judged, so that they are asked about in their order.
    let looked = join_all(judged.into_iter().map(|judged| admit_call(bench, judged))).await;
    looked.into_iter().collect()
}

/// A call that has been judged, or that needs no more than its answer.
struct JudgedCall<'a> {
    call: ToolCallRequest,
    caller: Caller,
    progress: PermissionProgress,
    hook_feedback: PreToolFeedback,
    result: Result<(&'a Arc<dyn Tool>, CallPermission), ToolResult>,
}

async fn judge_call(
    bench: &CallContext,
    mut call: ToolCallRequest,
    caller: Caller,
) -> Result<JudgedCall<'_>, InputRejection> {
    let mut heard = PreToolFeedback::default();
    if let Some(early) = bench.early(&call.id) {
        let standing = PermissionProgress::Started;
        let judged = find_tool(bench, &call, standing).map(|tool| (tool, early.judgement.clone()));
        return Ok(JudgedCall { call, caller, progress: standing, hook_feedback: heard, result: judged });
    }
    let standing = PermissionProgress::from_phase(caller.phase().await?.as_ref());
    let judged = match find_tool(bench, &call, standing) {
        Ok(tool) => match run_pre_hooks(bench, &caller, &mut call, standing).await? {
            Ok(said) => {
                heard = said;
                judge_permission(bench, tool, &call, &caller, (standing, &heard))
                    .await
                    .map(|judgement| (tool, judgement))
            }
            Err(answer) => Err(answer),
        },
        Err(answer) => Err(answer),
    };
    Ok(JudgedCall { call, caller, progress: standing, hook_feedback: heard, result: judged })
}

/// What hooks make of the call. What a person was asked about, or what has begun, they have heard of.
async fn run_pre_hooks(
    bench: &CallContext,
    caller: &Caller,
    call: &mut ToolCallRequest,
    standing: PermissionProgress,
) -> Result<Result<PreToolFeedback, ToolResult>, InputRejection> {
    match standing {
        PermissionProgress::NotAsked => hooks::before_call(&bench.context, caller, call).await,
        PermissionProgress::Asked | PermissionProgress::Started => Ok(Ok(PreToolFeedback::default())),
    }
}

/// Judges the call as it is to be run.
async fn judge_permission(
    bench: &CallContext,
    tool: &Arc<dyn Tool>,
    call: &ToolCallRequest,
    caller: &Caller,
    (standing, heard): (PermissionProgress, &PreToolFeedback),
) -> Result<CallPermission, ToolResult> {
    let judged = permission_check::judge_call(&bench.context, &bench.agent, tool, call).await;
    let CallPermission { verdict, reach } =
        judged.map_err(|error| failed_answer(call, error, &bench.context.settings.tools))?;
    let verdict = heard.narrow(call, verdict);
    if (verdict.effect, standing) == (RuleEffect::Ask, PermissionProgress::NotAsked)
        && let Some(answer) = hooks::permission_requested(&bench.context, caller, call, &verdict).await
    {
        return Err(answer);
    }
    Ok(CallPermission { verdict, reach })
}

async fn admit_call<'a>(bench: &CallContext, judged: JudgedCall<'a>) -> Result<ReviewedCall<'a>, InputRejection> {
    let JudgedCall { call, caller, progress: standing, hook_feedback: heard, result: judged } = judged;
    let admission = match judged {
        Ok((tool, judgement)) => decide_admission(bench, tool, judgement, &call, &caller, standing).await?,
        Err(answer) => CallAdmission::Answer(answer),
    };
    Ok(ReviewedCall { call, caller, hook_feedback: heard, admission })
}

/// The tool, if there is one. A call that has begun goes on, though its tool be offered no longer.
fn find_tool<'a>(
    bench: &'a CallContext,
    call: &ToolCallRequest,
    standing: PermissionProgress,
) -> Result<&'a Arc<dyn Tool>, ToolResult> {
    let context = &bench.context;
    if bench.repeated.contains(&call.id) && standing != PermissionProgress::Started {
        return Err(repeats::refusal());
    }
    let withheld = || {
        context
            .withheld_tools
            .iter()
            .find(|tool| standing == PermissionProgress::Started && tool.spec().name == call.tool)
    };
    bench.agent.tool(&call.tool).or_else(withheld).ok_or_else(|| {
        let names: Vec<&str> = bench.agent.toolbox.iter().map(|tool| tool.spec().name.as_ref()).collect();
        let likely = ::hooks::tool_names::similar_tool(&call.tool).filter(|name| names.contains(name));
        let (tool, all) = (clip(&call.tool), names.join(", "));
        let text = match likely {
            Some(likely) => format!("Not run: there is no tool `{tool}`; use `{likely}`. The tools are: {all}."),
            None => format!("There is no tool `{tool}`. The tools are: {all}."),
        };
        ToolResult { status: ToolResultStatus::Refused, text }
    })
}

/// How far permission had come for a call, perhaps in a process that died.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PermissionProgress {
    /// Nothing was asked.
    NotAsked,
    /// A person was asked, and what they say counts.
    Asked,
    /// It had begun, and goes on waiting.
    Started,
}

impl PermissionProgress {
    pub(super) fn from_phase(phase: Option<&CallPhase>) -> PermissionProgress {
        match phase {
            Some(CallPhase::Pending | CallPhase::Started | CallPhase::Answered) | None => PermissionProgress::NotAsked,
            Some(CallPhase::Asking(ask)) if !ask.subject.has_call_started() => PermissionProgress::Asked,
            Some(CallPhase::Decided(DecidedAsk { call_started: false, .. })) => PermissionProgress::Asked,
            Some(CallPhase::Asking(_))
            | Some(CallPhase::Decided(DecidedAsk { call_started: true, .. }))
            | Some(CallPhase::Waiting(_) | CallPhase::Waited { .. }) => PermissionProgress::Started,
        }
    }
}

/// Whether it may run. What a person was asked about stays theirs to decide, whatever was granted since; a call that
/// was permitted before its owner changed is not asked about again; what may never run does not start.
async fn decide_admission<'a>(
    bench: &CallContext,
    tool: &'a Arc<dyn Tool>,
    judgement: CallPermission,
    call: &ToolCallRequest,
    caller: &Caller,
    standing: PermissionProgress,
) -> Result<CallAdmission<'a>, InputRejection> {
    Ok(match (judgement.verdict.effect, standing) {
        (_, PermissionProgress::Started) | (RuleEffect::Allow, PermissionProgress::NotAsked) => {
            CallAdmission::Run(tool, judgement.reach)
        }
        (RuleEffect::Deny, PermissionProgress::NotAsked | PermissionProgress::Asked) => {
            CallAdmission::Answer(denied_answer(bench, call, &judgement.verdict))
        }
        (RuleEffect::Ask, PermissionProgress::NotAsked)
        | (RuleEffect::Ask | RuleEffect::Allow, PermissionProgress::Asked) => {
            let ask = asks::permission_ask(&bench.context, caller, call, &judgement.verdict);
            let pending = caller.ask(ask, bench.context.settings.ask_wait).await?;
            CallAdmission::Asked(tool, Box::new(judgement), pending)
        }
    })
}

/// What a call that may not run is answered.
pub(super) fn denied_answer(bench: &CallContext, call: &ToolCallRequest, verdict: &Verdict) -> ToolResult {
    let text = permission_check::denial_text(&call.tool, verdict);
    let text = Clip::new(&text, bench.context.settings.tools.output).into_string();
    ToolResult { status: ToolResultStatus::Denied, text }
}

/// What a tool that did not do its work is answered.
pub(super) fn failed_answer(call: &ToolCallRequest, error: ToolError, limits: &tools::ToolLimits) -> ToolResult {
    match error {
        ToolError::Refused(text) => {
            ToolResult { status: ToolResultStatus::Refused, text: Clip::new(&text, limits.output).into_string() }
        }
        ToolError::Broken(source) => {
            tracing::warn!(tool = call.tool, error = %source, "a tool broke");
            let text = format!("`{}` failed: {}", call.tool, clip(&source.to_string()));
            ToolResult { status: ToolResultStatus::Broken, text }
        }
    }
}

/// Enough of a text to recognise it.
fn clip(text: &str) -> Clip {
    Clip::new(text, 300)
}

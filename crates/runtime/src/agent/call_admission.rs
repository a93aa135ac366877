//! Admission of tool calls, the same for every call of every agent: refuse repetitions, find the tool, run the pre-tool
//! hooks, check the permission on the final input.

use std::sync::Arc;

use futures_util::future::join_all;
use policy::Verdict;
use protocol::{Clip, RuleEffect, ToolCallRequest, ToolResult, ToolResultStatus};
use tools::{FileAccessGuard, Tool, ToolError};

use super::OpenCall;
use super::call::CallContext;
use crate::asks;
use crate::hooks::{self, PreToolFeedback};
use crate::permission_check::{self, CallPermission};
use crate::repeats;
use crate::run_requests::{AskRequest, CallProgress};
use crate::supervisor::InputRejection;

/// A reviewed call. All calls of a message are reviewed before the first one runs.
pub(super) struct ReviewedCall {
    pub(super) call: ToolCallRequest,
    pub(super) open: OpenCall,
    pub(super) hook_feedback: PreToolFeedback,
    pub(super) admission: CallAdmission,
}

/// The outcome of a call's review.
pub(super) enum CallAdmission {
    /// The call runs.
    Run(Arc<dyn Tool>, Arc<dyn FileAccessGuard>),
    /// The call runs if the user permits it.
    Asked(Arc<dyn Tool>, Box<CallPermission>),
    /// The call does not run; this is its result.
    Answer(ToolResult),
}

/// Reviews the calls of one message before any of them runs, so that the user can decide on all permissions at once.
pub(super) async fn review_calls(
    call_context: &CallContext,
    calls: Vec<(ToolCallRequest, OpenCall)>,
) -> Result<Vec<ReviewedCall>, InputRejection> {
    let judged = join_all(calls.into_iter().map(|(call, open)| judge_call(call_context, call, open))).await;
    let judged = judged.into_iter().collect::<Result<Vec<_>, InputRejection>>()?;
    // Ask only when all calls are judged, so that the asks are in the order of the calls.
    let reviewed = join_all(judged.into_iter().map(|judged| admit_call(call_context, judged))).await;
    reviewed.into_iter().collect()
}

/// A call with its permission, or with the result that it gets without running.
struct JudgedCall {
    call: ToolCallRequest,
    open: OpenCall,
    progress: PermissionProgress,
    hook_feedback: PreToolFeedback,
    result: Result<(Arc<dyn Tool>, CallPermission), ToolResult>,
}

async fn judge_call(
    call_context: &CallContext,
    mut call: ToolCallRequest,
    open: OpenCall,
) -> Result<JudgedCall, InputRejection> {
    let mut feedback = PreToolFeedback::default();
    if let Some(early) = call_context.early(&call.id) {
        let progress = PermissionProgress::Started;
        let judged = find_tool(call_context, &call, progress).map(|tool| (tool, early.permission.clone()));
        return Ok(JudgedCall { call, open, progress, hook_feedback: feedback, result: judged });
    }
    let progress = PermissionProgress::of(open.progress().await?);
    let judged = match find_tool(call_context, &call, progress) {
        Ok(tool) => match run_pre_hooks(&open, &mut call, progress).await? {
            Ok(pre_feedback) => {
                feedback = pre_feedback;
                judge_permission(call_context, &tool, &call, &open, (progress, &feedback))
                    .await
                    .map(|permission| (tool, permission))
            }
            Err(answer) => Err(answer),
        },
        Err(answer) => Err(answer),
    };
    Ok(JudgedCall { call, open, progress, hook_feedback: feedback, result: judged })
}

/// Runs the pre-tool hooks, unless they ran already: before the user was asked or the call started.
async fn run_pre_hooks(
    open: &OpenCall,
    call: &mut ToolCallRequest,
    progress: PermissionProgress,
) -> Result<Result<PreToolFeedback, ToolResult>, InputRejection> {
    match progress {
        PermissionProgress::NotAsked => hooks::before_call(open, call).await,
        PermissionProgress::Asked | PermissionProgress::Started => Ok(Ok(PreToolFeedback::default())),
    }
}

/// Checks the permission of the call with its final input.
async fn judge_permission(
    call_context: &CallContext,
    tool: &Arc<dyn Tool>,
    call: &ToolCallRequest,
    open: &OpenCall,
    (progress, feedback): (PermissionProgress, &PreToolFeedback),
) -> Result<CallPermission, ToolResult> {
    let judged = permission_check::judge_call(&call_context.workplace, &call_context.agent, tool, call).await;
    let CallPermission { verdict, file_guard } =
        judged.map_err(|error| failed_answer(call, error, &call_context.workplace.facts.tools))?;
    let verdict = feedback.apply(call, verdict);
    let verdict = match (verdict.effect, progress) {
        (RuleEffect::Ask, PermissionProgress::NotAsked) => hooks::permission_requested(open, call, verdict).await?,
        (RuleEffect::Ask | RuleEffect::Allow | RuleEffect::Deny, _) => verdict,
    };
    Ok(CallPermission { verdict, file_guard })
}

async fn admit_call(call_context: &CallContext, judged: JudgedCall) -> Result<ReviewedCall, InputRejection> {
    let JudgedCall { call, open, progress, hook_feedback, result: judged } = judged;
    let admission = match judged {
        Ok((tool, permission)) => decide_admission(call_context, tool, permission, &call, &open, progress).await?,
        Err(answer) => CallAdmission::Answer(answer),
    };
    Ok(ReviewedCall { call, open, hook_feedback, admission })
}

/// Returns the tool of a call. A call that has started continues even if its tool is no longer offered.
fn find_tool(
    call_context: &CallContext,
    call: &ToolCallRequest,
    progress: PermissionProgress,
) -> Result<Arc<dyn Tool>, ToolResult> {
    if call_context.repeated.contains(&call.id) && progress != PermissionProgress::Started {
        return Err(repeats::refusal());
    }
    let withheld = || {
        call_context
            .catalog
            .tools_for_started_calls
            .iter()
            .find(|tool| progress == PermissionProgress::Started && tool.spec().name == call.tool)
            .cloned()
    };
    call_context.agent.tool(&call.tool).or_else(withheld).ok_or_else(|| {
        let names: Vec<&str> = call_context.agent.toolbox.iter().map(|tool| tool.spec().name.as_ref()).collect();
        let likely = ::hooks::tool_names::similar_tool(&call.tool).filter(|name| names.contains(name));
        let (tool, all) = (clip(&call.tool), names.join(", "));
        let text = match likely {
            Some(likely) => format!("Not run: there is no tool `{tool}`; use `{likely}`. The tools are: {all}."),
            None => format!("There is no tool `{tool}`. The tools are: {all}."),
        };
        ToolResult { status: ToolResultStatus::Refused, text }
    })
}

/// How far the permission check of a call had progressed, possibly in a process that died.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PermissionProgress {
    /// The user was not asked.
    NotAsked,
    /// The user was asked, and their decision counts.
    Asked,
    /// The call had started and continues to wait.
    Started,
}

impl PermissionProgress {
    pub(super) fn of(call: CallProgress) -> PermissionProgress {
        match call {
            CallProgress::NotAsked | CallProgress::Over => PermissionProgress::NotAsked,
            CallProgress::Asked => PermissionProgress::Asked,
            CallProgress::Waiting => PermissionProgress::Started,
        }
    }
}

/// Decides whether the call may run. If the user was asked, their decision counts, even if a rule was granted since.
/// The user is not asked again about a call that they permitted under an earlier owner. A denied call does not start.
async fn decide_admission(
    call_context: &CallContext,
    tool: Arc<dyn Tool>,
    permission: CallPermission,
    call: &ToolCallRequest,
    open: &OpenCall,
    progress: PermissionProgress,
) -> Result<CallAdmission, InputRejection> {
    Ok(match (permission.verdict.effect, progress) {
        (_, PermissionProgress::Started) | (RuleEffect::Allow, PermissionProgress::NotAsked) => {
            CallAdmission::Run(tool, permission.file_guard)
        }
        (RuleEffect::Deny, PermissionProgress::NotAsked | PermissionProgress::Asked) => {
            CallAdmission::Answer(denied_answer(call_context, call, &permission.verdict))
        }
        (RuleEffect::Ask, PermissionProgress::NotAsked)
        | (RuleEffect::Ask | RuleEffect::Allow, PermissionProgress::Asked) => {
            let ask = asks::permission_ask(&call_context.workplace.facts, open, call, &permission.verdict);
            open.session.open_ask(AskRequest { turn: open.turn, ask }).await?;
            CallAdmission::Asked(tool, Box::new(permission))
        }
    })
}

/// The result of a call that is denied.
pub(super) fn denied_answer(call_context: &CallContext, call: &ToolCallRequest, verdict: &Verdict) -> ToolResult {
    let text = permission_check::denial_text(&call.tool, verdict);
    let text = Clip::new(&text, call_context.workplace.facts.tools.output_bytes).into_string();
    ToolResult { status: ToolResultStatus::Denied, text }
}

/// The result of a call whose tool refused it or failed.
pub(super) fn failed_answer(call: &ToolCallRequest, error: ToolError, limits: &tools::ToolLimits) -> ToolResult {
    match error {
        ToolError::Refused(text) => {
            ToolResult { status: ToolResultStatus::Refused, text: Clip::new(&text, limits.output_bytes).into_string() }
        }
        ToolError::Rejected(text) => {
            ToolResult { status: ToolResultStatus::Denied, text: Clip::new(&text, limits.output_bytes).into_string() }
        }
        ToolError::Failed(source) => {
            tracing::warn!(tool = call.tool, error = %source, "a tool failed");
            let text = format!("`{}` failed: {}", call.tool, clip(&source.to_string()));
            ToolResult { status: ToolResultStatus::Broken, text }
        }
    }
}

/// Clips a text to a length that is still recognisable.
fn clip(text: &str) -> Clip {
    Clip::new(text, 300)
}

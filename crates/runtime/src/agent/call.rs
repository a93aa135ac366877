//! One tool call, with the same steps for every call of every agent: check it, record its start, run it, run the hooks,
//! record its answer once.

use std::sync::Arc;

use futures_util::future::join_all;
use protocol::{AskDecision, CallId, Evidence, RuleEffect, ToolCallRequest, ToolResult, ToolResultStatus};
use tokio_util::sync::CancellationToken;
use tools::{
    FileAccessGuard, FileChangeRecorder, FileStamps, Heartbeat, Tool, ToolAccess, ToolContext, ToolError, ToolPlace,
};

use super::OpenCall;
use super::call_admission::{
    CallAdmission, PermissionProgress, ReviewedCall, denied_answer, failed_answer, review_calls,
};
use super::early_start::EarlyCall;
use crate::asks;
use crate::hooks::{self, PendingPostHook, PendingPostHooks, PreToolFeedback};
use crate::network_gate::PolicyNetworkGate;
use crate::permission_check::{self, CallPermission};
use crate::prepared_agent::PreparedAgent;
use crate::run_requests::CallProgress;
use crate::session_context::{AgentCatalog, Workplace};
use crate::supervisor::InputRejection;
use crate::task_workspaces::TaskWorkspace;

/// The most changed files that are recorded for one command.
const MAX_CHANGED_FILES: usize = 100;

/// What the tool calls of one answer need to run.
#[derive(Debug, Clone)]
pub(super) struct CallContext {
    pub(super) workplace: Arc<Workplace>,
    pub(super) catalog: Arc<AgentCatalog>,
    pub(super) agent: Arc<PreparedAgent>,
    /// The files that the agent has read.
    pub(super) stamps: Arc<FileStamps>,
    pub(super) heartbeat: Heartbeat,
    /// Calls that are refused because they only repeat others.
    pub(super) repeated: Vec<CallId>,
    /// Calls whose post-tool hooks have not run.
    pub(super) pending_post_hooks: PendingPostHooks,
    /// The call whose start was committed together with the model's answer.
    pub(super) early: Option<EarlyCall>,
}

impl CallContext {
    pub(super) fn early(&self, call: &CallId) -> Option<&EarlyCall> {
        self.early.as_ref().filter(|early| early.call == *call)
    }
}

/// Runs the calls: adjacent calls that only read run concurrently, all others in order. Permissions are asked for
/// before any call runs, so that the user can decide on all of them at once.
pub(super) async fn run_calls(
    call_context: &CallContext,
    calls: Vec<(ToolCallRequest, OpenCall)>,
) -> Result<(), InputRejection> {
    let reviewed = review_calls(call_context, calls).await?;
    for group in concurrent_groups(reviewed) {
        let answered = join_all(group.into_iter().map(|reviewed| run_reviewed_call(call_context, reviewed))).await;
        answered.into_iter().collect::<Result<(), InputRejection>>()?;
    }
    Ok(())
}

/// Splits the calls into groups, in order. The calls of one group may run concurrently.
fn concurrent_groups(calls: Vec<ReviewedCall>) -> Vec<Vec<ReviewedCall>> {
    let mut groups: Vec<(bool, Vec<ReviewedCall>)> = Vec::new();
    for reviewed in calls {
        let reads = match &reviewed.admission {
            CallAdmission::Run(tool, _) | CallAdmission::Asked(tool, ..) => {
                matches!(tool.spec().access, ToolAccess::Read | ToolAccess::Agent | ToolAccess::Other)
            }
            CallAdmission::Answer(_) => true,
        };
        match groups.last_mut() {
            Some((true, group)) if reads => group.push(reviewed),
            _ => groups.push((reads, vec![reviewed])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

async fn run_reviewed_call(call_context: &CallContext, reviewed: ReviewedCall) -> Result<(), InputRejection> {
    let ReviewedCall { mut call, open, hook_feedback: feedback, admission } = reviewed;
    let (tool, file_guard) = match admission {
        CallAdmission::Run(tool, file_guard) => (tool, file_guard),
        CallAdmission::Answer(answer) => return answer_call(call_context, &open, &call, answer).await,
        CallAdmission::Asked(tool, permission) => {
            let CallPermission { verdict, file_guard } = *permission;
            let decided = open.session.ask_decision(call.id.clone()).await?;
            match decided.decision {
                AskDecision::Allow { input: None, .. } => (tool, file_guard),
                AskDecision::Allow { input: Some(input), .. } => {
                    call.input = input;
                    match judge_amended(call_context, &tool, &call).await {
                        Ok(file_guard) => (tool, file_guard),
                        Err(answer) => return answer_call(call_context, &open, &call, answer).await,
                    }
                }
                AskDecision::Deny { .. } | AskDecision::Reply { .. } | AskDecision::Proceed { .. } => {
                    let answer = asks::refused_answer(&call, &verdict, &decided);
                    return answer_call(call_context, &open, &call, answer).await;
                }
            }
        }
    };
    if tool.spec().access == ToolAccess::Agent {
        // One commit starts the call and its agent, and also answers a call that does not wait: a crash cannot separate
        // them.
        call_context.pending_post_hooks.push(PendingPostHook { call: call.clone(), open: open.clone(), feedback });
        let (answer, evidence) = run_tool(call_context, &tool, &call, &open, file_guard).await;
        return match open.progress().await? {
            // `AgentRun::run_open_calls` runs the hooks.
            CallProgress::Over => Ok(()),
            CallProgress::NotAsked | CallProgress::Asked | CallProgress::Waiting => {
                let feedback = call_context.pending_post_hooks.take_feedback(&call.id);
                let answer = hooks::after_call(&call_context.workplace, &open, &call, feedback, answer).await;
                report_answer(&open, call.id, answer, evidence).await
            }
        };
    }
    report_start(call_context, &open).await?;
    let (answer, evidence) = run_tool(call_context, &tool, &call, &open, file_guard).await;
    let answer = hooks::after_call(&call_context.workplace, &open, &call, feedback, answer).await;
    report_answer(&open, call.id, answer, evidence).await
}

/// Checks a call that the user permitted with other arguments. A deny rule also applies to the user's input.
async fn judge_amended(
    call_context: &CallContext,
    tool: &Arc<dyn Tool>,
    call: &ToolCallRequest,
) -> Result<Arc<dyn FileAccessGuard>, ToolResult> {
    let judged = permission_check::judge_call(&call_context.workplace, &call_context.agent, tool, call).await;
    let CallPermission { verdict, file_guard } =
        judged.map_err(|error| failed_answer(call, error, &call_context.workplace.facts.tools))?;
    match verdict.effect {
        RuleEffect::Allow | RuleEffect::Ask => Ok(file_guard),
        RuleEffect::Deny => Err(denied_answer(call_context, call, &verdict)),
    }
}

/// Answers a call that was not run. The hooks run if it was denied.
async fn answer_call(
    call_context: &CallContext,
    open: &OpenCall,
    call: &ToolCallRequest,
    answer: ToolResult,
) -> Result<(), InputRejection> {
    let answer = match answer.status {
        ToolResultStatus::Denied => {
            hooks::after_call(&call_context.workplace, open, call, PreToolFeedback::default(), answer).await
        }
        ToolResultStatus::Done
        | ToolResultStatus::Refused
        | ToolResultStatus::Broken
        | ToolResultStatus::Interrupted
        | ToolResultStatus::Cancelled => answer,
    };
    report_answer(open, call.id.clone(), answer, Vec::new()).await
}

async fn report_answer(
    open: &OpenCall,
    call: CallId,
    answer: ToolResult,
    evidence: Vec<Evidence>,
) -> Result<(), InputRejection> {
    debug_assert_eq!(call, open.call);
    open.answer(answer, evidence).await
}

/// Records the start of the call, unless it was recorded with the model's answer or by an earlier owner.
async fn report_start(call_context: &CallContext, open: &OpenCall) -> Result<(), InputRejection> {
    if call_context.early(&open.call).is_some() {
        return Ok(());
    }
    match PermissionProgress::of(open.progress().await?) {
        PermissionProgress::Started => Ok(()),
        PermissionProgress::NotAsked | PermissionProgress::Asked => open.start().await,
    }
}

async fn run_tool(
    call_context: &CallContext,
    tool: &Arc<dyn Tool>,
    call: &ToolCallRequest,
    open: &OpenCall,
    file_guard: Arc<dyn FileAccessGuard>,
) -> (ToolResult, Vec<Evidence>) {
    let cancel = CancellationToken::new();
    let _guard = cancel.clone().drop_guard();
    let cx = tool_context(call_context, open, cancel, file_guard);
    let folder = call_context.agent.task_workspace.cwd();
    let before = match tool.spec().access {
        ToolAccess::Execute => call_context.workplace.snapshot_folder(folder.to_owned()).await,
        // These tools report their own changes.
        ToolAccess::Read | ToolAccess::Agent | ToolAccess::Session | ToolAccess::Write | ToolAccess::Other => None,
    };
    let ran = match tool.place(&call.input) {
        ToolPlace::Workplace => tool.run(&call.input, &cx).await,
        ToolPlace::Session => open.session.run_tool(open.turn, call.clone()).await,
    };
    let (answer, mut evidence) = match ran {
        Ok(output) => (ToolResult { status: ToolResultStatus::Done, text: output.text.into_string() }, output.evidence),
        Err(error) => {
            if matches!(error, ToolError::Rejected(_)) {
                open.turn_end.request();
            }
            (failed_answer(call, error, &cx.limits), Vec::new())
        }
    };
    if let Some(before) = before
        && let Some(after) = call_context.workplace.snapshot_folder(folder.to_owned()).await
    {
        let changes = before.changes(&after).take(MAX_CHANGED_FILES);
        evidence.extend(changes.map(|path| Evidence::Changed { path: path.display().to_string() }));
    }
    (answer, evidence)
}

/// Records what calls change. A checkout is the agent's own copy, and git knows what changed there.
fn recorder_in(workplace: &Workplace, task_workspace: &TaskWorkspace) -> Option<Arc<dyn FileChangeRecorder>> {
    (!task_workspace.is_checkout()).then(|| Arc::clone(&workplace.file_recorder) as Arc<dyn FileChangeRecorder>)
}

fn tool_context(
    call_context: &CallContext,
    open: &OpenCall,
    cancel: CancellationToken,
    file_guard: Arc<dyn FileAccessGuard>,
) -> ToolContext {
    let CallContext { workplace, agent, .. } = call_context;
    ToolContext {
        identity: tools::CallIdentity { task: open.run.task, call: open.call.clone() },
        workspace: file_guard.workspace().unwrap_or_else(|| Arc::clone(&agent.task_workspace.workspace)),
        access_guard: file_guard,
        stamps: Arc::clone(&call_context.stamps),
        file_changes: recorder_in(workplace, &agent.task_workspace),
        guardian: workplace.guardian.clone(),
        env: Arc::clone(&agent.task_workspace.env),
        cancel,
        heartbeat: call_context.heartbeat.clone(),
        limits: workplace.facts.tools,
        session: None,
        fetcher: workplace.fetcher.clone(),
        address_gate: Arc::new(PolicyNetworkGate(Arc::clone(workplace))),
    }
}

//! One tool call: the same steps for every call of every agent, in this order: judge it, say durably that it starts, run
//! it, tell hooks, answer it once.

use std::sync::Arc;

use futures_util::future::join_all;
use kernel::{CallPhase, RunUpdate};
use protocol::{AskDecision, CallId, Evidence, RuleEffect, ToolCallRequest, ToolResult, ToolResultStatus};
use tokio_util::sync::CancellationToken;
use tools::{FileAccessGuard, FileStamps, Heartbeat, Tool, ToolAccess, ToolContext};

use super::SessionContext;
use super::call_admission::{
    CallAdmission, PermissionProgress, ReviewedCall, denied_answer, failed_answer, review_calls,
};
use super::early_start::EarlyCall;
use crate::asks::{self, UserAsker};
use crate::background_commands::AgentShellTasks;
use crate::call_waits::Caller;
use crate::hooks::{self, PendingPostHook, PendingPostHooks, PreToolFeedback};
use crate::network_gate::PolicyNetworkGate;
use crate::permission_check::{self, CallPermission};
use crate::prepared_agent::PreparedAgent;
use crate::session_control::AgentSessionControl;
use crate::shared_lists::AgentItemList;
use crate::sql_tables::{AgentSqlSpace, IntentRecorder};
use crate::subagents::AgentSubagents;
use crate::supervisor::InputRejection;

/// Most files that a command is said to have changed.
const MAX_CHANGED_FILES: usize = 100;

/// What a call is run with.
#[derive(Debug, Clone)]
pub(super) struct CallContext {
    pub(super) context: Arc<SessionContext>,
    pub(super) agent: Arc<PreparedAgent>,
    pub(super) stamps: Arc<FileStamps>,
    pub(super) pulse: Heartbeat,
    /// Calls that are not run, since they only repeat others.
    pub(super) repeated: Vec<CallId>,
    /// Calls that hooks were not told the end of.
    pub(super) pending_post_hooks: PendingPostHooks,
    /// The call that has started already.
    pub(super) early: Option<EarlyCall>,
}

impl CallContext {
    pub(super) fn early(&self, call: &CallId) -> Option<&EarlyCall> {
        self.early.as_ref().filter(|early| early.call == *call)
    }
}

/// Runs the calls: readers that stand together run together, everything else in order. What needs permission asks for
/// it before anything runs, so that a person can decide on all of it at once.
pub(super) async fn run_calls(
    bench: &CallContext,
    calls: Vec<(ToolCallRequest, Caller)>,
) -> Result<(), InputRejection> {
    let looked = review_calls(bench, calls).await?;
    for group in groups(looked) {
        let answered = join_all(group.into_iter().map(|looked| run_one(bench, looked))).await;
        answered.into_iter().collect::<Result<(), InputRejection>>()?;
    }
    Ok(())
}

fn groups(calls: Vec<ReviewedCall<'_>>) -> Vec<Vec<ReviewedCall<'_>>> {
    let mut groups: Vec<(bool, Vec<ReviewedCall<'_>>)> = Vec::new();
    for looked in calls {
        let reads = match &looked.admission {
            CallAdmission::Run(tool, _) | CallAdmission::Asked(tool, ..) => {
                matches!(tool.spec().access, ToolAccess::Read | ToolAccess::Agent | ToolAccess::Other)
            }
            CallAdmission::Answer(_) => true,
        };
        match groups.last_mut() {
            Some((true, group)) if reads => group.push(looked),
            _ => groups.push((reads, vec![looked])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

async fn run_one(bench: &CallContext, looked: ReviewedCall<'_>) -> Result<(), InputRejection> {
    let ReviewedCall { mut call, caller, hook_feedback: heard, admission } = looked;
    let (tool, reach) = match admission {
        CallAdmission::Run(tool, reach) => (tool, reach),
        CallAdmission::Answer(answer) => return answer_call(bench, &caller, &call, answer).await,
        CallAdmission::Asked(tool, judgement, pending) => {
            let CallPermission { verdict, reach } = *judgement;
            let decided = pending.decision().await?;
            match decided.decision {
                AskDecision::Allow { input: None, .. } => (tool, reach),
                AskDecision::Allow { input: Some(input), .. } => {
                    call.input = input;
                    match judge_amended(bench, tool, &call).await {
                        Ok(reach) => (tool, reach),
                        Err(answer) => return answer_call(bench, &caller, &call, answer).await,
                    }
                }
                AskDecision::Deny { .. } | AskDecision::Reply { .. } | AskDecision::Proceed { .. } => {
                    let answer = asks::refused_answer(&call, &verdict, &decided);
                    return answer_call(bench, &caller, &call, answer).await;
                }
            }
        }
    };
    if tool.spec().access == ToolAccess::Agent {
        // It starts with its agent, and is answered with it if nobody waits: no crash comes between.
        bench.pending_post_hooks.push(PendingPostHook { call: call.clone(), caller: caller.clone(), feedback: heard });
        let (answer, evidence) = run(bench, tool, &call, &caller, reach).await;
        return match caller.phase().await? {
            // Whoever runs the calls tells hooks of it.
            Some(CallPhase::Answered) | None => Ok(()),
            Some(_) => {
                let heard = bench.pending_post_hooks.settle(&call.id);
                let answer = hooks::after_call(&bench.context, &caller, &call, heard, answer).await;
                report_answer(&caller, call.id, answer, evidence).await
            }
        };
    }
    report_start(bench, &caller).await?;
    let (answer, evidence) = run(bench, tool, &call, &caller, reach).await;
    let answer = hooks::after_call(&bench.context, &caller, &call, heard, answer).await;
    report_answer(&caller, call.id, answer, evidence).await
}

/// What a call may open that somebody permitted with other arguments. What may never run does not, whoever wrote it.
async fn judge_amended(
    bench: &CallContext,
    tool: &Arc<dyn Tool>,
    call: &ToolCallRequest,
) -> Result<Arc<dyn FileAccessGuard>, ToolResult> {
    let judged = permission_check::judge_call(&bench.context, &bench.agent, tool, call).await;
    let CallPermission { verdict, reach } =
        judged.map_err(|error| failed_answer(call, error, &bench.context.settings.tools))?;
    match verdict.effect {
        RuleEffect::Allow | RuleEffect::Ask => Ok(reach),
        RuleEffect::Deny => Err(denied_answer(bench, call, &verdict)),
    }
}

/// Answers a call that was not run. Hooks hear of it if it was denied.
async fn answer_call(
    bench: &CallContext,
    caller: &Caller,
    call: &ToolCallRequest,
    answer: ToolResult,
) -> Result<(), InputRejection> {
    let answer = match answer.status {
        ToolResultStatus::Denied => {
            hooks::after_call(&bench.context, caller, call, PreToolFeedback::default(), answer).await
        }
        ToolResultStatus::Done
        | ToolResultStatus::Refused
        | ToolResultStatus::Broken
        | ToolResultStatus::Interrupted
        | ToolResultStatus::Cancelled => answer,
    };
    report_answer(caller, call.id.clone(), answer, Vec::new()).await
}

async fn report_answer(
    caller: &Caller,
    call: CallId,
    answer: ToolResult,
    evidence: Vec<Evidence>,
) -> Result<(), InputRejection> {
    debug_assert_eq!(call, caller.call);
    caller.answer(answer, evidence).await
}

/// Says durably that the call starts, unless it did with its answer, or went on waiting while its owner changed.
async fn report_start(bench: &CallContext, caller: &Caller) -> Result<(), InputRejection> {
    if bench.early(&caller.call).is_some() {
        return Ok(());
    }
    match PermissionProgress::from_phase(caller.phase().await?.as_ref()) {
        PermissionProgress::Started => Ok(()),
        PermissionProgress::NotAsked | PermissionProgress::Asked => {
            let (turn, call) = (caller.turn, caller.call.clone());
            caller.supervisor.report(caller.run, RunUpdate::CallStarted { turn, call }).await
        }
    }
}

async fn run(
    bench: &CallContext,
    tool: &Arc<dyn Tool>,
    call: &ToolCallRequest,
    caller: &Caller,
    reach: Arc<dyn FileAccessGuard>,
) -> (ToolResult, Vec<Evidence>) {
    let cancel = CancellationToken::new();
    let _guard = cancel.clone().drop_guard();
    let cx = tool_context(bench, caller, cancel, reach);
    let folder = bench.agent.task_workspace.cwd();
    let before = match tool.spec().access {
        ToolAccess::Execute => bench.context.snapshot(folder.to_owned()).await,
        // These tell themselves what they change.
        ToolAccess::Read | ToolAccess::Agent | ToolAccess::Session | ToolAccess::Write | ToolAccess::Other => None,
    };
    let (answer, mut evidence) = match tool.run(&call.input, &cx).await {
        Ok(output) => (ToolResult { status: ToolResultStatus::Done, text: output.text.into_string() }, output.evidence),
        Err(error) => (failed_answer(call, error, &cx.limits), Vec::new()),
    };
    if let Some(before) = before
        && let Some(after) = bench.context.snapshot(folder.to_owned()).await
    {
        let changes = before.changes(&after).take(MAX_CHANGED_FILES);
        evidence.extend(changes.map(|path| Evidence::Changed { path: path.display().to_string() }));
    }
    (answer, evidence)
}

fn tool_context(
    bench: &CallContext,
    caller: &Caller,
    cancel: CancellationToken,
    reach: Arc<dyn FileAccessGuard>,
) -> ToolContext {
    let context = &bench.context;
    let subagents =
        || AgentSubagents { context: Arc::clone(context), agent: Arc::clone(&bench.agent), caller: caller.clone() };
    ToolContext {
        identity: tools::CallIdentity { task: caller.run.task, call: caller.call.clone() },
        workspace: Arc::clone(&bench.agent.task_workspace.workspace),
        access_guard: reach,
        stamps: Arc::clone(&bench.stamps),
        guardian: context.guardian.clone(),
        env: Arc::clone(&bench.agent.task_workspace.env),
        cancel,
        heartbeat: bench.pulse.clone(),
        limits: context.settings.tools,
        sql: Arc::new(AgentSqlSpace { context: Arc::clone(context), caller: caller.clone() }),
        background: Arc::new(AgentShellTasks { context: Arc::clone(context), caller: caller.clone() }),
        subagents: Arc::new(subagents()),
        shared_list: Arc::new(AgentItemList { subagents: subagents() }),
        intent: Arc::new(IntentRecorder(caller.clone())),
        session_control: Arc::new(AgentSessionControl { context: Arc::clone(context), caller: caller.clone() }),
        user_prompter: Arc::new(UserAsker { context: Arc::clone(context), caller: caller.clone() }),
        fetcher: context.fetcher.clone(),
        gate: Arc::new(PolicyNetworkGate(Arc::clone(context))),
    }
}

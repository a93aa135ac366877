//! One tool call: the same steps for every call of every agent, in this order: refuse what is only repeated, find the
//! tool, check the permission on the final input, say durably that it starts, run it, answer it once.

use std::sync::Arc;

use futures_util::future::join_all;
use kernel::{CallPhase, Report};
use protocol::{Answer, AnswerStatus, Call, CallId, Clip};
use tokio_util::sync::CancellationToken;
use tools::{Access, Context, Stamps, Tool, ToolError};

use super::Desk;
use super::guard;
use crate::permit;
use crate::shells::Shells;
use crate::space::Intents;
use crate::supervisor::Rejected;
use crate::waits::Caller;

/// What a call is run with.
#[derive(Debug, Clone)]
pub(super) struct Bench {
    pub(super) desk: Arc<Desk>,
    pub(super) stamps: Arc<Stamps>,
    /// Calls that are not run, since they only repeat others.
    pub(super) repeated: Vec<CallId>,
}

/// Runs the calls: readers that stand together run together, everything else in order.
pub(super) async fn run_all(bench: &Bench, calls: Vec<(Call, Caller)>) -> Result<(), Rejected> {
    for group in groups(&bench.desk, calls) {
        let answered = join_all(group.into_iter().map(|(call, caller)| run_one(bench, call, caller))).await;
        answered.into_iter().collect::<Result<(), Rejected>>()?;
    }
    Ok(())
}

fn groups(desk: &Desk, calls: Vec<(Call, Caller)>) -> Vec<Vec<(Call, Caller)>> {
    let mut groups: Vec<(bool, Vec<(Call, Caller)>)> = Vec::new();
    for call in calls {
        let reads = desk.tool(&call.0.tool).is_none_or(|tool| tool.spec().access == Access::Read);
        match groups.last_mut() {
            Some((true, group)) if reads => group.push(call),
            _ => groups.push((reads, vec![call])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

async fn run_one(bench: &Bench, call: Call, caller: Caller) -> Result<(), Rejected> {
    let answer = match admit(bench, &call) {
        Ok(tool) => {
            begin(&caller).await?;
            run(bench, tool, &call, &caller).await
        }
        Err(answer) => answer,
    };
    let report = Report::CallAnswered { turn: caller.turn, call: call.id, answer };
    caller.supervisor.report(caller.run, report).await
}

/// The tool, if there is one and it may be used.
fn admit<'a>(bench: &'a Bench, call: &Call) -> Result<&'a Arc<dyn Tool>, Answer> {
    let desk = &bench.desk;
    if bench.repeated.contains(&call.id) {
        return Err(guard::refusal());
    }
    let Some(tool) = desk.tool(&call.tool) else {
        let names: Vec<&str> = desk.toolbox.iter().map(|tool| tool.spec().name).collect();
        let text = format!("There is no tool `{}`. The tools are: {}.", clip(&call.tool), names.join(", "));
        return Err(Answer { status: AnswerStatus::Refused, text });
    };
    match permit::check(desk.settings.permission, tool.spec()) {
        Ok(()) => Ok(tool),
        Err(text) => Err(Answer { status: AnswerStatus::Denied, text }),
    }
}

/// Says durably that the call starts, unless it is one that went on waiting while its owner changed.
async fn begin(caller: &Caller) -> Result<(), Rejected> {
    match caller.phase().await? {
        Some(CallPhase::Waiting(_) | CallPhase::Waited { .. }) => Ok(()),
        Some(CallPhase::Pending | CallPhase::Started | CallPhase::Answered) | None => {
            let (turn, call) = (caller.turn, caller.call.clone());
            caller.supervisor.report(caller.run, Report::CallStarted { turn, call }).await
        }
    }
}

async fn run(bench: &Bench, tool: &Arc<dyn Tool>, call: &Call, caller: &Caller) -> Answer {
    let cancel = CancellationToken::new();
    let _guard = cancel.clone().drop_guard();
    let cx = context(bench, caller, cancel);
    match tool.run(&call.input, &cx).await {
        Ok(output) => Answer { status: AnswerStatus::Done, text: output.text.into_string() },
        Err(ToolError::Refused(text)) => {
            Answer { status: AnswerStatus::Refused, text: Clip::new(&text, cx.limits.output).into_string() }
        }
        Err(ToolError::Broken(source)) => {
            tracing::warn!(tool = call.tool, error = %source, "a tool broke");
            let text = format!("`{}` failed: {}", call.tool, clip(&source.to_string()));
            Answer { status: AnswerStatus::Broken, text }
        }
    }
}

fn context(bench: &Bench, caller: &Caller, cancel: CancellationToken) -> Context {
    let desk = &bench.desk;
    Context {
        workspace: Arc::clone(&desk.workspace),
        stamps: Arc::clone(&bench.stamps),
        guardian: desk.guardian.clone(),
        env: Arc::clone(&desk.env),
        cancel,
        limits: desk.settings.tools,
        sql: desk.tables.clone(),
        background: Arc::new(Shells { desk: Arc::clone(desk), caller: caller.clone() }),
        intent: Arc::new(Intents(caller.clone())),
    }
}

/// Enough of a text to recognise it.
fn clip(text: &str) -> Clip {
    Clip::new(text, 300)
}

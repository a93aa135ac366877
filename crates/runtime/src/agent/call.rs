//! One tool call: the same steps for every call of every agent, in this order: judge it, say durably that it starts, run
//! it, tell hooks, answer it once.

use std::sync::Arc;

use futures_util::future::join_all;
use kernel::{CallPhase, Report};
use protocol::{Answer, AnswerStatus, Call, CallId, Decision, Evidence, RuleEffect};
use tokio_util::sync::CancellationToken;
use tools::{Access, Context, Pulse, Reach, Stamps, Tool};

use super::Desk;
use super::early::Early;
use super::judge::{Admission, Looked, Standing, denied, failed, look_at_all};
use crate::addresses::Addresses;
use crate::asks::{self, Questions};
use crate::crew::Crew;
use crate::helm::Steering;
use crate::hooks::{self, Heard, Untold, Untolds};
use crate::lists::Lists;
use crate::outfit::Outfit;
use crate::permit::{self, Judgement};
use crate::shells::Shells;
use crate::space::{Intents, Space};
use crate::supervisor::Rejected;
use crate::waits::Caller;

/// Most files that a command is said to have changed.
const CHANGES: usize = 100;

/// What a call is run with.
#[derive(Debug, Clone)]
pub(super) struct Bench {
    pub(super) desk: Arc<Desk>,
    pub(super) outfit: Arc<Outfit>,
    pub(super) stamps: Arc<Stamps>,
    pub(super) pulse: Pulse,
    /// Calls that are not run, since they only repeat others.
    pub(super) repeated: Vec<CallId>,
    /// Calls that hooks were not told the end of.
    pub(super) untold: Untolds,
    /// The call that has started already.
    pub(super) early: Option<Early>,
}

impl Bench {
    pub(super) fn early(&self, call: &CallId) -> Option<&Early> {
        self.early.as_ref().filter(|early| early.call == *call)
    }
}

/// Runs the calls: readers that stand together run together, everything else in order. What needs permission asks for
/// it before anything runs, so that a person can decide on all of it at once.
pub(super) async fn run_all(bench: &Bench, calls: Vec<(Call, Caller)>) -> Result<(), Rejected> {
    let looked = look_at_all(bench, calls).await?;
    for group in groups(looked) {
        let answered = join_all(group.into_iter().map(|looked| run_one(bench, looked))).await;
        answered.into_iter().collect::<Result<(), Rejected>>()?;
    }
    Ok(())
}

fn groups(calls: Vec<Looked<'_>>) -> Vec<Vec<Looked<'_>>> {
    let mut groups: Vec<(bool, Vec<Looked<'_>>)> = Vec::new();
    for looked in calls {
        let reads = match &looked.admission {
            Admission::Run(tool, _) | Admission::Asked(tool, ..) => {
                matches!(tool.spec().access, Access::Read | Access::Agent | Access::Other)
            }
            Admission::Answer(_) => true,
        };
        match groups.last_mut() {
            Some((true, group)) if reads => group.push(looked),
            _ => groups.push((reads, vec![looked])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

async fn run_one(bench: &Bench, looked: Looked<'_>) -> Result<(), Rejected> {
    let Looked { mut call, caller, heard, admission } = looked;
    let (tool, reach) = match admission {
        Admission::Run(tool, reach) => (tool, reach),
        Admission::Answer(answer) => return answer_call(bench, &caller, &call, answer).await,
        Admission::Asked(tool, judgement, pending) => {
            let Judgement { verdict, reach } = *judgement;
            let decided = pending.decided().await?;
            match decided.decision {
                Decision::Allow { input: None, .. } => (tool, reach),
                Decision::Allow { input: Some(input), .. } => {
                    call.input = input;
                    match amended(bench, tool, &call).await {
                        Ok(reach) => (tool, reach),
                        Err(answer) => return answer_call(bench, &caller, &call, answer).await,
                    }
                }
                Decision::Deny { .. } | Decision::Reply { .. } | Decision::Proceed { .. } => {
                    let answer = asks::refused(&call, &verdict, &decided);
                    return answer_call(bench, &caller, &call, answer).await;
                }
            }
        }
    };
    if tool.spec().access == Access::Agent {
        // It starts with its agent, and is answered with it if nobody waits: no crash comes between.
        bench.untold.push(Untold { call: call.clone(), caller: caller.clone(), heard });
        let (answer, evidence) = run(bench, tool, &call, &caller, reach).await;
        return match caller.phase().await? {
            // Whoever runs the calls tells hooks of it.
            Some(CallPhase::Answered) | None => Ok(()),
            Some(_) => {
                let heard = bench.untold.settle(&call.id);
                let answer = hooks::after(&bench.desk, &caller, &call, heard, answer).await;
                answered(&caller, call.id, answer, evidence).await
            }
        };
    }
    begin(bench, &caller).await?;
    let (answer, evidence) = run(bench, tool, &call, &caller, reach).await;
    let answer = hooks::after(&bench.desk, &caller, &call, heard, answer).await;
    answered(&caller, call.id, answer, evidence).await
}

/// What a call may open that somebody permitted with other arguments. What may never run does not, whoever wrote it.
async fn amended(bench: &Bench, tool: &Arc<dyn Tool>, call: &Call) -> Result<Arc<dyn Reach>, Answer> {
    let judged = permit::judge(&bench.desk, &bench.outfit, tool, call).await;
    let Judgement { verdict, reach } = judged.map_err(|error| failed(call, error, &bench.desk.settings.tools))?;
    match verdict.effect {
        RuleEffect::Allow | RuleEffect::Ask => Ok(reach),
        RuleEffect::Deny => Err(denied(bench, call, &verdict)),
    }
}

/// Answers a call that was not run. Hooks hear of it if it was denied.
async fn answer_call(bench: &Bench, caller: &Caller, call: &Call, answer: Answer) -> Result<(), Rejected> {
    let answer = match answer.status {
        AnswerStatus::Denied => hooks::after(&bench.desk, caller, call, Heard::default(), answer).await,
        AnswerStatus::Done
        | AnswerStatus::Refused
        | AnswerStatus::Broken
        | AnswerStatus::Interrupted
        | AnswerStatus::Cancelled => answer,
    };
    answered(caller, call.id.clone(), answer, Vec::new()).await
}

async fn answered(caller: &Caller, call: CallId, answer: Answer, evidence: Vec<Evidence>) -> Result<(), Rejected> {
    debug_assert_eq!(call, caller.call);
    caller.answer(answer, evidence).await
}

/// Says durably that the call starts, unless it did with its answer, or went on waiting while its owner changed.
async fn begin(bench: &Bench, caller: &Caller) -> Result<(), Rejected> {
    if bench.early(&caller.call).is_some() {
        return Ok(());
    }
    match Standing::of(caller.phase().await?.as_ref()) {
        Standing::Begun => Ok(()),
        Standing::Fresh | Standing::Asked => {
            let (turn, call) = (caller.turn, caller.call.clone());
            caller.supervisor.report(caller.run, Report::CallStarted { turn, call }).await
        }
    }
}

async fn run(
    bench: &Bench,
    tool: &Arc<dyn Tool>,
    call: &Call,
    caller: &Caller,
    reach: Arc<dyn Reach>,
) -> (Answer, Vec<Evidence>) {
    let cancel = CancellationToken::new();
    let _guard = cancel.clone().drop_guard();
    let cx = context(bench, caller, cancel, reach);
    let folder = bench.outfit.site.cwd();
    let before = match tool.spec().access {
        Access::Execute => bench.desk.snapshot(folder.to_owned()).await,
        // These tell themselves what they change.
        Access::Read | Access::Agent | Access::Session | Access::Write | Access::Other => None,
    };
    let (answer, mut evidence) = match tool.run(&call.input, &cx).await {
        Ok(output) => (Answer { status: AnswerStatus::Done, text: output.text.into_string() }, output.evidence),
        Err(error) => (failed(call, error, &cx.limits), Vec::new()),
    };
    if let Some(before) = before
        && let Some(after) = bench.desk.snapshot(folder.to_owned()).await
    {
        let changes = before.changes(&after).take(CHANGES);
        evidence.extend(changes.map(|path| Evidence::Changed { path: path.display().to_string() }));
    }
    (answer, evidence)
}

fn context(bench: &Bench, caller: &Caller, cancel: CancellationToken, reach: Arc<dyn Reach>) -> Context {
    let desk = &bench.desk;
    let crew = || Crew { desk: Arc::clone(desk), outfit: Arc::clone(&bench.outfit), caller: caller.clone() };
    Context {
        place: tools::Place { task: caller.run.task, call: caller.call.clone() },
        workspace: Arc::clone(&bench.outfit.site.workspace),
        reach,
        stamps: Arc::clone(&bench.stamps),
        guardian: desk.guardian.clone(),
        env: Arc::clone(&bench.outfit.site.env),
        cancel,
        pulse: bench.pulse.clone(),
        limits: desk.settings.tools,
        sql: Arc::new(Space { desk: Arc::clone(desk), caller: caller.clone() }),
        background: Arc::new(Shells { desk: Arc::clone(desk), caller: caller.clone() }),
        crew: Arc::new(crew()),
        lists: Arc::new(Lists { crew: crew() }),
        intent: Arc::new(Intents(caller.clone())),
        helm: Arc::new(Steering { desk: Arc::clone(desk), caller: caller.clone() }),
        asker: Arc::new(Questions { desk: Arc::clone(desk), caller: caller.clone() }),
        fetcher: desk.fetcher.clone(),
        gate: Arc::new(Addresses(Arc::clone(desk))),
    }
}

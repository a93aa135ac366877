//! One tool call: the same steps for every call of every agent, in this order: refuse what is only repeated, find the
//! tool, let hooks say what they have against it, check the permission on the final input, say durably that it starts,
//! run it, tell hooks, answer it once.

use std::sync::Arc;

use futures_util::future::join_all;
use kernel::{CallPhase, Decided, Report};
use protocol::{Answer, AnswerStatus, Ask, Call, CallId, Clip, Decision, Evidence, RuleEffect, Subject};
use tokio_util::sync::CancellationToken;
use tools::{Access, Context, Pulse, Reach, Stamps, Tool, ToolError};

use super::Desk;
use super::early::Early;
use super::guard;
use crate::addresses::Addresses;
use crate::asks::{self, Questions};
use crate::crew::Crew;
use crate::hooks::{self, Heard, Untold, Untolds};
use crate::outfit::Outfit;
use crate::permit::{self, Judgement};
use crate::shells::Shells;
use crate::space::Intents;
use crate::supervisor::Rejected;
use crate::waits::{Caller, Pending};

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
    fn early(&self, call: &CallId) -> Option<&Early> {
        self.early.as_ref().filter(|early| early.call == *call)
    }
}

/// A call that has been judged, or that needs no more than its answer.
struct Judged<'a> {
    call: Call,
    caller: Caller,
    standing: Standing,
    heard: Heard,
    judged: Result<(&'a Arc<dyn Tool>, Judgement), Answer>,
}

/// A call that has been looked at, before any of its message runs.
struct Looked<'a> {
    call: Call,
    caller: Caller,
    heard: Heard,
    admission: Admission<'a>,
}

/// What becomes of a call.
enum Admission<'a> {
    /// It runs.
    Run(&'a Arc<dyn Tool>, Arc<dyn Reach>),
    /// It runs if a person permits it.
    Asked(&'a Arc<dyn Tool>, Box<Judgement>, Pending),
    /// It is answered as it is.
    Answer(Answer),
}

/// Runs the calls: readers that stand together run together, everything else in order. What needs permission asks for
/// it before anything runs, so that a person can decide on all of it at once.
pub(super) async fn run_all(bench: &Bench, calls: Vec<(Call, Caller)>) -> Result<(), Rejected> {
    let judged = join_all(calls.into_iter().map(|(call, caller)| judge(bench, call, caller))).await;
    let judged = judged.into_iter().collect::<Result<Vec<_>, Rejected>>()?;
    // Only when all are judged, so that they are asked about in their order.
    let looked = join_all(judged.into_iter().map(|judged| look(bench, judged))).await;
    let looked = looked.into_iter().collect::<Result<Vec<_>, Rejected>>()?;
    for group in groups(looked) {
        let answered = join_all(group.into_iter().map(|looked| run_one(bench, looked))).await;
        answered.into_iter().collect::<Result<(), Rejected>>()?;
    }
    Ok(())
}

async fn judge(bench: &Bench, mut call: Call, caller: Caller) -> Result<Judged<'_>, Rejected> {
    let mut heard = Heard::default();
    if let Some(early) = bench.early(&call.id) {
        let standing = Standing::Begun;
        let judged = find(bench, &call, standing).map(|tool| (tool, early.judgement.clone()));
        return Ok(Judged { call, caller, standing, heard, judged });
    }
    let standing = Standing::of(caller.phase().await?.as_ref());
    let judged = match find(bench, &call, standing) {
        Ok(tool) => match hear(bench, &caller, &mut call, standing).await? {
            Ok(said) => {
                heard = said;
                weigh(bench, tool, &call, &caller, (standing, &heard)).await.map(|judgement| (tool, judgement))
            }
            Err(answer) => Err(answer),
        },
        Err(answer) => Err(answer),
    };
    Ok(Judged { call, caller, standing, heard, judged })
}

/// What hooks make of the call. What a person was asked about, or what has begun, they have heard of.
async fn hear(
    bench: &Bench,
    caller: &Caller,
    call: &mut Call,
    standing: Standing,
) -> Result<Result<Heard, Answer>, Rejected> {
    match standing {
        Standing::Fresh => hooks::before(&bench.desk, caller, call).await,
        Standing::Asked | Standing::Begun => Ok(Ok(Heard::default())),
    }
}

/// Judges the call as it is to be run.
async fn weigh(
    bench: &Bench,
    tool: &Arc<dyn Tool>,
    call: &Call,
    caller: &Caller,
    (standing, heard): (Standing, &Heard),
) -> Result<Judgement, Answer> {
    let judged = permit::judge(&bench.desk, &bench.outfit, tool, call).await;
    let Judgement { verdict, reach } = judged.map_err(|error| failed(call, error, &bench.desk.settings.tools))?;
    let verdict = heard.narrow(call, verdict);
    if (verdict.effect, standing) == (RuleEffect::Ask, Standing::Fresh)
        && let Some(answer) = hooks::requested(&bench.desk, caller, call, &verdict).await
    {
        return Err(answer);
    }
    Ok(Judgement { verdict, reach })
}

async fn look<'a>(bench: &Bench, judged: Judged<'a>) -> Result<Looked<'a>, Rejected> {
    let Judged { call, caller, standing, heard, judged } = judged;
    let admission = match judged {
        Ok((tool, judgement)) => permit(bench, tool, judgement, &call, &caller, standing).await?,
        Err(answer) => Admission::Answer(answer),
    };
    Ok(Looked { call, caller, heard, admission })
}

/// The tool, if there is one. A call that has begun goes on, though its tool be offered no longer.
fn find<'a>(bench: &'a Bench, call: &Call, standing: Standing) -> Result<&'a Arc<dyn Tool>, Answer> {
    let desk = &bench.desk;
    if bench.repeated.contains(&call.id) {
        return Err(guard::refusal());
    }
    let withheld = || desk.withheld.iter().find(|tool| standing == Standing::Begun && tool.spec().name == call.tool);
    bench.outfit.tool(&call.tool).or_else(withheld).ok_or_else(|| {
        let names: Vec<&str> = bench.outfit.toolbox.iter().map(|tool| tool.spec().name).collect();
        let text = format!("There is no tool `{}`. The tools are: {}.", clip(&call.tool), names.join(", "));
        Answer { status: AnswerStatus::Refused, text }
    })
}

/// How far permission had come for a call, perhaps in a process that died.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// Nothing was asked.
    Fresh,
    /// A person was asked, and what they say counts.
    Asked,
    /// It had begun, and goes on waiting.
    Begun,
}

impl Standing {
    fn of(phase: Option<&CallPhase>) -> Standing {
        match phase {
            Some(CallPhase::Pending | CallPhase::Started | CallPhase::Answered) | None => Standing::Fresh,
            Some(CallPhase::Asking(Ask { subject: Subject::Permission { .. }, .. }))
            | Some(CallPhase::Decided(Decided { begun: false, .. })) => Standing::Asked,
            Some(CallPhase::Asking(Ask { subject: Subject::Question { .. }, .. }))
            | Some(CallPhase::Decided(Decided { begun: true, .. }))
            | Some(CallPhase::Waiting(_) | CallPhase::Waited { .. }) => Standing::Begun,
        }
    }
}

/// Whether it may run. What a person was asked about stays theirs to decide, whatever was granted since; a call that
/// was permitted before its owner changed is not asked about again; what may never run does not start.
async fn permit<'a>(
    bench: &Bench,
    tool: &'a Arc<dyn Tool>,
    judgement: Judgement,
    call: &Call,
    caller: &Caller,
    standing: Standing,
) -> Result<Admission<'a>, Rejected> {
    Ok(match (judgement.verdict.effect, standing) {
        (_, Standing::Begun) | (RuleEffect::Allow, Standing::Fresh) => Admission::Run(tool, judgement.reach),
        (RuleEffect::Deny, Standing::Fresh | Standing::Asked) => {
            let text = permit::denied(&call.tool, &judgement.verdict);
            let text = Clip::new(&text, bench.desk.settings.tools.output).into_string();
            Admission::Answer(Answer { status: AnswerStatus::Denied, text })
        }
        (RuleEffect::Ask, Standing::Fresh) | (RuleEffect::Ask | RuleEffect::Allow, Standing::Asked) => {
            let ask = asks::permission(&bench.desk, caller, call, &judgement.verdict);
            let pending = caller.ask(ask, bench.desk.settings.ask_wait).await?;
            Admission::Asked(tool, Box::new(judgement), pending)
        }
    })
}

fn groups(calls: Vec<Looked<'_>>) -> Vec<Vec<Looked<'_>>> {
    let mut groups: Vec<(bool, Vec<Looked<'_>>)> = Vec::new();
    for looked in calls {
        let reads = match &looked.admission {
            Admission::Run(tool, _) | Admission::Asked(tool, ..) => {
                matches!(tool.spec().access, Access::Read | Access::Agent)
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
    let Looked { call, caller, heard, admission } = looked;
    let (tool, reach) = match admission {
        Admission::Run(tool, reach) => (tool, reach),
        Admission::Answer(answer) => return answer_call(bench, &caller, &call, answer).await,
        Admission::Asked(tool, judgement, pending) => {
            let Judgement { verdict, reach } = *judgement;
            let decided = pending.decided().await?;
            match decided.decision {
                Decision::Allow { .. } => (tool, reach),
                Decision::Deny { .. } | Decision::Reply { .. } => {
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
    let report = Report::CallAnswered { turn: caller.turn, call, answer, evidence };
    caller.supervisor.report(caller.run, report).await
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
    match tool.run(&call.input, &cx).await {
        Ok(output) => (Answer { status: AnswerStatus::Done, text: output.text.into_string() }, output.evidence),
        Err(error) => (failed(call, error, &cx.limits), Vec::new()),
    }
}

fn failed(call: &Call, error: ToolError, limits: &tools::Limits) -> Answer {
    match error {
        ToolError::Refused(text) => {
            Answer { status: AnswerStatus::Refused, text: Clip::new(&text, limits.output).into_string() }
        }
        ToolError::Broken(source) => {
            tracing::warn!(tool = call.tool, error = %source, "a tool broke");
            let text = format!("`{}` failed: {}", call.tool, clip(&source.to_string()));
            Answer { status: AnswerStatus::Broken, text }
        }
    }
}

fn context(bench: &Bench, caller: &Caller, cancel: CancellationToken, reach: Arc<dyn Reach>) -> Context {
    let desk = &bench.desk;
    Context {
        workspace: Arc::clone(&desk.workspace),
        reach,
        stamps: Arc::clone(&bench.stamps),
        guardian: desk.guardian.clone(),
        env: Arc::clone(&desk.env),
        cancel,
        pulse: bench.pulse.clone(),
        limits: desk.settings.tools,
        sql: desk.tables.clone(),
        background: Arc::new(Shells { desk: Arc::clone(desk), caller: caller.clone() }),
        crew: Arc::new(Crew { desk: Arc::clone(desk), outfit: Arc::clone(&bench.outfit), caller: caller.clone() }),
        intent: Arc::new(Intents(caller.clone())),
        asker: Arc::new(Questions { desk: Arc::clone(desk), caller: caller.clone() }),
        fetcher: desk.fetcher.clone(),
        gate: Arc::new(Addresses(Arc::clone(desk))),
    }
}

/// Enough of a text to recognise it.
fn clip(text: &str) -> Clip {
    Clip::new(text, 300)
}

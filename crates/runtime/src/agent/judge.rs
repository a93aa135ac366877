//! Whether a call may run: the same question for every call of every agent, with the same steps. Refuse what is only
//! repeated, find the tool, let hooks say what they have against it, check the permission on the final input.

use std::sync::Arc;

use futures_util::future::join_all;
use kernel::{CallPhase, Decided};
use policy::Verdict;
use protocol::{Answer, AnswerStatus, Call, Clip, RuleEffect};
use tools::{Reach, Tool, ToolError};

use super::call::Bench;
use crate::asks;
use crate::hooks::{self, Heard};
use crate::permit::{self, Judgement};
use crate::repeats;
use crate::supervisor::Rejected;
use crate::waits::{Caller, Pending};

/// A call that has been looked at, before any of its message runs.
pub(super) struct Looked<'a> {
    pub(super) call: Call,
    pub(super) caller: Caller,
    pub(super) heard: Heard,
    pub(super) admission: Admission<'a>,
}

/// What becomes of a call.
pub(super) enum Admission<'a> {
    /// It runs.
    Run(&'a Arc<dyn Tool>, Arc<dyn Reach>),
    /// It runs if a person permits it.
    Asked(&'a Arc<dyn Tool>, Box<Judgement>, Pending),
    /// It is answered as it is.
    Answer(Answer),
}

/// Looks at the calls of one message, before any of them runs: what needs permission asks for it, so that a person can
/// decide on all of it at once.
pub(super) async fn look_at_all(bench: &Bench, calls: Vec<(Call, Caller)>) -> Result<Vec<Looked<'_>>, Rejected> {
    let judged = join_all(calls.into_iter().map(|(call, caller)| judge(bench, call, caller))).await;
    let judged = judged.into_iter().collect::<Result<Vec<_>, Rejected>>()?;
    // Only when all are judged, so that they are asked about in their order.
    let looked = join_all(judged.into_iter().map(|judged| look(bench, judged))).await;
    looked.into_iter().collect()
}

/// A call that has been judged, or that needs no more than its answer.
struct Judged<'a> {
    call: Call,
    caller: Caller,
    standing: Standing,
    heard: Heard,
    judged: Result<(&'a Arc<dyn Tool>, Judgement), Answer>,
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
    if bench.repeated.contains(&call.id) && standing != Standing::Begun {
        return Err(repeats::refusal());
    }
    let withheld = || desk.withheld.iter().find(|tool| standing == Standing::Begun && tool.spec().name == call.tool);
    bench.outfit.tool(&call.tool).or_else(withheld).ok_or_else(|| {
        let names: Vec<&str> = bench.outfit.toolbox.iter().map(|tool| tool.spec().name.as_ref()).collect();
        let likely = ::hooks::names::likely(&call.tool).filter(|name| names.contains(name));
        let (tool, all) = (clip(&call.tool), names.join(", "));
        let text = match likely {
            Some(likely) => format!("Not run: there is no tool `{tool}`; use `{likely}`. The tools are: {all}."),
            None => format!("There is no tool `{tool}`. The tools are: {all}."),
        };
        Answer { status: AnswerStatus::Refused, text }
    })
}

/// How far permission had come for a call, perhaps in a process that died.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// Nothing was asked.
    Fresh,
    /// A person was asked, and what they say counts.
    Asked,
    /// It had begun, and goes on waiting.
    Begun,
}

impl Standing {
    pub(super) fn of(phase: Option<&CallPhase>) -> Standing {
        match phase {
            Some(CallPhase::Pending | CallPhase::Started | CallPhase::Answered) | None => Standing::Fresh,
            Some(CallPhase::Asking(ask)) if !ask.subject.is_begun() => Standing::Asked,
            Some(CallPhase::Decided(Decided { begun: false, .. })) => Standing::Asked,
            Some(CallPhase::Asking(_))
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
            Admission::Answer(denied(bench, call, &judgement.verdict))
        }
        (RuleEffect::Ask, Standing::Fresh) | (RuleEffect::Ask | RuleEffect::Allow, Standing::Asked) => {
            let ask = asks::permission(&bench.desk, caller, call, &judgement.verdict);
            let pending = caller.ask(ask, bench.desk.settings.ask_wait).await?;
            Admission::Asked(tool, Box::new(judgement), pending)
        }
    })
}

/// What a call that may not run is answered.
pub(super) fn denied(bench: &Bench, call: &Call, verdict: &Verdict) -> Answer {
    let text = permit::denied(&call.tool, verdict);
    let text = Clip::new(&text, bench.desk.settings.tools.output).into_string();
    Answer { status: AnswerStatus::Denied, text }
}

/// What a tool that did not do its work is answered.
pub(super) fn failed(call: &Call, error: ToolError, limits: &tools::Limits) -> Answer {
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

/// Enough of a text to recognise it.
fn clip(text: &str) -> Clip {
    Clip::new(text, 300)
}

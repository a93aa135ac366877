//! Tool calls: what hooks say before one is judged, and after it has run.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use hooks::{Occasion, Ruling, ToolUse};
use kernel::{Input, Letter, Report};
use policy::{Ground, Verdict};
use protocol::{Answer, AnswerStatus, Body, Call, CallId, Clip, Delivery, Origin, RuleEffect, Run};
use serde_json::{Value, json};

use super::tell;
use crate::agent::Desk;
use crate::supervisor::Rejected;
use crate::waits::Caller;

/// Most bytes that all hooks together tell an agent about one call.
const CONTEXT: usize = 16 * 1024;

/// Most bytes of changed arguments that the model is told.
const INPUT: usize = 2 * 1024;

/// What hooks made of a call before it was judged.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    /// What the agent is told with the answer.
    context: Vec<String>,
    /// Why a person is to decide, if that is wanted.
    ask: Option<String>,
}

impl Heard {
    /// The verdict with what hooks want: they may make an ask of what rules allow, and lift nothing.
    pub(crate) fn narrow(&self, call: &Call, verdict: Verdict) -> Verdict {
        match (&self.ask, verdict.effect) {
            (Some(why), RuleEffect::Allow) => {
                let (effect, ground) = (RuleEffect::Ask, Ground::Hook(why.clone()));
                Verdict { effect, ground, part: call.tool.clone(), rule: None, others: Vec::new() }
            }
            (Some(_) | None, RuleEffect::Allow | RuleEffect::Ask | RuleEffect::Deny) => verdict,
        }
    }
}

/// Tells hooks of a call that is about to be judged. What they make of it is what is judged, asked about, run and
/// recorded; or the call has its answer.
pub(crate) async fn before(
    desk: &Arc<Desk>,
    caller: &Caller,
    call: &mut Call,
) -> Result<Result<Heard, Answer>, Rejected> {
    let verdict = tell(desk, caller.run, Occasion::PreTool(used(call))).await;
    caller.halt.heed(&verdict);
    let mut heard = Heard { context: verdict.context, ask: None };
    match verdict.ruling {
        Ruling::Deny { reason } => return Ok(Err(denied(call, &reason))),
        Ruling::Ask { reason } => heard.ask = Some(reason),
        Ruling::Nothing | Ruling::Allow => {}
    }
    let changed = verdict.input.map(Value::Object).filter(|input| !is_same(input, &call.input));
    if let Some(input) = changed {
        let input = input.to_string();
        let (turn, id) = (caller.turn, call.id.clone());
        let report = Report::CallRewritten { turn, call: id, input: input.clone() };
        caller.supervisor.report(caller.run, report).await?;
        heard.context.insert(0, format!("A hook changed this call. It was made with: {}", Clip::new(&input, INPUT)));
        call.input = input;
    }
    Ok(Ok(heard))
}

/// Tells hooks that a person would be asked; gives the answer if they say no. Their yes is not a person's.
pub(crate) async fn requested(desk: &Arc<Desk>, caller: &Caller, call: &Call, verdict: &Verdict) -> Option<Answer> {
    let occasion = Occasion::PermissionRequest { call: used(call), reason: verdict.reason() };
    let verdict = tell(desk, caller.run, occasion).await;
    caller.halt.heed(&verdict);
    desk.grants.narrow_by(&verdict.rules);
    verdict.denied().map(|reason| denied(call, reason))
}

/// A command that the runtime runs for a run's task, as hooks let it pass; or what they have against it. Nobody is there
/// to be asked about it.
pub(crate) async fn commanded(desk: &Arc<Desk>, run: Run, command: &str) -> Result<String, String> {
    let (id, input) = (CallId(format!("expects-{}", run.task)), json!({ "command": command }).to_string());
    let verdict = tell(desk, run, Occasion::PreTool(ToolUse { id, tool: "shell".into(), input })).await;
    match verdict.ruling {
        Ruling::Deny { reason } | Ruling::Ask { reason } => return Err(format!("a hook did not permit it: {reason}")),
        Ruling::Nothing | Ruling::Allow => {}
    }
    match verdict.input.as_ref().map(|input| input.get("command").and_then(Value::as_str)) {
        Some(Some(changed)) => Ok(changed.to_owned()),
        Some(None) => Err("a hook took the command out of it".into()),
        None => Ok(command.to_owned()),
    }
}

/// Tells hooks what became of a call, before that is durable: what they have to say goes with it.
pub(crate) async fn after(desk: &Arc<Desk>, caller: &Caller, call: &Call, heard: Heard, answer: Answer) -> Answer {
    let verdict = follow(desk, caller, call, &answer).await;
    let context: Vec<String> = heard.context.into_iter().chain(verdict.context).collect();
    let replaced = |text: String| Clip::new(&text, desk.settings.tools.output).into_string();
    let text = verdict.text.map_or(answer.text, replaced);
    let text = if context.is_empty() { text } else { format!("{text}\n\n{}", joined(&context)) };
    Answer { status: answer.status, text }
}

/// Tells hooks what became of a call whose answer is durable: what they have to say is mail, and so is what they put in
/// the place of the answer, which has said no more than that the agent has started.
pub(crate) async fn told(desk: &Arc<Desk>, untold: Untold, answer: &Answer) {
    let Untold { call, caller, heard } = untold;
    let verdict = follow(desk, &caller, &call, answer).await;
    let replaced = verdict.text.map(|text| {
        let text = Clip::new(&text, desk.settings.tools.output);
        format!("a hook replaced its answer; go by this instead:\n{text}")
    });
    let context: Vec<String> = heard.context.into_iter().chain(replaced).chain(verdict.context).collect();
    if context.is_empty() {
        return;
    }
    let text = format!("About the call {} of `{}`: {}", call.id, call.tool, joined(&context));
    let (to, from, delivery) = (caller.run.task, Origin::Runtime, Delivery::Steer);
    let letter = Letter { to, from, delivery, body: Body::text(text) };
    if let Err(rejected) = caller.supervisor.submit(Input::Send(letter)).await {
        tracing::info!(%rejected, "what a hook said is not heard");
    }
}

/// What hooks say to what became of a call.
async fn follow(desk: &Arc<Desk>, caller: &Caller, call: &Call, answer: &Answer) -> ::hooks::Verdict {
    let (call, mut text) = (used(call), answer.text.clone());
    // It is not durable yet, and may still hold what nobody is to read.
    desk.redactor.text(&mut text);
    let occasion = match answer.status {
        AnswerStatus::Done => Occasion::PostTool { call, answer: text },
        AnswerStatus::Refused => Occasion::ToolFailed { call, error: text },
        AnswerStatus::Broken => {
            let error = Occasion::Error { what: "tool", message: text.clone() };
            // There is nothing to decide about it.
            let _heard = tell(desk, caller.run, error).await;
            Occasion::ToolFailed { call, error: text }
        }
        AnswerStatus::Denied => Occasion::PermissionDenied { call, reason: text },
        AnswerStatus::Interrupted | AnswerStatus::Cancelled => return ::hooks::Verdict::default(),
    };
    let verdict = tell(desk, caller.run, occasion).await;
    caller.halt.heed(&verdict);
    verdict
}

/// A hook's word that an agent is to stop altogether, once the calls of its answer are over.
#[derive(Debug, Clone, Default)]
pub(crate) struct Halt(Arc<OnceLock<String>>);

impl Halt {
    fn heed(&self, verdict: &::hooks::Verdict) {
        if let Some(reason) = &verdict.halts {
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
pub(crate) struct Untold {
    pub(crate) call: Call,
    pub(crate) caller: Caller,
    pub(crate) heard: Heard,
}

/// Calls that start agents: they may be answered in the step that starts them, and hooks be told only then.
#[derive(Debug, Clone, Default)]
pub(crate) struct Untolds(Arc<Mutex<Vec<Untold>>>);

impl Untolds {
    pub(crate) fn push(&self, untold: Untold) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(untold);
    }

    /// What hooks said before a call that is answered in the usual way after all.
    pub(crate) fn settle(&self, call: &CallId) -> Heard {
        let mut untold = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = untold.iter().position(|untold| untold.call.id == *call);
        at.map(|at| untold.swap_remove(at).heard).unwrap_or_default()
    }

    pub(crate) fn take(&self) -> Vec<Untold> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn used(call: &Call) -> ToolUse {
    ToolUse { id: call.id.clone(), tool: call.tool.clone(), input: call.input.clone() }
}

fn denied(call: &Call, reason: &str) -> Answer {
    let text = format!("A hook did not permit this call of `{}`: {reason}", call.tool);
    Answer { status: AnswerStatus::Denied, text: Clip::new(&text, CONTEXT).into_string() }
}

fn is_same(input: &Value, written: &str) -> bool {
    serde_json::from_str::<Value>(written).is_ok_and(|written| written == *input)
}

fn joined(context: &[String]) -> Clip {
    Clip::new(&context.join("\n\n"), CONTEXT)
}

//! Answers: the steps a rule performs, checked when the file is read and planned when it is asked.

use std::collections::VecDeque;

use protocol::{Call, CallId, StopReason, Usage};
use schemars::JsonSchema;
use serde::Deserialize;

use super::estimate;
use super::fail::Fail;
use super::play::{Act, Pace};
use super::scope::{Scope, TooLong};
use super::step::{CallStep, DripStep, RawCallStep, Step, Yes};
use super::template::Template;
use super::timing::Span;
use crate::Delta;

/// Steps in their order. One that ends the answer can only be the last.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(try_from = "Vec<Step>")]
#[schemars(with = "Vec<Step>")]
pub(super) struct Answer(Vec<Step>);

impl Answer {
    /// An answer that is nothing but a failure.
    pub(super) fn failing(fail: Fail) -> Answer {
        Answer(vec![Step::Fail(fail)])
    }

    /// The highest group that a template in it refers to.
    pub(super) fn highest_group(&self) -> usize {
        self.0.iter().map(Step::highest_group).max().unwrap_or(0)
    }

    /// What to do, act by act. `usage` is estimated unless given.
    pub(super) fn plan(&self, scope: &mut Scope<'_>, usage: Option<Usage>, model: &str) -> Result<Plan, TooLong> {
        let mut plan = Planner::default();
        for step in &self.0 {
            match step {
                Step::Say(text) => plan.speak(Delta::Text, text.fill(scope)?),
                Step::Think(text) => plan.speak(Delta::Thinking, text.fill(scope)?),
                Step::Call(CallStep { id, tool, input }) => {
                    let input = input.fill(scope)?;
                    plan.call(scope, id.as_ref(), tool, input)?;
                }
                Step::RawCall(RawCallStep { id, tool, input }) => {
                    let input = input.fill(scope)?;
                    plan.call(scope, id.as_ref(), tool, input)?;
                }
                Step::Wait(Span(time)) => plan.acts.push_back(Act::Wait(*time)),
                Step::Drip(DripStep { every: Span(every), size }) => {
                    plan.pace = Some(Pace { every: *every, size: size.get() });
                }
                Step::Stop(stop) => plan.stop = Some((*stop).into()),
                Step::Cut(Yes) => return Ok(plan.acts),
                Step::Hang(Yes) => return Ok(plan.then(Act::Hang)),
                Step::Fail(fail) => return Ok(plan.then(Act::Fail(fail.error(scope)?))),
            }
        }
        let usage = usage.unwrap_or_else(|| estimate::usage(scope.request, plan.bytes));
        Ok(plan.done(usage, model))
    }
}

impl TryFrom<Vec<Step>> for Answer {
    type Error = String;

    fn try_from(steps: Vec<Step>) -> Result<Answer, String> {
        let before_last = steps.len().saturating_sub(1);
        match steps[..before_last].iter().find_map(Step::ends) {
            Some(word) => Err(format!("nothing can follow `{word}`; make it the last step of the answer")),
            None => Ok(Answer(steps)),
        }
    }
}

/// What a script does for one request, in order.
pub(super) type Plan = VecDeque<Act>;

#[derive(Debug, Default)]
struct Planner {
    acts: Plan,
    calls: u32,
    bytes: usize,
    pace: Option<Pace>,
    stop: Option<StopReason>,
}

impl Planner {
    fn speak(&mut self, kind: fn(String) -> Delta, text: String) {
        self.bytes += text.len();
        self.acts.push_back(match self.pace {
            Some(pace) => Act::Drip { kind, text, from: 0, pace },
            None => Act::Send(kind(text)),
        });
    }

    fn call(
        &mut self,
        scope: &mut Scope<'_>,
        id: Option<&Template>,
        tool: &Template,
        input: String,
    ) -> Result<(), TooLong> {
        self.calls += 1;
        let id = match id {
            Some(template) => template.fill(scope)?,
            None => format!("call-{}-{}", scope.request.turn, self.calls),
        };
        let tool = tool.fill(scope)?;
        self.bytes += tool.len() + input.len();
        self.acts.push_back(Act::Send(Delta::Call(Call { id: CallId(id), tool, input })));
        Ok(())
    }

    fn then(mut self, last: Act) -> Plan {
        self.acts.push_back(last);
        self.acts
    }

    fn done(self, usage: Usage, model: &str) -> Plan {
        let stop = self.stop.unwrap_or(if self.calls > 0 { StopReason::Calls } else { StopReason::End });
        self.then(Act::Send(Delta::Done { stop, usage, model: model.to_owned() }))
    }
}

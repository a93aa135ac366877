//! Answers: the steps of a rule, checked when the file is read and planned for each request.

use std::collections::VecDeque;

use protocol::{CallId, StopReason, ToolCallRequest, Usage};
use schemars::JsonSchema;
use serde::Deserialize;

use super::estimate;
use super::fail::ScriptFailure;
use super::playback::{DripPace, ScriptAction};
use super::scope::{AnswerTooLong, TemplateScope};
use super::step::{CallStep, DripStep, LiteralTrue, RawCallStep, ScriptStep};
use super::template::Template;
use super::timing::ScriptDuration;
use crate::Delta;

/// Steps in order. One that ends the answer can only be the last.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(try_from = "Vec<ScriptStep>")]
#[schemars(with = "Vec<ScriptStep>")]
pub(super) struct ScriptAnswer(Vec<ScriptStep>);

impl ScriptAnswer {
    /// An answer that only fails.
    pub(super) fn failing(fail: ScriptFailure) -> ScriptAnswer {
        ScriptAnswer(vec![ScriptStep::Fail(fail)])
    }

    /// The highest group that a template in it refers to.
    pub(super) fn highest_group(&self) -> usize {
        self.0.iter().map(ScriptStep::highest_group).max().unwrap_or(0)
    }

    /// The actions of the answer. `usage` is estimated unless given.
    pub(super) fn plan(
        &self,
        scope: &mut TemplateScope<'_>,
        usage: Option<Usage>,
        model: &str,
    ) -> Result<ScriptPlan, AnswerTooLong> {
        let mut planner = ScriptPlanner::default();
        for step in &self.0 {
            match step {
                ScriptStep::Say(text) => planner.push_text(Delta::Text, text.fill(scope)?),
                ScriptStep::Think(text) => planner.push_text(Delta::Thinking, text.fill(scope)?),
                ScriptStep::Call(CallStep { id, tool, input }) => {
                    let input = input.fill(scope)?;
                    planner.push_call(scope, id.as_ref(), tool, input)?;
                }
                ScriptStep::RawCall(RawCallStep { id, tool, input }) => {
                    let input = input.fill(scope)?;
                    planner.push_call(scope, id.as_ref(), tool, input)?;
                }
                ScriptStep::Wait(ScriptDuration(time)) => planner.actions.push_back(ScriptAction::Wait(*time)),
                ScriptStep::Drip(DripStep { every: ScriptDuration(every), size }) => {
                    planner.pace = Some(DripPace { every: *every, size: size.get() });
                }
                ScriptStep::Stop(stop) => planner.stop = Some((*stop).into()),
                ScriptStep::Cut(LiteralTrue) => return Ok(planner.actions),
                ScriptStep::Hang(LiteralTrue) => return Ok(planner.finish_with(ScriptAction::Hang)),
                ScriptStep::Fail(fail) => return Ok(planner.finish_with(ScriptAction::Fail(fail.error(scope)?))),
            }
        }
        let usage = usage.unwrap_or_else(|| estimate::usage(scope.request, planner.bytes));
        Ok(planner.finish(usage, model))
    }
}

impl TryFrom<Vec<ScriptStep>> for ScriptAnswer {
    type Error = String;

    fn try_from(steps: Vec<ScriptStep>) -> Result<ScriptAnswer, String> {
        let before_last = steps.len().saturating_sub(1);
        match steps[..before_last].iter().find_map(ScriptStep::ending_name) {
            Some(word) => Err(format!("nothing can follow `{word}`; make it the last step of the answer")),
            None => Ok(ScriptAnswer(steps)),
        }
    }
}

/// The actions of a script for one request, in order.
pub(super) type ScriptPlan = VecDeque<ScriptAction>;

#[derive(Debug, Default)]
struct ScriptPlanner {
    actions: ScriptPlan,
    calls: u32,
    bytes: usize,
    pace: Option<DripPace>,
    stop: Option<StopReason>,
}

impl ScriptPlanner {
    fn push_text(&mut self, kind: fn(String) -> Delta, text: String) {
        self.bytes += text.len();
        self.actions.push_back(match self.pace {
            Some(pace) => ScriptAction::Drip { kind, text, from: 0, pace },
            None => ScriptAction::Send(kind(text)),
        });
    }

    fn push_call(
        &mut self,
        scope: &mut TemplateScope<'_>,
        id: Option<&Template>,
        tool: &Template,
        input: String,
    ) -> Result<(), AnswerTooLong> {
        self.calls += 1;
        let id = match id {
            Some(template) => template.fill(scope)?,
            None => format!("call-{}-{}", scope.request.turn, self.calls),
        };
        let tool = tool.fill(scope)?;
        self.bytes += tool.len() + input.len();
        self.actions.push_back(ScriptAction::Send(Delta::Call(ToolCallRequest { id: CallId(id), tool, input })));
        Ok(())
    }

    fn finish_with(mut self, last: ScriptAction) -> ScriptPlan {
        self.actions.push_back(last);
        self.actions
    }

    fn finish(self, usage: Usage, model: &str) -> ScriptPlan {
        let stop = self.stop.unwrap_or(if self.calls > 0 { StopReason::Calls } else { StopReason::End });
        self.finish_with(ScriptAction::Send(Delta::Done { stop, usage, model: model.to_owned() }))
    }
}

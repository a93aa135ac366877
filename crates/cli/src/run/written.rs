//! A report as JSON.

use protocol::api::TaskView;
use protocol::{AutopilotStop, Budget, Cost, SessionId, TaskState, Usage};
use serde::Serialize;

use super::figures::{Figures, Models};
use super::report::{Denial, Ended, Report};
use crate::money::Money;

/// The report as JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Written<'a> {
    r#type: &'static str,
    session: SessionId,
    outcome: &'a str,
    message: Option<String>,
    exit_code: u8,
    text: &'a str,
    /// The plan, if the run was for one.
    plan: Option<&'a str>,
    /// How an agent on autopilot came to its end.
    autopilot: Option<Landing<'a>>,
    turns: u64,
    usage: Usage,
    /// All of it in dollars; null when some of it has no price.
    cost_usd: Money,
    /// What counts towards the budget, questions without an answer included.
    spent: Cost,
    budget: Budget,
    models: Option<&'a Models>,
    duration_ms: u128,
    tasks: &'a [TaskView],
    denials: &'a [Denial],
}

/// How an agent on autopilot came to its end.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Landing<'a> {
    stopped: &'static str,
    continues: u32,
    summary: Option<&'a str>,
    reason: Option<&'a str>,
}

impl Landing<'_> {
    fn of(why: &AutopilotStop, continues: u32) -> Landing<'_> {
        let (summary, reason) = match why {
            AutopilotStop::Complete { summary } => (Some(summary.as_str()), None),
            AutopilotStop::Blocked { summary, reason } => (Some(summary.as_str()), Some(reason.as_str())),
            AutopilotStop::Limit | AutopilotStop::NoChange | AutopilotStop::Aborted { .. } | AutopilotStop::Failed => {
                (None, None)
            }
        };
        Landing { stopped: why.word(), continues, summary, reason }
    }
}

impl Report {
    pub(super) fn written(&self) -> Written<'_> {
        let view = self.figures.as_ref().map(|figures| &figures.view);
        let state = view.map(|view| &view.state);
        let outcome = match (&self.answer, self.ended) {
            (Some((outcome, _)), Ended::AtRest) => outcome.word(),
            (_, Ended::Paused) => "paused",
            (_, Ended::Parked) => "parked",
            (_, Ended::Told | Ended::TimeUp) | (None, Ended::AtRest) => state.map_or("unknown", TaskState::word),
        };
        Written {
            r#type: "result",
            session: self.id,
            outcome,
            message: self.message(),
            exit_code: self.exit().code(),
            text: self.text(),
            plan: self.plan.as_deref(),
            autopilot: self.landed.as_ref().map(|(why, continues)| Landing::of(why, *continues)),
            turns: view.map_or(0, |view| view.turns),
            usage: view.map(|view| view.usage).unwrap_or_default(),
            cost_usd: self.figures.as_ref().map_or(Money::Unknown, Figures::cost),
            spent: view.map(|view| view.spent).unwrap_or_default(),
            budget: self.budget(),
            models: self.figures.as_ref().map(|figures| &figures.models),
            duration_ms: self.began.elapsed().as_millis(),
            tasks: &self.tasks,
            denials: &self.denials,
        }
    }
}

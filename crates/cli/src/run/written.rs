//! A report as JSON.

use protocol::api::TaskView;
use protocol::{Budget, Cost, SessionId, TaskState, Usage};
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

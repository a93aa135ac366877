//! A report as JSON.

use protocol::api::TaskView;
use protocol::{AutopilotStop, Budget, Cost, SessionId, TaskState, Usage};
use serde::Serialize;
use tui::money::Money;
use tui::usage_summary::{SessionUsageSummary, UsedModels};

use super::report::{Denial, RunEnd, RunSummary};
use crate::fleet::FleetProgress;

/// The report as JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RunReportJson<'a> {
    r#type: &'static str,
    session: SessionId,
    outcome: &'a str,
    message: Option<String>,
    exit_code: u8,
    text: &'a str,
    /// The plan, in plan mode.
    plan: Option<&'a str>,
    /// Why autopilot stopped.
    autopilot: Option<AutopilotStopJson<'a>>,
    /// The fleet of the run, as `bosun fleet` reports it.
    #[serde(skip_serializing_if = "Option::is_none")]
    fleet: Option<&'a FleetProgress>,
    turns: u64,
    usage: Usage,
    /// The total cost in dollars; null if some of it has no price.
    cost_usd: Money,
    /// The cost that counts towards the budget, including requests without an answer.
    spent: Cost,
    budget: Budget,
    models: Option<&'a UsedModels>,
    duration_ms: u128,
    tasks: &'a [TaskView],
    denials: &'a [Denial],
}

/// Why autopilot stopped.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AutopilotStopJson<'a> {
    stopped: &'static str,
    continues: u32,
    summary: Option<&'a str>,
    reason: Option<&'a str>,
}

impl AutopilotStopJson<'_> {
    fn of(why: &AutopilotStop, continues: u32) -> AutopilotStopJson<'_> {
        let (summary, reason) = match why {
            AutopilotStop::Complete { summary } => (Some(summary.as_str()), None),
            AutopilotStop::Blocked { summary, reason } => (Some(summary.as_str()), Some(reason.as_str())),
            AutopilotStop::Limit | AutopilotStop::NoChange | AutopilotStop::Aborted { .. } | AutopilotStop::Failed => {
                (None, None)
            }
        };
        AutopilotStopJson { stopped: why.as_str(), continues, summary, reason }
    }
}

impl RunSummary {
    pub(super) fn to_json(&self) -> RunReportJson<'_> {
        let view = self.usage.as_ref().map(|usage| &usage.view);
        let state = view.map(|view| &view.state);
        let outcome = match (&self.answer, self.end) {
            (Some((outcome, _)), RunEnd::NothingLeft) => outcome.as_str(),
            (_, RunEnd::Paused) => "paused",
            (_, RunEnd::Parked) => "parked",
            (_, RunEnd::StopRequested | RunEnd::TimeUp) | (None, RunEnd::NothingLeft) => {
                state.map_or("unknown", TaskState::as_str)
            }
        };
        RunReportJson {
            r#type: "result",
            session: self.session.id(),
            outcome,
            message: self.message(),
            exit_code: self.exit().code(),
            text: self.text(),
            plan: self.plan.as_deref(),
            autopilot: self.autopilot_stop.as_ref().map(|(why, continues)| AutopilotStopJson::of(why, *continues)),
            fleet: self.fleet.as_ref(),
            turns: view.map_or(0, |view| view.turns),
            usage: view.map(|view| view.usage).unwrap_or_default(),
            cost_usd: self.usage.as_ref().map_or(Money::Unknown, SessionUsageSummary::cost),
            spent: view.map(|view| view.spent).unwrap_or_default(),
            budget: self.budget(),
            models: self.usage.as_ref().map(|usage| &usage.models),
            duration_ms: self.started_at.elapsed().as_millis(),
            tasks: &self.tasks,
            denials: &self.denials,
        }
    }
}

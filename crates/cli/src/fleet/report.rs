//! The final report of a fleet: a table of its todos or JSON, and the exit code.

use std::time::{Duration, Instant};

use client::SessionHandle;
use host::Home;
use protocol::{FleetEnd, FleetStopReason, MergeSummary, SessionId, TodoStatus};
use serde::Serialize;
use tui::print;
use tui::todo_mark::TodoMark;
use tui::usage_summary::SessionUsageSummary;

use super::exit::FleetRunEnd;
use super::follow::{FollowOutcome, PauseReason};
use super::progress::{FleetProgress, REUSED_LABEL, TodoLine};
use crate::args::{OutputFormat, RunArgs};
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::run::{Denial, RunSummary};

/// The maximum length of a title, and of a reason.
const MAX_TITLE_CHARS: usize = 40;
const MAX_REASON_CHARS: usize = 200;

/// The outcome of a fleet.
pub(super) struct FleetReport {
    id: SessionId,
    follow_outcome: FollowOutcome,
    pause_reason: PauseReason,
    progress: Option<FleetProgress>,
    report: RunSummary,
    usage_summary: SessionUsageSummary,
    duration: Duration,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FleetReportOutput<'a> {
    r#type: &'static str,
    session: SessionId,
    outcome: &'static str,
    message: Option<String>,
    exit_code: u8,
    duration_ms: u128,
    fleet: Option<&'a FleetProgress>,
    /// The main agent's last answer.
    text: &'a str,
    turns: u64,
    usage: protocol::Usage,
    cost_usd: tui::money::Money,
    denials: &'a [Denial],
}

impl FleetReport {
    pub(super) fn read(
        home: &Home,
        id: SessionId,
        followed: FollowOutcome,
        paused: PauseReason,
        report: RunSummary,
        started: Instant,
    ) -> Result<FleetReport, CliError> {
        let session = SessionHandle::new(home, id);
        let progress = session.fleet_status()?.map(FleetProgress::from);
        let totals = session.totals()?;
        let usage_summary = SessionUsageSummary::new(totals.session, totals.spendings);
        Ok(FleetReport {
            id,
            follow_outcome: followed,
            pause_reason: paused,
            progress,
            report,
            usage_summary,
            duration: started.elapsed(),
        })
    }

    /// Writes the report and returns the exit code.
    pub(super) fn write(self, args: &RunArgs) -> Result<CommandExit, CliError> {
        match args.output_format {
            OutputFormat::Text => {
                let answer = print::sanitize(self.report.answer_text());
                if !answer.trim().is_empty() {
                    print::output(format_args!("{}\n", answer.trim_end()));
                }
                self.progress.iter().for_each(print_table);
                self.progress.iter().for_each(print_merges);
            }
            OutputFormat::Json | OutputFormat::Jsonl => print::json(&self.to_output()),
        }
        self.print_explanation();
        if let (OutputFormat::Text, false, Some(line)) =
            (args.output_format, args.quiet, self.usage_summary.summary_line())
        {
            print::note(line);
        }
        Ok(self.exit())
    }

    fn to_output(&self) -> FleetReportOutput<'_> {
        FleetReportOutput {
            r#type: "fleet",
            session: self.id,
            outcome: self.outcome(),
            message: self.message(),
            exit_code: self.exit().code(),
            duration_ms: self.duration.as_millis(),
            fleet: self.progress.as_ref(),
            text: self.report.answer_text(),
            turns: self.usage_summary.turns(),
            usage: self.usage_summary.usage(),
            cost_usd: self.usage_summary.cost(),
            denials: &self.report.denials,
        }
    }

    fn outcome(&self) -> &'static str {
        match &self.follow_outcome {
            FollowOutcome::Ended(FleetRunEnd::Ended(end, why)) => match (why, end) {
                (Some(FleetStopReason::Budget), _) => "budget_exhausted",
                (Some(FleetStopReason::Time), _) => "timed_out",
                (Some(FleetStopReason::Unplanned { .. }), _) => "unplanned",
                (Some(FleetStopReason::Unknown) | None, FleetEnd::Done) => "done",
                (Some(FleetStopReason::Unknown) | None, FleetEnd::Blocked) => "blocked",
                (Some(FleetStopReason::Unknown) | None, FleetEnd::Stopped) => "stopped",
            },
            FollowOutcome::Ended(FleetRunEnd::SessionEnded) | FollowOutcome::Interrupted => "stopped",
            FollowOutcome::Ended(FleetRunEnd::Broken(_)) => "failed",
            FollowOutcome::Parked => "parked",
            FollowOutcome::Paused => "paused",
        }
    }

    /// An explanation of the outcome for the user.
    fn message(&self) -> Option<String> {
        match &self.follow_outcome {
            FollowOutcome::Ended(end) => end.message(),
            FollowOutcome::Paused => self.pause_reason.as_ref().map(ToString::to_string),
            FollowOutcome::Interrupted | FollowOutcome::Parked => None,
        }
    }

    fn print_explanation(&self) {
        let id = self.id;
        if let Some(message) = self.message() {
            let message = print::sanitize(&message);
            match &self.follow_outcome {
                FollowOutcome::Ended(end) if end.is_unplanned() => print::error(&describe_unplanned(&message)),
                _other => print::error(&message),
            }
        }
        match (self.exit(), &self.follow_outcome) {
            // The merge summary names the remaining steps.
            (_, FollowOutcome::Ended(FleetRunEnd::DONE)) => {}
            (CommandExit::Budget, _) => {
                print::note(format_args!("hint: bosun fleet resume {id} --max-budget-usd … raises the budget"));
            }
            (_, FollowOutcome::Ended(end)) if end.is_unplanned() => {
                print::note(format_args!("hint: bosun fleet resume {id} asks for a plan again"));
            }
            _other => print::note(format_args!("hint: resume it with: bosun fleet resume {id}")),
        }
    }

    fn exit(&self) -> CommandExit {
        match &self.follow_outcome {
            FollowOutcome::Ended(end) => end.exit(self.progress.as_ref()),
            FollowOutcome::Interrupted => CommandExit::Cancelled,
            FollowOutcome::Paused => CommandExit::Failed,
            FollowOutcome::Parked => CommandExit::Parked,
        }
    }
}

/// Prints the todos, if there are any, as a table, with the reason below each todo that has one.
pub(super) fn print_table(progress: &FleetProgress) {
    if progress.todos.is_empty() {
        return;
    }
    let name = |line: &TodoLine| print::sanitize(&print::one_line(&line.id.0, MAX_TITLE_CHARS));
    let width = progress.todos.iter().map(|line| name(line).chars().count()).chain([4]).max().unwrap_or(4);
    let row = |cells: [&str; 7]| {
        let [todo, status, tries, time, tokens, cost, title] = cells;
        print::row(format_args!(
            "{}  {status:<11}  {tries:>5}  {time:>8}  {tokens:>9}  {cost:>9}  {title}",
            print::fit_cell(todo, width)
        ));
    };
    row(["todo", "status", "tries", "time", "tokens", "cost", "title"]);
    for line in &progress.todos {
        let time = format!("{}.{} s", line.duration_ms / 1_000, line.duration_ms % 1_000 / 100);
        let (tries, tokens, cost) = (line.attempts.to_string(), line.tokens.to_string(), line.cost_usd.to_string());
        let title = print::sanitize(&print::one_line(&line.title, MAX_TITLE_CHARS));
        row([&name(line), line.status_label(), &tries, &time, &tokens, &cost, &title]);
        if let Some(reason) = line.reason.as_deref().filter(|_| line.status != TodoStatus::Done) {
            print::output(format_args!("  {}", print::format_reason(reason, MAX_REASON_CHARS)));
        }
    }
    let labels: Vec<&str> = progress.todos.iter().map(TodoLine::status_label).collect();
    print::output(summarize(&labels, progress.other_tokens));
}

/// Prints how the work of isolated workers was merged, unless there was nothing to merge because every result is reused.
pub(super) fn print_merges(progress: &FleetProgress) {
    let is_silent = |merged: &MergeSummary| {
        progress.is_all_reused() && merged.todos.is_empty() && merged.leftover_checkouts.is_empty()
    };
    if let Some(merged) = progress.merged.as_ref().filter(|merged| !is_silent(merged)) {
        print::output(format_args!("\n{}", print::sanitize(&merged.text())));
    }
}

/// The number of todos with each label, and the tokens that are in no row.
fn summarize(todos: &[&str], other_tokens: u64) -> String {
    let count = |label: &str| todos.iter().filter(|other| **other == label).count();
    let labels = TodoMark::ALL.map(TodoMark::label).into_iter().chain([REUSED_LABEL]);
    let counts: Vec<String> = labels
        .map(|label| (count(label), label))
        .filter(|(n, _)| *n > 0)
        .map(|(n, label)| format!("{n} {label}"))
        .collect();
    let others = match other_tokens {
        0 => String::new(),
        tokens => format!("; {tokens} more tokens were used outside the todos, by the main agent or for merging"),
    };
    format!("{}: {}{others}", print::pluralize(todos.len(), "todo"), counts.join(", "))
}

/// Why there is no plan, on one line if there is one reason.
fn describe_unplanned(reasons: &str) -> String {
    match reasons.strip_prefix("1. ").filter(|only| !only.contains('\n')) {
        Some(only) => format!("the main agent made no plan: {only}"),
        None if reasons.contains('\n') => format!("the main agent made no plan:\n{reasons}"),
        None => format!("the main agent made no plan: {reasons}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_counted_in_the_words_of_other_views() {
        let todos = ["waiting", "done", "reused", "done", "ready", "at work"];
        assert_eq!(summarize(&todos, 0), "6 todos: 2 done, 1 at work, 1 ready, 1 waiting, 1 reused");
    }

    #[test]
    fn tokens_outside_the_rows_are_explained() {
        let line = summarize(&["done"], 5_012);
        assert_eq!(
            line,
            "1 todo: 1 done; 5012 more tokens were used outside the todos, by the main agent or for merging"
        );
    }

    #[test]
    fn single_reason_for_no_plan_is_on_the_line_of_the_error() {
        assert_eq!(describe_unplanned("1. there are no todos"), "the main agent made no plan: there are no todos");
        assert_eq!(describe_unplanned("1. a\n2. b"), "the main agent made no plan:\n1. a\n2. b");
        assert_eq!(describe_unplanned("no key"), "the main agent made no plan: no key");
    }
}

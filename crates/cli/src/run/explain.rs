//! Explains a run's outcome to the user, besides the answer.

use std::collections::BTreeSet;

use client::StoreError;
use config::start_command;
use protocol::{AutopilotStop, Budget, DecidedBy, FailKind, LimitKind, SessionId, TaskOutcome};
use tui::event_text::{describe_autopilot_stop, describe_parking, describe_spending};
use tui::print;

use super::report::{RunEnd, RunSummary, task_exit};
use crate::exit::CommandExit;
use crate::fleet::FleetRunEnd;

/// The maximum number of tasks listed one by one.
const MAX_LISTED_TASKS: usize = 5;

impl RunSummary {
    pub(super) fn explain(&self) {
        let id = self.session.id();
        self.explain_denials();
        self.explain_tasks();
        self.explain_stopped();
        self.explain_autopilot_stop();
        self.explain_fleet();
        match (self.end, &self.paused, &self.answer) {
            (RunEnd::Paused, Some(reason), _) => {
                print::error(&reason.to_string());
                // A session whose folder is gone cannot be resumed.
                if !matches!(**reason, StoreError::Removed { .. } | StoreError::Missing { .. }) {
                    print::note(format_args!("hint: finished work is not lost; resume with: bosun --resume {id}"));
                }
            }
            (RunEnd::TimeUp, ..) => {
                print::error(&self.message().unwrap_or_default());
                print::note(format_args!("hint: resume later with: bosun --resume {id}"));
            }
            (RunEnd::Parked, ..) => {
                let why =
                    self.parked.map(|parking| describe_parking(parking.until_at, parking.why)).unwrap_or_default();
                print::note(format_args!("parked: waiting for {why}; resume with: bosun --resume {id}"));
            }
            (RunEnd::StopRequested, ..) => print::note(format_args!("interrupted; resume with: bosun --resume {id}")),
            (RunEnd::NothingLeft | RunEnd::Paused, _, Some((outcome, _))) => self.explain_outcome(outcome),
            (RunEnd::NothingLeft, _, None) if self.fleet_end.is_some() => {}
            (RunEnd::NothingLeft | RunEnd::Paused, _, None) => print::error("the run ended without an answer"),
        }
    }

    /// Names the denied tools and the rules that would permit them.
    fn explain_denials(&self) {
        let tools: BTreeSet<&str> = self.denials.iter().map(|denial| denial.tool.as_str()).collect();
        if tools.is_empty() {
            return;
        }
        let tools: Vec<&str> = tools.into_iter().collect();
        print::note(format_args!("not permitted: {}", print::sanitize(&tools.join(", "))));
        let rules: BTreeSet<&str> =
            self.denials.iter().flat_map(|denial| denial.rules.iter().map(String::as_str)).collect();
        let flags: Vec<String> = rules.into_iter().map(policy::allow_flag).collect();
        let id = self.session.id();
        if !flags.is_empty() {
            let flags = print::sanitize(&flags.join(" "));
            print::note(format_args!("hint: resume with: bosun --resume {id} -p \"continue\" {flags}"));
        } else if self.denials.iter().any(|denial| denial.by == Some(DecidedBy::Deadline)) {
            print::note(format_args!("hint: to be asked, continue in a conversation: bosun --resume {id}"));
        }
    }

    /// Names the failed tasks; the exit code says only that some failed.
    fn explain_tasks(&self) {
        let failed: Vec<_> =
            self.finished.iter().filter(|(_, outcome)| task_exit(outcome) == CommandExit::Partial).collect();
        for (task, outcome) in failed.iter().take(MAX_LISTED_TASKS) {
            let name = self.tasks.iter().find(|view| view.id == *task).map_or("", |view| print::agent_name(&view.path));
            let detail = match outcome {
                TaskOutcome::Failed { message, .. } => format!(": {}", print::format_reason(message, 100)),
                _other => String::new(),
            };
            print::note(print::sanitize(&format!("{}: {name}{detail}", outcome.as_str())));
        }
        if let Some(more) = failed.len().checked_sub(MAX_LISTED_TASKS).filter(|more| *more > 0) {
            print::note(format_args!("and {more} more"));
        }
        if !failed.is_empty() {
            print::note(format_args!("hint: see their work with: bosun tasks --session {}", self.session.id()));
        }
    }

    /// Names background work that was stopped.
    fn explain_stopped(&self) {
        for (stopped, why) in [
            (&self.stopped_agents, "stopped after a time without activity"),
            (&self.stopped_commands, "stopped background commands that were still running"),
        ] {
            let names: Vec<&str> = stopped.iter().map(String::as_str).collect();
            if !names.is_empty() {
                print::error(&print::sanitize(&format!("{why}: {}", names.join(", "))));
            }
        }
        if self.stopped_agents.is_empty() && self.stopped_commands.is_empty() {
            return;
        }
        print::note("hint: wait longer with --background-wait TIME");
    }

    /// Explains why autopilot stopped.
    fn explain_autopilot_stop(&self) {
        let Some((why, continues)) = &self.autopilot_stop else { return };
        print::note(describe_autopilot_stop(why, *continues));
        let flag = match why {
            // The explanation of the outcome names the flag that allows more turns.
            AutopilotStop::Limit if matches!(self.answer, Some((TaskOutcome::TimedOut { .. }, _))) => return,
            AutopilotStop::Limit => " --max-continues N",
            AutopilotStop::NoChange | AutopilotStop::Blocked { .. } => "",
            AutopilotStop::Complete { .. } | AutopilotStop::Aborted { .. } | AutopilotStop::Failed => return,
        };
        print::note(format_args!("hint: resume with: bosun --resume {} -p \"…\"{flag}", self.session.id()));
    }

    /// Explains why the fleet did not do everything.
    fn explain_fleet(&self) {
        let Some(end) = self.fleet_end.as_ref().filter(|end| **end != FleetRunEnd::DONE) else { return };
        if let Some(message) = end.message() {
            print::error(&print::sanitize(&format!("the fleet stopped: {message}")));
        }
        let id = self.session.id();
        print::note(format_args!(
            "hint: bosun fleet status {id} shows the todos, bosun fleet resume {id} resumes them"
        ));
    }

    fn explain_outcome(&self, outcome: &TaskOutcome) {
        let id = self.session.id();
        match outcome {
            TaskOutcome::Completed => {}
            TaskOutcome::Failed { message, kind } => {
                print::error(&print::sanitize(&protocol::strip_quote_marks(message)));
                let (model, turns) = self.usage.as_ref().map_or(("", 0), |usage| (&*usage.view.model, usage.turns()));
                match server_to_start(model, *kind, message) {
                    Some(hint) => print::note(format_args!("hint: {hint}")),
                    None => print::note(format_args!("hint: {}", resume_hint(id, *kind, turns))),
                }
            }
            TaskOutcome::Cancelled { .. } => {
                print::note(format_args!("cancelled; resume with: bosun --resume {id} -p \"…\""));
            }
            TaskOutcome::TimedOut { .. } | TaskOutcome::BudgetExhausted | TaskOutcome::Lost => {
                print::error(&self.message().unwrap_or_default());
                let flags = self.limit_flags(outcome);
                if !flags.is_empty() {
                    let flags = flags.join(" ");
                    print::note(format_args!("hint: resume with: bosun --resume {id} -p \"continue\" {flags}"));
                }
            }
        }
    }

    /// The flags that let a run continue that reached a limit.
    fn limit_flags(&self, outcome: &TaskOutcome) -> Vec<&'static str> {
        match outcome {
            TaskOutcome::TimedOut { limit: LimitKind::Turns } => vec!["--max-turns N"],
            TaskOutcome::TimedOut { limit: LimitKind::Time } => vec!["--timeout TIME"],
            TaskOutcome::BudgetExhausted => {
                let Budget { micros, tokens } = self.budget();
                let money = micros.map(|_| "--max-budget-usd N");
                money.into_iter().chain(tokens.map(|_| "--max-tokens-total N")).collect()
            }
            TaskOutcome::Completed | TaskOutcome::Failed { .. } | TaskOutcome::Cancelled { .. } | TaskOutcome::Lost => {
                Vec::new()
            }
        }
    }

    pub(super) fn budget(&self) -> Budget {
        self.usage.as_ref().map(|usage| usage.view.budget).unwrap_or_default()
    }

    /// An explanation of an outcome that is not an answer.
    pub(super) fn message(&self) -> Option<String> {
        if let Some(reason) = &self.paused {
            return Some(reason.to_string());
        }
        if self.end == RunEnd::TimeUp {
            return Some("the time limit was reached while waiting for a quota".into());
        }
        let (outcome, _) = self.answer.as_ref()?;
        match outcome {
            TaskOutcome::Completed | TaskOutcome::Cancelled { .. } => None,
            TaskOutcome::Failed { message, .. } => Some(message.clone()),
            TaskOutcome::TimedOut { limit: LimitKind::Turns } => {
                Some("the turn limit was reached before the answer".into())
            }
            TaskOutcome::TimedOut { limit: LimitKind::Time } => {
                Some("the time limit was reached before the answer".into())
            }
            TaskOutcome::BudgetExhausted => {
                let spent = self.usage.as_ref().map(|usage| usage.view.spent).unwrap_or_default();
                Some(format!(
                    "the budget does not allow another request; spent: {}",
                    describe_spending(spent, self.budget())
                ))
            }
            TaskOutcome::Lost => Some("the run was lost".into()),
        }
    }
}

/// How to start the local server that did not answer.
fn server_to_start(model: &str, kind: FailKind, message: &str) -> Option<String> {
    let (provider, _) = model.split_once('/')?;
    let is_unreachable = kind == FailKind::Model
        && ["127.", "localhost:", "[::1]:"]
            .iter()
            .any(|host| message.starts_with(&format!("cannot connect to {host}")));
    let command = start_command(provider).filter(|_| is_unreachable)?;
    Some(format!("start {provider} with `{command}`; `bosun models` shows which servers run"))
}

/// How to resume a run that failed.
fn resume_hint(id: SessionId, kind: FailKind, turns: u64) -> String {
    let kept = if turns > 0 { "the work so far is kept; " } else { "" };
    let model_hint = match kind {
        FailKind::Model => " (and --model PROVIDER/NAME for another model)",
        FailKind::NoAnswer
        | FailKind::Exit
        | FailKind::Contract
        | FailKind::Stalled
        | FailKind::Denied
        | FailKind::Reported
        | FailKind::Internal => "",
    };
    format!("{kept}resume with: bosun --resume {id} -p \"…\"{model_hint}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_local_server_that_does_not_run_is_to_be_started() {
        let hint = |model, message| server_to_start(model, FailKind::Model, message);
        let refused = "cannot connect to 127.0.0.1:11434: connection refused; is the server running?";
        assert!(hint("ollama/qwen3:8b", refused).is_some_and(|hint| hint.contains("ollama serve`; `bosun models`")));
        assert_eq!(hint("anthropic/claude-opus-5", refused), None);
        assert_eq!(hint("ollama/qwen3:8b", "cannot connect to gpu.lan:11434: connection refused"), None);
        assert_eq!(hint("ollama/llama3", "ollama answered 404 for llama3"), None);
    }

    #[test]
    fn only_work_that_exists_is_kept() {
        let hint = |turns| resume_hint(SessionId::new(uuid::Uuid::nil()), FailKind::NoAnswer, turns);
        assert!(hint(0).starts_with("resume with: bosun --resume ses-"));
        assert!(hint(1).starts_with("the work so far is kept; resume with: "));
    }
}

//! A report in words: what a person should know besides the answer.

use protocol::{Budget, Limit, Outcome};

use super::report::{Ended, Report};
use super::show::share;
use crate::print;

impl Report {
    pub(super) fn explain(&self) {
        let id = self.id;
        if !self.denials.is_empty() {
            let tools: Vec<&str> = self.denials.iter().map(|denial| denial.tool.as_str()).collect();
            let tools = print::plain(&tools.join(", "));
            print::note(format_args!("not permitted: {tools} (permit with --allow-all)"));
        }
        match (self.ended, &self.paused, &self.answer) {
            (Ended::Paused, Some(reason), _) => {
                print::error(&reason.to_string());
                print::note(format_args!("hint: nothing that was finished is lost; go on with: bosun --resume {id}"));
            }
            (Ended::Parked, ..) => print::note(format_args!("parked; go on later with: bosun --resume {id}")),
            (Ended::Told, ..) => print::note(format_args!("interrupted; go on with: bosun --resume {id}")),
            (Ended::AtRest | Ended::Paused, _, Some((outcome, _))) => self.explain_outcome(outcome),
            (Ended::AtRest | Ended::Paused, _, None) => print::error("the run ended without an answer"),
        }
    }

    fn explain_outcome(&self, outcome: &Outcome) {
        let id = self.id;
        match outcome {
            Outcome::Completed => {}
            Outcome::Failed { message, .. } => {
                print::error(&print::plain(message));
                print::note(format_args!("hint: what was done is kept; go on with: bosun --resume {id} -p \"…\""));
            }
            Outcome::Cancelled { .. } => {
                print::note(format_args!("cancelled; go on with: bosun --resume {id} -p \"…\""));
            }
            Outcome::TimedOut { .. } | Outcome::BudgetExhausted | Outcome::Lost => {
                print::error(&self.message().unwrap_or_default());
                if let Some(flag) = self.remedy(outcome) {
                    print::note(format_args!("hint: go on with: bosun --resume {id} -p \"go on\" {flag}"));
                }
            }
        }
    }

    /// The flag that lets a run go on that reached a limit.
    fn remedy(&self, outcome: &Outcome) -> Option<&'static str> {
        match outcome {
            Outcome::TimedOut { limit: Limit::Turns } => Some("--max-turns N"),
            Outcome::TimedOut { limit: Limit::Time } => Some("--timeout TIME"),
            Outcome::BudgetExhausted if self.budget().micros.is_some() => Some("--max-budget-usd N"),
            Outcome::BudgetExhausted => Some("--max-tokens-total N"),
            Outcome::Completed | Outcome::Failed { .. } | Outcome::Cancelled { .. } | Outcome::Lost => None,
        }
    }

    pub(super) fn budget(&self) -> Budget {
        self.figures.as_ref().map(|figures| figures.view.budget).unwrap_or_default()
    }

    /// What happened, when it was not the answer.
    pub(super) fn message(&self) -> Option<String> {
        if let Some(reason) = &self.paused {
            return Some(reason.to_string());
        }
        let (outcome, _) = self.answer.as_ref()?;
        match outcome {
            Outcome::Completed | Outcome::Cancelled { .. } => None,
            Outcome::Failed { message, .. } => Some(message.clone()),
            Outcome::TimedOut { limit: Limit::Turns } => {
                Some("the limit of turns was reached before the answer".into())
            }
            Outcome::TimedOut { limit: Limit::Time } => Some("the time was up before the answer".into()),
            Outcome::BudgetExhausted => {
                let spent = self.figures.as_ref().map(|figures| figures.view.spent).unwrap_or_default();
                Some(format!("the budget was used up before the answer: {}", share(spent, self.budget())))
            }
            Outcome::Lost => Some("the run was lost".into()),
        }
    }
}

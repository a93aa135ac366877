//! What the session's own agent says about how its session goes on: its plan, and its objective.

use std::sync::Arc;

use kernel::{Decided, Refusal, Report};
use protocol::{Clip, Completion, DecidedBy, Decision, PlanAction, Subject};
use tools::{BoxFuture, PlanOrder, ToolError};

use crate::agent::Desk;
use crate::supervisor::Rejected;
use crate::waits::Caller;
use crate::{asks, plan, prompt};

/// Most bytes of a plan that a person is asked about.
const PLAN: usize = 64 * 1024;

/// Most bytes of a person's words that a model reads.
const WORDS: usize = 8 * 1024;

/// Where the session's own agent says how its session goes on.
#[derive(Debug)]
pub(crate) struct Steering {
    pub(crate) desk: Arc<Desk>,
    pub(crate) caller: Caller,
}

impl tools::Helm for Steering {
    fn write_plan(&self, mut text: String) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(async move {
            self.desk.redactor.text(&mut text);
            let (home, session) = (self.desk.settings.home.clone(), self.desk.session);
            let write = move || plan::write(&home, session, &text);
            tokio::task::spawn_blocking(write).await.map_err(ToolError::broken)?.map_err(ToolError::broken)
        })
    }

    fn leave_plan(&self, order: PlanOrder) -> BoxFuture<'_, Result<String, ToolError>> {
        Box::pin(async move {
            let PlanOrder { summary, actions, recommended } = order;
            let (home, session) = (self.desk.settings.home.clone(), self.desk.session);
            let read = tokio::task::spawn_blocking(move || plan::read_plan(&home, session));
            let text = read.await.map_err(ToolError::broken)?.map_err(ToolError::broken)?;
            let Some(text) = text else {
                return Err(ToolError::refused("there is no plan yet; write it with `write_plan` first"));
            };
            let plan = Clip::new(&text, PLAN).into_string();
            let otherwise = self.desk.settings.plan_exit;
            let subject = Subject::Plan { summary: summary.clone(), plan, actions, recommended, otherwise };
            // A person may change the plan while it lies before them; the call stays the same.
            let ask = asks::ask(&self.desk, &self.caller, &["plan", &summary], subject);
            let pending = self.caller.ask(ask, self.desk.settings.ask_wait).await.map_err(refused)?;
            Ok(told(&pending.decided().await.map_err(refused)?))
        })
    }

    fn complete(&self, completion: Completion) -> BoxFuture<'_, Result<String, ToolError>> {
        Box::pin(async move {
            let (turn, call) = (self.caller.turn, self.caller.call.clone());
            let report = Report::Objective { turn, call, completion };
            self.caller.supervisor.report(self.caller.run, report).await.map_err(refused)?;
            Ok("Reported. End now, with a few words for the user.".into())
        })
    }
}

/// What the model can act upon is told to it.
fn refused(rejected: Rejected) -> ToolError {
    match rejected {
        Rejected::Refused(refusal @ (Refusal::NoPlan | Refusal::NoObjective)) => {
            ToolError::refused(refusal.to_string())
        }
        other => ToolError::broken(other),
    }
}

/// What the model is told of a decision on its plan.
fn told(decided: &Decided) -> String {
    let who = match decided.by {
        DecidedBy::User => "The user approves the plan.",
        DecidedBy::Deadline => "Nobody was there to decide on the plan.",
    };
    match &decided.decision {
        Decision::Proceed { action: PlanAction::Interactive } => format!("{who} Carry it out now."),
        Decision::Proceed { action: PlanAction::Autopilot } => {
            format!("{who} Carry it out now, by yourself, and report with `task_complete`.")
        }
        Decision::Proceed { action: PlanAction::AutopilotFleet } => {
            format!("{who} Carry it out now, by yourself, and report with `task_complete`.\n\n{}", prompt::FLEET)
        }
        Decision::Proceed { action: PlanAction::ExitOnly } => {
            format!("{who} It is kept, and is not carried out yet. End now, with a few words for the user.")
        }
        Decision::Deny { words } | Decision::Reply { text: words } if !words.trim().is_empty() => {
            let words = Clip::new(words.trim(), WORDS);
            format!("The user does not approve the plan yet, and says: {words}\nChange the plan, then ask again.")
        }
        Decision::Deny { .. } | Decision::Reply { .. } | Decision::Allow { .. } => {
            "The user does not approve the plan. You are still in plan mode: ask what is wrong with it, or end.".into()
        }
    }
}

//! What the session's own agent says about how its session goes on: its plan, and its objective.

use std::sync::Arc;

use kernel::{DecidedAsk, InputRefusal, RunUpdate};
use protocol::{AskDecision, AskSubject, Clip, DecidedBy, ObjectiveReport, PlanAction};
use tools::{BoxFuture, PlanExitRequest, ToolError};

use crate::agent::SessionContext;
use crate::call_waits::Caller;
use crate::supervisor::InputRejection;
use crate::{asks, plan, prompt};

/// Most bytes of a plan that a person is asked about.
const MAX_PLAN_BYTES: usize = 64 * 1024;

/// Most bytes of a person's words that a model reads.
const MAX_REPLY_BYTES: usize = 8 * 1024;

/// Where the session's own agent says how its session goes on.
#[derive(Debug)]
pub(crate) struct AgentSessionControl {
    pub(crate) context: Arc<SessionContext>,
    pub(crate) caller: Caller,
}

impl tools::SessionControl for AgentSessionControl {
    fn write_plan(&self, mut text: String) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(async move {
            self.context.redactor.redact_text(&mut text);
            let (home, session) = (self.context.settings.home.clone(), self.context.session);
            let write = move || plan::write(&home, session, &text);
            tokio::task::spawn_blocking(write).await.map_err(ToolError::broken)?.map_err(ToolError::broken)
        })
    }

    fn exit_plan_mode(&self, order: PlanExitRequest) -> BoxFuture<'_, Result<String, ToolError>> {
        Box::pin(async move {
            let PlanExitRequest { summary, actions, recommended } = order;
            let (home, session) = (self.context.settings.home.clone(), self.context.session);
            let read = tokio::task::spawn_blocking(move || plan::read_plan(&home, session));
            let text = read.await.map_err(ToolError::broken)?.map_err(ToolError::broken)?;
            let Some(text) = text else {
                return Err(ToolError::refused("there is no plan yet; write it with `write_plan` first"));
            };
            let plan = Clip::new(&text, MAX_PLAN_BYTES).into_string();
            let otherwise = self.context.settings.plan_exit;
            let subject =
                AskSubject::Plan { summary: summary.clone(), plan, actions, recommended, default_action: otherwise };
            // A person may change the plan while it lies before them; the call stays the same.
            let ask = asks::ask(&self.context, &self.caller, &["plan", &summary], subject);
            let pending = self.caller.ask(ask, self.context.settings.ask_wait).await.map_err(tool_error)?;
            Ok(decision_text(&pending.decision().await.map_err(tool_error)?))
        })
    }

    fn complete(&self, completion: ObjectiveReport) -> BoxFuture<'_, Result<String, ToolError>> {
        Box::pin(async move {
            let (turn, call) = (self.caller.turn, self.caller.call.clone());
            let report = RunUpdate::Objective { turn, call, completion };
            self.caller.supervisor.report(self.caller.run, report).await.map_err(tool_error)?;
            Ok("Reported. End now, with a few words for the user.".into())
        })
    }
}

/// What the model can act upon is told to it.
fn tool_error(rejected: InputRejection) -> ToolError {
    match rejected {
        InputRejection::Refused(refusal @ (InputRefusal::NoPlan | InputRefusal::NoObjective)) => {
            ToolError::refused(refusal.to_string())
        }
        other => ToolError::broken(other),
    }
}

/// What the model is told of a decision on its plan.
fn decision_text(decided: &DecidedAsk) -> String {
    let who = match decided.by {
        DecidedBy::User => "The user approves the plan.",
        DecidedBy::Deadline => "Nobody was there to decide on the plan.",
    };
    match &decided.decision {
        AskDecision::Proceed { action: PlanAction::Interactive } => format!("{who} Carry it out now."),
        AskDecision::Proceed { action: PlanAction::Autopilot } => {
            format!("{who} Carry it out now, by yourself, and report with `task_complete`.")
        }
        AskDecision::Proceed { action: PlanAction::AutopilotFleet } => {
            format!("{who} Carry it out now, by yourself, and report with `task_complete`.\n\n{}", prompt::FLEET)
        }
        AskDecision::Proceed { action: PlanAction::ExitOnly } => {
            format!("{who} It is kept, and is not carried out yet. End now, with a few words for the user.")
        }
        AskDecision::Deny { message: words } | AskDecision::Reply { text: words } if !words.trim().is_empty() => {
            let words = Clip::new(words.trim(), MAX_REPLY_BYTES);
            format!("The user does not approve the plan yet, and says: {words}\nChange the plan, then ask again.")
        }
        AskDecision::Deny { .. } | AskDecision::Reply { .. } | AskDecision::Allow { .. } => {
            "The user does not approve the plan. You are still in plan mode: ask what is wrong with it, or end.".into()
        }
    }
}

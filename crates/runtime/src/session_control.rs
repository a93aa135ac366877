//! The root's control of its session: its plan and its objective.

use std::sync::Arc;

use kernel::{DecidedAsk, InputRefusal, RunUpdate};
use protocol::{
    AskDecision, AskSubject, Clip, DecidedBy, Event, FleetConfig, Hinted as _, ObjectiveReport, PlanAction,
};
use store::{StoreError, plan};
use tools::{BoxFuture, PlanExitRequest, ToolError};

use crate::asks;
use crate::call_waits::Caller;
use crate::fleet::FleetRequest;
use crate::session_context::SessionContext;
use crate::supervisor::InputRejection;

/// Maximum bytes of a plan that is shown to the user.
const MAX_PLAN_BYTES: usize = 64 * 1024;

/// Maximum bytes of the user's reply that a model reads.
const MAX_REPLY_BYTES: usize = 8 * 1024;

/// The session control of the root.
#[derive(Debug)]
pub(crate) struct AgentSessionControl {
    pub(crate) context: Arc<SessionContext>,
    pub(crate) caller: Caller,
}

impl tools::SessionControl for AgentSessionControl {
    fn write_plan(&self, mut text: String) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(async move {
            self.context.workplace.redactor.redact_text(&mut text);
            let (home, session) = (self.context.facts.home.clone(), self.context.facts.session);
            let write = move || plan::write(&home, session, &text);
            tokio::task::spawn_blocking(write).await.map_err(ToolError::failed)?.map_err(ToolError::failed)
        })
    }

    fn exit_plan_mode(&self, request: PlanExitRequest) -> BoxFuture<'_, Result<String, ToolError>> {
        Box::pin(async move {
            let PlanExitRequest { summary, actions, recommended } = request;
            let Some(text) = self.read_plan().await? else {
                return Err(ToolError::refused("there is no plan yet; write it with `write_plan` first"));
            };
            let plan = Clip::new(&text, MAX_PLAN_BYTES).into_string();
            let default_action = self.context.facts.default_plan_action;
            let subject = AskSubject::Plan { summary: summary.clone(), plan, actions, recommended, default_action };
            // The plan is not part of the id: the user may edit it while the ask is open.
            let ask = asks::ask(&self.context.facts, self.caller.location(), &["plan", &summary], subject);
            let pending = self.caller.ask(ask, self.context.facts.ask_wait).await.map_err(tool_error)?;
            let decided = pending.decision().await.map_err(tool_error)?;
            if let AskDecision::Proceed { action: PlanAction::AutopilotFleet } = decided.decision {
                return self.deploy_fleet(&decided, &summary).await;
            }
            Ok(decision_text(&decided))
        })
    }

    fn complete(&self, completion: ObjectiveReport) -> BoxFuture<'_, Result<String, ToolError>> {
        Box::pin(async move {
            let (turn, call) = (self.caller.turn, self.caller.call.clone());
            let report = RunUpdate::Objective { turn, call, completion };
            self.caller.supervisor.report(self.caller.run, report).await.map_err(tool_error)?;
            Ok("Reported. End now with a short message for the user.".into())
        })
    }
}

impl AgentSessionControl {
    async fn read_plan(&self) -> Result<Option<String>, ToolError> {
        let (home, session) = (self.context.facts.home.clone(), self.context.facts.session);
        let read = tokio::task::spawn_blocking(move || plan::read(&home, session));
        read.await.map_err(ToolError::failed)?.map_err(ToolError::failed)
    }

    /// Whether a fleet has begun since the plan was approved.
    async fn has_begun_fleet(&self, decided: &DecidedAsk) -> Result<bool, ToolError> {
        let (context, root, approved) = (Arc::clone(&self.context), self.caller.run.task, decided.ask.clone());
        let read = move || -> Result<bool, StoreError> {
            let log = context.log.reader()?.task_events(root)?;
            let events = log.iter().rev().map(|envelope| &envelope.entry.event);
            let is_approval = |event: &&Event| matches!(event, Event::AskDecided { ask, .. } if *ask == approved);
            Ok(events.take_while(|event| !is_approval(event)).any(|event| matches!(event, Event::FleetBegan(_))))
        };
        tokio::task::spawn_blocking(read).await.map_err(ToolError::failed)?.map_err(ToolError::failed)
    }

    /// Starts a fleet that carries out the approved plan, which the user may have edited meanwhile. If an earlier owner
    /// began the fleet and died before the call was answered, it continues here.
    async fn deploy_fleet(&self, decided: &DecidedAsk, summary: &str) -> Result<String, ToolError> {
        let deployed = if self.has_begun_fleet(decided).await? {
            self.context.fleet.resume(Vec::new()).await
        } else {
            let plan = self.read_plan().await?.unwrap_or_default();
            let goal = format!("{}\n\n{}", summary.trim(), plan.trim());
            self.context.fleet.start(FleetRequest::new(FleetConfig::for_goal(goal.trim()))).await
        };
        match deployed {
            Ok(_fleet) => Ok(format!(
                "{} A fleet carries it out: you write the todos, and the runtime gives each to its own agent. End now \
                 with a short message; you are asked for the todos next.",
                approval(decided)
            )),
            Err(why) => Ok(format!("{}\nThe fleet for it cannot start: {}", decision_text(decided), why.in_one_line())),
        }
    }
}

/// Refusals that the model can act on are shown to it.
fn tool_error(rejected: InputRejection) -> ToolError {
    match rejected {
        InputRejection::Refused(refusal @ (InputRefusal::NotPlanning | InputRefusal::NoObjective)) => {
            ToolError::refused(refusal.to_string())
        }
        other => ToolError::failed(other),
    }
}

/// Who approved the plan.
fn approval(decided: &DecidedAsk) -> &'static str {
    match decided.by {
        DecidedBy::User => "The user approves the plan.",
        DecidedBy::Deadline => "The user did not decide on the plan in time.",
    }
}

/// The tool result for a decision on the plan.
fn decision_text(decided: &DecidedAsk) -> String {
    let intro = approval(decided);
    match &decided.decision {
        AskDecision::Proceed { action: PlanAction::Interactive } => format!("{intro} Carry it out now."),
        AskDecision::Proceed { action: PlanAction::Autopilot | PlanAction::AutopilotFleet } => {
            format!("{intro} Carry it out now, by yourself, and report with `task_complete`.")
        }
        AskDecision::Proceed { action: PlanAction::ExitOnly } => {
            format!("{intro} It is saved, but not to be carried out yet. End now with a short message for the user.")
        }
        AskDecision::Deny { message } | AskDecision::Reply { text: message } if !message.trim().is_empty() => {
            let message = Clip::new(message.trim(), MAX_REPLY_BYTES);
            format!("The user does not approve the plan yet, and says: {message}\nChange the plan, then ask again.")
        }
        AskDecision::Deny { .. } | AskDecision::Reply { .. } | AskDecision::Allow { .. } => {
            "The user does not approve the plan. You are still in plan mode: ask what is wrong with it, or end.".into()
        }
    }
}

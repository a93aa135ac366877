//! Changes of the session's mode, model and MCP servers, and autopilot.

use protocol::{
    AutopilotStop, CallId, CancelBy, Compaction, Event, LimitKind, MailBody, MailDelivery, ObjectiveReport, Principal,
    ReasoningEffort, RunId, SessionMode, TaskId, TaskOutcome, Turn,
};

use super::DecisionDraft;
use super::spawn::expect_call;
use crate::{CallPhase, InputRefusal, KernelTask, TaskPhase};

/// How often the root is told to continue although nothing has changed.
const MAX_UNCHANGED_CONTINUES: u32 = 2;

impl DecisionDraft<'_> {
    pub(super) fn set_mode(&mut self, mode: SessionMode, by: Principal) -> Result<(), InputRefusal> {
        let root = self.state.root.ok_or(InputRefusal::Closed)?;
        if self.state.root_control.mode == mode && !self.state.root_control.leaving_plan_mode {
            return Ok(());
        }
        self.record(root, Event::ModeChanged { mode, by })
    }

    pub(super) fn set_model(
        &mut self,
        model: String,
        effort: Option<ReasoningEffort>,
        by: Principal,
    ) -> Result<(), InputRefusal> {
        let root = self.state.root.ok_or(InputRefusal::Closed)?;
        let control = &self.state.root_control;
        let effort = effort.filter(|effort| control.effort != Some(*effort));
        if control.model.as_ref() == Some(&model) && effort.is_none() {
            return Ok(());
        }
        self.record(root, Event::ModelChanged { model, effort, by })
    }

    pub(super) fn toggle_mcp_server(
        &mut self,
        server: String,
        enabled: bool,
        by: Principal,
    ) -> Result<(), InputRefusal> {
        let root = self.state.root.ok_or(InputRefusal::Closed)?;
        if self.state.root_control.mcp_servers.get(&server) == Some(&enabled) {
            return Ok(());
        }
        self.record(root, Event::McpServerToggled { server, enabled, by })
    }

    /// Compacts the conversation of an idle task.
    pub(super) fn compact(&mut self, id: TaskId, compaction: Compaction) -> Result<(), InputRefusal> {
        self.change_conversation(id, Event::Compacted(compaction))
    }

    /// Removes the end of the conversation of an idle task.
    pub(super) fn cut_conversation(&mut self, id: TaskId, after: u64) -> Result<(), InputRefusal> {
        self.change_conversation(id, Event::ConversationCut { after })
    }

    /// Records a change of the conversation of an idle task.
    fn change_conversation(&mut self, id: TaskId, change: Event) -> Result<(), InputRefusal> {
        match self.task(id)?.phase {
            TaskPhase::Idle => self.record(id, change),
            TaskPhase::Queued(_) | TaskPhase::Running(_) | TaskPhase::Parked(_) | TaskPhase::Interrupted => {
                Err(InputRefusal::TurnInProgress)
            }
            TaskPhase::Finished(_) => Err(InputRefusal::Ended(id)),
        }
    }

    /// Tells the root to continue, unless it has reached a limit.
    pub(super) fn continue_autopilot(&mut self, state: String, text: String) -> Result<(), InputRefusal> {
        let root = self.state.root.ok_or(InputRefusal::Closed)?;
        let Some(objective) = self.state.root_control.objective.as_ref().filter(|_| self.state.is_continuation_due())
        else {
            return Err(InputRefusal::RootNotDue);
        };
        if objective.unchanged_times(&state) >= MAX_UNCHANGED_CONTINUES {
            return self.stop_autopilot(root, AutopilotStop::NoChange);
        }
        let count = objective.continues + 1;
        if count > self.limits.max_continues {
            return self.stop_autopilot(root, AutopilotStop::Limit);
        }
        self.record(root, Event::AutopilotContinued { count, state })?;
        self.admit_mail(root, Principal::Runtime, MailDelivery::FollowUp, MailBody::text(text))?;
        self.wake(root)
    }

    /// Ends the objective as the root reports it: done or blocked.
    pub(super) fn report_objective(
        &mut self,
        run: RunId,
        turn: Turn,
        call: &CallId,
        completion: ObjectiveReport,
    ) -> Result<(), InputRefusal> {
        expect_call(self.task_of_run(run)?, turn, call, &CallPhase::Started)?;
        if self.state.root != Some(run.task) || self.state.root_control.objective.is_none() {
            return Err(InputRefusal::NoObjective);
        }
        self.stop_autopilot(
            run.task,
            match completion {
                ObjectiveReport::Done { summary } => AutopilotStop::Complete { summary },
                ObjectiveReport::Blocked { summary, reason } => AutopilotStop::Blocked { summary, reason },
            },
        )
    }

    /// Refuses a last turn for lack of change, unless the task is a root on autopilot and no other agent is at work.
    pub(super) fn expect_alone_on_autopilot(&self, id: TaskId) -> Result<(), InputRefusal> {
        let alone = self.state.root == Some(id) && self.state.busy == 1;
        if alone && self.state.root_control.mode == SessionMode::Autopilot {
            Ok(())
        } else {
            Err(InputRefusal::RootNotDue)
        }
    }

    /// Refuses the root a turn that its mode does not allow.
    pub(super) fn expect_turn_allowed(&self, task: &KernelTask) -> Result<(), InputRefusal> {
        let control = &self.state.root_control;
        if self.state.root != Some(task.id) || task.last_turn.is_some() {
            return Ok(());
        }
        if let Some(why) = control.last_turn_reason {
            return Err(InputRefusal::ObjectiveOver { why });
        }
        let limit = self.limits.max_autopilot_turns;
        // The first turn of an activation is always allowed, so that the root reads its mail.
        let limited = control.mode == SessionMode::Autopilot && task.max_turns.is_none() && task.turns > 0;
        if limited && control.turns >= limit { Err(InputRefusal::Turns { limit }) } else { Ok(()) }
    }

    /// Refuses a plan unless the root proposes it in plan mode.
    pub(super) fn expect_planning(&self, id: TaskId) -> Result<(), InputRefusal> {
        let may_plan = self.state.root == Some(id) && self.state.root_control.mode == SessionMode::Plan;
        if may_plan && !self.state.root_control.leaving_plan_mode { Ok(()) } else { Err(InputRefusal::NotPlanning) }
    }

    /// Ends the objective when the root is stopped, even if the root is idle while other agents work.
    pub(super) fn abort_objective(&mut self, id: TaskId, by: CancelBy) -> Result<(), InputRefusal> {
        if self.state.root == Some(id) { self.stop_autopilot(id, AutopilotStop::Aborted { by }) } else { Ok(()) }
    }

    /// Ends the objective if the root's activation ended without an answer: telling it to continue would not help.
    pub(super) fn root_activation_ended(&mut self, root: TaskId, outcome: &TaskOutcome) -> Result<(), InputRefusal> {
        let all_read = self.task(root)?.inbox.is_empty();
        match outcome {
            TaskOutcome::TimedOut { limit: LimitKind::Turns } if all_read => {
                self.stop_autopilot(root, AutopilotStop::Limit)?
            }
            TaskOutcome::Failed { .. }
            | TaskOutcome::TimedOut { .. }
            | TaskOutcome::BudgetExhausted
            | TaskOutcome::Lost
                if all_read =>
            {
                self.stop_autopilot(root, AutopilotStop::Failed)?;
            }
            TaskOutcome::Completed
            | TaskOutcome::Cancelled { .. }
            | TaskOutcome::Failed { .. }
            | TaskOutcome::TimedOut { .. }
            | TaskOutcome::BudgetExhausted
            | TaskOutcome::Lost => {}
        }
        if self.state.root_control.leaving_plan_mode {
            self.set_mode(SessionMode::Interactive, Principal::Runtime)
        } else {
            Ok(())
        }
    }

    pub(super) fn stop_autopilot(&mut self, root: TaskId, why: AutopilotStop) -> Result<(), InputRefusal> {
        let Some(objective) = &self.state.root_control.objective else { return Ok(()) };
        let continues = objective.continues;
        self.record(root, Event::AutopilotStopped { why, continues })
    }
}

//! Modes in random histories: people change them, a root on autopilot is told to continue or reports, and [`ModeAudit`]
//! checks the recorded events.

use protocol::*;

use super::simulated_session::SimulatedSession;
use crate::*;

impl SimulatedSession {
    pub(super) fn change_session_settings(&mut self) {
        let mode = match self.rng.below(6) {
            0 => SessionMode::Interactive,
            1 => SessionMode::Plan,
            _ => SessionMode::Autopilot,
        };
        let input = match self.rng.below(9) {
            8 => {
                let (server, enabled) = (format!("s{}", self.rng.below(2)), self.rng.below(2) == 0);
                KernelInput::ToggleMcpServer { server, enabled, by: Principal::User }
            }
            7 => KernelInput::SetTitle { title: "counting".into() },
            6 => self.random_agent_selection(),
            4 => {
                let id = DefinitionId(format!("d{}", self.rng.below(4)));
                KernelInput::Define(vec![AgentDefinition { id, spec: Box::default() }])
            }
            5 => return self.compact_random_task(),
            0 => KernelInput::SetMode { mode, by: Principal::User },
            1 => KernelInput::SetModel {
                model: format!("m{}", self.rng.below(2)),
                effort: [None, Some(ReasoningEffort::Low), Some(ReasoningEffort::High)][self.rng.below(3) as usize],
                by: Principal::User,
            },
            _ => return self.continue_autopilot(),
        };
        let _refusal = self.try_apply(input);
    }

    /// Tells the root to continue, which the kernel refuses unless that is due.
    pub(super) fn continue_autopilot(&mut self) {
        let (state, text) = (format!("s{}", self.rng.below(2)), "go on".into());
        let is_due = self.kernel.is_continuation_due();
        let refusal = self.try_apply(KernelInput::ContinueAutopilot { state, text });
        assert_eq!(refusal.is_none(), is_due, "{refusal:?}");
    }

    fn random_agent_selection(&mut self) -> KernelInput {
        let id = DefinitionId(format!("d{}", self.rng.below(4)));
        let definition = Some(AgentDefinition { id, spec: Box::default() }).filter(|_| self.rng.one_in(2));
        KernelInput::SelectAgent { definition, model: None }
    }

    /// Tries to compact or cut a conversation. This must succeed only while its task is idle.
    fn compact_random_task(&mut self) {
        let Some(task) = self.random_task() else { return };
        let is_idle = self.kernel.task(task).is_some_and(|task| task.phase == TaskPhase::Idle);
        let compaction = Compaction { messages: 1, digest: None, cause: CompactionCause::Requested };
        let input = match self.rng.one_in(2) {
            true => KernelInput::Compact { task, compaction },
            false => KernelInput::CutConversation { task, after: self.rng.below(9) },
        };
        assert_eq!(self.try_apply(input).is_none(), is_idle);
    }

    pub(super) fn ask_plan(&mut self, run: RunId, turn: Turn, call: CallId) {
        let action = self.rng.pick(&PlanAction::ALL).unwrap_or(PlanAction::ExitOnly);
        let subject = AskSubject::Plan {
            summary: "s".into(),
            plan: "p".into(),
            actions: PlanAction::ALL.to_vec(),
            recommended: action,
            default_action: action,
        };
        if self.kernel.root_control().mode == SessionMode::Plan && self.kernel.root() == Some(run.task) {
            return self.ask_unless_refused(run, turn, call, subject, &InputRefusal::NotPlanning);
        }
        let ask = Ask { id: AskId("none".into()), call, subject, until_at: None };
        let result = self.kernel.clone().decide(self.now, KernelInput::Report(run, RunUpdate::Ask { turn, ask }));
        assert_eq!(result, Err(InputRefusal::NotPlanning));
    }

    pub(super) fn report_objective(&mut self, run: RunId, turn: Turn, call: CallId) {
        let summary = "done".into();
        let completion = match self.rng.below(2) {
            0 => ObjectiveReport::Done { summary },
            _ => ObjectiveReport::Blocked { summary, reason: "no key".into() },
        };
        let has_objective = self.kernel.root_control().objective.is_some() && self.kernel.root() == Some(run.task);
        let refusal = self.try_apply(KernelInput::Report(run, RunUpdate::Objective { turn, call, completion }));
        assert_eq!(refusal.is_none(), has_objective, "{refusal:?}");
    }
}

/// The mode, model and objective according to the log.
#[derive(Default)]
pub(super) struct ModeAudit {
    mode: SessionMode,
    /// The latest chosen model.
    model: Option<String>,
    /// The latest chosen reasoning effort.
    effort: Option<ReasoningEffort>,
    /// How often the root was told to continue, while it has an objective.
    continues: Option<u32>,
    /// Turns of the root since it was given an objective, without failed ones.
    turns: u32,
    /// Turns that the root may still take, once it has reported on its objective.
    turns_left: Option<u32>,
    /// Agents whose activation has begun and not ended.
    at_work: std::collections::BTreeSet<TaskId>,
    /// Commands and external tasks, whose work does not count.
    not_agents: std::collections::BTreeSet<TaskId>,
}

impl ModeAudit {
    pub(super) fn check_event(&mut self, root: Option<TaskId>, entry: &LogEntry, limits: &SessionLimits) {
        match &entry.event {
            Event::ModeChanged { mode, .. } => {
                let at_work = root.is_some_and(|root| self.at_work.contains(&root));
                self.mode = *mode;
                self.continues = (*mode == SessionMode::Autopilot && at_work).then_some(0);
                (self.turns, self.turns_left) = (0, None);
            }
            Event::ModelChanged { model, effort, .. } => {
                let is_change = self.model.as_ref() != Some(model) || effort.is_some_and(|it| self.effort != Some(it));
                assert!(is_change, "the model changed to the same model");
                self.model = Some(model.clone());
                self.effort = effort.or(self.effort);
            }
            Event::SessionAdopted { config, .. } => {
                self.model = self.model.take().map(|_chosen| config.model.clone());
                self.effort = None;
            }
            Event::MailAdmitted { from: Principal::User, .. } if root == Some(entry.task) => {
                self.continues = (self.mode == SessionMode::Autopilot).then_some(0);
                (self.turns, self.turns_left) = (0, None);
            }
            // After new mail or a blocked stop, the root continues.
            Event::MailDelivered { .. } if root == Some(entry.task) => self.turns_left = self.turns_left.map(|_| 1),
            Event::StopBlocked { .. } | Event::ActivationStarted { attempt: Attempt(1), .. }
                if root == Some(entry.task) =>
            {
                self.turns_left = None;
            }
            Event::TurnBegun { .. } if root == Some(entry.task) => {
                self.turns += 1;
                let left = self.turns_left.map(|left| left.checked_sub(1));
                assert_ne!(left, Some(None), "the root reported on its objective and continued");
                self.turns_left = left.flatten();
            }
            Event::TurnFailed { .. } if root == Some(entry.task) => {
                self.turns = self.turns.saturating_sub(1);
                self.turns_left = self.turns_left.map(|left| left + 1);
            }
            Event::AutopilotContinued { count, .. } => {
                assert_eq!(Some(*count), self.continues.map(|told| told + 1), "the count of continuations is wrong");
                assert!(*count <= limits.max_continues, "told to continue too often");
                assert!(self.at_work.is_empty(), "told to continue while {:?} work", self.at_work);
                self.continues = Some(*count);
            }
            Event::AutopilotStopped { why, continues } => {
                assert_eq!(self.continues.take(), Some(*continues), "stopped without an objective");
                self.turns_left =
                    matches!(why, AutopilotStop::Complete { .. } | AutopilotStop::Blocked { .. }).then_some(1);
            }
            Event::TaskCreated(spec) if spec.kind.is_subagent() => drop(self.at_work.insert(entry.task)),
            Event::TaskCreated(spec) if !spec.kind.is_agent() => drop(self.not_agents.insert(entry.task)),
            Event::TaskRequeued if !self.not_agents.contains(&entry.task) => drop(self.at_work.insert(entry.task)),
            Event::ActivationEnded { .. } | Event::TaskFinished { .. } => drop(self.at_work.remove(&entry.task)),
            _other => {}
        }
    }

    /// Checks that the kernel and the log agree.
    pub(super) fn check(&self, kernel: &Kernel) {
        let control = kernel.root_control();
        assert_eq!((&control.model, control.turns), (&self.model, self.turns));
        assert_eq!(
            (control.mode, control.objective.as_ref().map(|objective| objective.continues)),
            (self.mode, self.continues)
        );
        let all_at_rest = kernel.tasks().all(|task| !task.kind.is_agent() || task.phase.is_at_rest());
        assert_eq!(kernel.state.agents_at_work == 0, all_at_rest);
        assert!(!kernel.is_continuation_due() || all_at_rest, "a continuation is due while an agent works");
    }
}

//! Modes in random histories: people change them, an agent on autopilot is told to continue or reports, and a second
//! reading of the log counts.

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
        let input = match self.rng.below(6) {
            4 => {
                let id = DefinitionId(format!("d{}", self.rng.below(4)));
                KernelInput::Define(vec![AgentDefinition { id, spec: Box::default() }])
            }
            5 => return self.somebody_compacts(),
            0 => KernelInput::SetMode { mode, by: Principal::User },
            1 => KernelInput::SetModel { model: format!("m{}", self.rng.below(2)), by: Principal::User },
            _ => KernelInput::ContinueAutopilot { state: format!("s{}", self.rng.below(2)), text: "go on".into() },
        };
        let _refusal = self.try_apply(input);
    }

    /// A conversation is compacted only while its task is idle.
    fn somebody_compacts(&mut self) {
        let Some(task) = self.any_task() else { return };
        let rests = self.kernel.task(task).is_some_and(|task| task.phase == TaskPhase::Idle);
        let compaction = Compaction { messages: 1, digest: None, cause: CompactionCause::Requested };
        assert_eq!(self.try_apply(KernelInput::Compact { task, compaction }).is_none(), rests);
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
            return self.ask_unless(run, turn, call, subject, &InputRefusal::NoPlan);
        }
        let ask = Ask { id: AskId("none".into()), call, subject, until_at: None };
        let refused = self.kernel.clone().apply(self.now, KernelInput::Report(run, RunUpdate::Ask { turn, ask }));
        assert_eq!(refused, Err(InputRefusal::NoPlan));
    }

    pub(super) fn report_objective(&mut self, run: RunId, turn: Turn, call: CallId) {
        let summary = "done".into();
        let completion = match self.rng.below(2) {
            0 => ObjectiveReport::Done { summary },
            _ => ObjectiveReport::Blocked { summary, reason: "no key".into() },
        };
        let flies = self.kernel.root_control().objective.is_some() && self.kernel.root() == Some(run.task);
        let refusal = self.try_apply(KernelInput::Report(run, RunUpdate::Objective { turn, call, completion }));
        assert_eq!(refusal.is_none(), flies, "{refusal:?}");
    }
}

/// What the log has said of modes.
#[derive(Default)]
pub(super) struct ModeAudit {
    mode: SessionMode,
    /// The model that was chosen last.
    model: Option<String>,
    /// How often the root was told to continue, while it has an objective.
    told: Option<u32>,
    /// Turns of the root that were asked since it was given an objective, and not failed.
    turns: u32,
    /// Turns that the root may still take, once it has reported on its objective.
    left: Option<u32>,
    /// Agents that have begun and not ended.
    at_work: std::collections::BTreeSet<TaskId>,
}

impl ModeAudit {
    pub(super) fn read(&mut self, root: Option<TaskId>, entry: &LogEntry, limits: &SessionLimits) {
        match &entry.event {
            Event::ModeChanged { mode, .. } => {
                let at_work = root.is_some_and(|root| self.at_work.contains(&root));
                self.mode = *mode;
                self.told = (*mode == SessionMode::Autopilot && at_work).then_some(0);
                (self.turns, self.left) = (0, None);
            }
            Event::ModelChanged { model, .. } => {
                assert_ne!(self.model.as_ref(), Some(model), "the model changed to what it was");
                self.model = Some(model.clone());
            }
            Event::SessionAdopted { config: terms, .. } if self.model.is_some() => {
                self.model = Some(terms.model.clone())
            }
            Event::MailAdmitted { from: Principal::User, .. } if root == Some(entry.task) => {
                self.told = (self.mode == SessionMode::Autopilot).then_some(0);
                (self.turns, self.left) = (0, None);
            }
            // New mail or a blocked stop means that the root continues.
            Event::MailDelivered { .. } if root == Some(entry.task) => self.left = self.left.map(|_| 1),
            Event::StopBlocked { .. } | Event::ActivationStarted { attempt: Attempt(1), .. }
                if root == Some(entry.task) =>
            {
                self.left = None;
            }
            Event::TurnBegun { .. } if root == Some(entry.task) => {
                self.turns += 1;
                let left = self.left.map(|left| left.checked_sub(1));
                assert_ne!(left, Some(None), "it reported on its objective and went on");
                self.left = left.flatten();
            }
            Event::TurnFailed { .. } if root == Some(entry.task) => {
                self.turns = self.turns.saturating_sub(1);
                self.left = self.left.map(|left| left + 1);
            }
            Event::AutopilotContinued { count, .. } => {
                assert_eq!(Some(*count), self.told.map(|told| told + 1), "a continuation is counted wrong");
                assert!(*count <= limits.max_continues, "told to go on too often");
                assert!(self.at_work.is_empty(), "told to go on while {:?} work", self.at_work);
                self.told = Some(*count);
            }
            Event::AutopilotStopped { why, continues } => {
                assert_eq!(self.told.take(), Some(*continues), "stopped without an objective");
                self.left = matches!(why, AutopilotStop::Complete { .. } | AutopilotStop::Blocked { .. }).then_some(1);
            }
            Event::TaskCreated(spec) if spec.kind == TaskType::Agent => drop(self.at_work.insert(entry.task)),
            Event::TaskRequeued => drop(self.at_work.insert(entry.task)),
            Event::ActivationEnded { .. } | Event::TaskFinished { .. } => drop(self.at_work.remove(&entry.task)),
            _other => {}
        }
    }

    /// The kernel knows what the log says.
    pub(super) fn check(&self, kernel: &Kernel) {
        let control = kernel.root_control();
        assert_eq!((&control.model, control.turns), (&self.model, self.turns));
        assert_eq!((control.mode, control.objective.as_ref().map(|flight| flight.continues)), (self.mode, self.told));
        let rests = kernel.tasks().all(|task| task.kind == TaskType::Shell || task.phase.is_at_rest());
        assert_eq!(kernel.state.at_work == 0, rests);
        assert!(!kernel.is_continuation_due() || rests, "a continuation is due while somebody works");
    }
}

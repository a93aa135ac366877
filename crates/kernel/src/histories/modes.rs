//! Modes in random histories: people change them, an agent on autopilot is told to go on or reports, and a second
//! reading of the log counts.

use protocol::*;

use super::world::World;
use crate::*;

impl World {
    pub(super) fn somebody_steers(&mut self) {
        let mode = match self.dice.below(6) {
            0 => SessionMode::Interactive,
            1 => SessionMode::Plan,
            _ => SessionMode::Autopilot,
        };
        let input = match self.dice.below(6) {
            4 => {
                let id = DefinitionId(format!("d{}", self.dice.below(4)));
                Input::Define(vec![Definition { id, spec: Box::default() }])
            }
            5 => return self.somebody_compacts(),
            0 => Input::SetMode { mode, by: Origin::User },
            1 => Input::SetModel { model: format!("m{}", self.dice.below(2)), by: Origin::User },
            _ => Input::GoOn { state: format!("s{}", self.dice.below(2)), text: "go on".into() },
        };
        let _refusal = self.may(input);
    }

    /// A conversation is made shorter only while nobody has it under way.
    fn somebody_compacts(&mut self) {
        let Some(task) = self.any_task() else { return };
        let rests = self.kernel.task(task).is_some_and(|task| task.phase == Phase::Idle);
        let compaction = Compaction { messages: 1, digest: None, cause: CompactionCause::Asked };
        assert_eq!(self.may(Input::Compact { task, compaction }).is_none(), rests);
    }

    pub(super) fn ask_plan(&mut self, run: Run, turn: Turn, call: CallId) {
        let action = self.dice.pick(&PlanAction::ALL).unwrap_or(PlanAction::ExitOnly);
        let subject = Subject::Plan {
            summary: "s".into(),
            plan: "p".into(),
            actions: PlanAction::ALL.to_vec(),
            recommended: action,
            otherwise: action,
        };
        if self.kernel.helm().mode == SessionMode::Plan && self.kernel.root() == Some(run.task) {
            return self.ask_unless(run, turn, call, subject, &Refusal::NoPlan);
        }
        let ask = Ask { id: AskId("none".into()), call, subject, until_at: None };
        let refused = self.kernel.clone().apply(self.now, Input::Report(run, Report::Ask { turn, ask }));
        assert_eq!(refused, Err(Refusal::NoPlan));
    }

    pub(super) fn report_objective(&mut self, run: Run, turn: Turn, call: CallId) {
        let summary = "done".into();
        let completion = match self.dice.below(2) {
            0 => Completion::Done { summary },
            _ => Completion::Blocked { summary, reason: "no key".into() },
        };
        let flies = self.kernel.helm().flight.is_some() && self.kernel.root() == Some(run.task);
        let refusal = self.may(Input::Report(run, Report::Objective { turn, call, completion }));
        assert_eq!(refusal.is_none(), flies, "{refusal:?}");
    }
}

/// What the log has said of modes.
#[derive(Default)]
pub(super) struct Modes {
    mode: SessionMode,
    /// The model that was chosen last.
    model: Option<String>,
    /// How often the root was told to go on, while it has an objective.
    told: Option<u32>,
    /// Turns of the root that were asked since it was given an objective, and not failed.
    turns: u32,
    /// Turns that the root may still take, once it has reported on its objective.
    left: Option<u32>,
    /// Agents that have begun and not ended.
    at_work: std::collections::BTreeSet<TaskId>,
}

impl Modes {
    pub(super) fn read(&mut self, root: Option<TaskId>, entry: &Entry, limits: &Limits) {
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
            Event::SessionAdopted { terms, .. } if self.model.is_some() => self.model = Some(terms.model.clone()),
            Event::MailAdmitted { from: Origin::User, .. } if root == Some(entry.task) => {
                self.told = (self.mode == SessionMode::Autopilot).then_some(0);
                (self.turns, self.left) = (0, None);
            }
            // Whoever has more to hear has more to say, and whoever is held goes on.
            Event::MailDelivered { .. } if root == Some(entry.task) => self.left = self.left.map(|_| 1),
            Event::StopHeld { .. } | Event::ActivationStarted { attempt: Attempt(1), .. }
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
                assert!(*count <= limits.continues, "told to go on too often");
                assert!(self.at_work.is_empty(), "told to go on while {:?} work", self.at_work);
                self.told = Some(*count);
            }
            Event::AutopilotStopped { why, continues } => {
                assert_eq!(self.told.take(), Some(*continues), "stopped without an objective");
                self.left = matches!(why, AutopilotStop::Complete { .. } | AutopilotStop::Blocked { .. }).then_some(1);
            }
            Event::TaskCreated(spec) if spec.kind == Kind::Agent => drop(self.at_work.insert(entry.task)),
            Event::TaskRequeued => drop(self.at_work.insert(entry.task)),
            Event::ActivationEnded { .. } | Event::TaskFinished { .. } => drop(self.at_work.remove(&entry.task)),
            _other => {}
        }
    }

    /// The kernel knows what the log says.
    pub(super) fn check(&self, kernel: &Kernel) {
        let helm = kernel.helm();
        assert_eq!((&helm.model, helm.turns), (&self.model, self.turns));
        assert_eq!((helm.mode, helm.flight.as_ref().map(|flight| flight.continues)), (self.mode, self.told));
        let rests = kernel.tasks().all(|task| task.kind == Kind::Shell || task.phase.is_at_rest());
        assert_eq!(kernel.state.at_work == 0, rests);
        assert!(!kernel.is_continuation_due() || rests, "a continuation is due while somebody works");
    }
}

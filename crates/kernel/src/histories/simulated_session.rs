//! A runtime made of dice: it performs effects by remembering them, and reports at random.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use protocol::*;

use super::audit::LogAudit;
use super::rng::HistoryRng;
use crate::*;

/// The types of agents that there are; the first two are capped.
const KINDS: [&str; 3] = ["build", "look", "think"];

pub(super) struct SimulatedSession {
    pub(super) kernel: Kernel,
    pub(super) limits: SessionLimits,
    pub(super) log: Vec<LogEntry>,
    pub(super) now: Timestamp,
    pub(super) dice: HistoryRng,
    /// How many of a hundred things that happen are done by runs.
    industry: u64,
    ids: u128,
    /// Everything that was ever asked.
    pub(super) asked: Vec<Ask>,
    pub(super) fence: u64,
    /// The runs that were started and not stopped, as a runtime would hold them.
    pub(super) active: BTreeMap<TaskId, RunId>,
    /// Runs that are over; their reports must change nothing.
    pub(super) old: Vec<RunId>,
    /// Which refusals there were.
    pub(super) refusals: BTreeSet<String>,
    pub(super) audit: LogAudit,
    /// How an owner runs the session.
    pub(super) terms: SessionConfig,
}

impl SimulatedSession {
    pub(super) fn new(seed: u64) -> SimulatedSession {
        let mut dice = HistoryRng(seed);
        let limits = SessionLimits {
            live: 1 + dice.below(4) as u32,
            depth: 1 + dice.below(4) as u32,
            total: 1 + dice.below(12) as u32,
            rate: 1 + dice.below(12) as u32,
            of_type: KINDS[..2].iter().map(|kind| (kind.to_string(), 1 + dice.below(3) as u32)).collect(),
            grace: Duration::from_millis(dice.below(120)),
            max_stop_blocks: dice.below(3) as u32,
            max_repairs: dice.below(2) as u32,
            max_continues: dice.below(4) as u32,
            autopilot_turns: 1 + dice.below(12) as u32,
            result_window: Duration::from_millis(dice.below(3) * 20),
        };
        let mut world = SimulatedSession::with_limits(seed, limits);
        // Whoever takes the session over may limit the turns of everybody together.
        world.terms.max_turns = seed.is_multiple_of(4).then_some(2 + (seed / 4 % 16) as u32);
        world
    }

    pub(super) fn with_limits(seed: u64, limits: SessionLimits) -> SimulatedSession {
        let mut world = SimulatedSession {
            kernel: Kernel::new(limits.clone()),
            limits,
            log: Vec::new(),
            now: Timestamp(1_000),
            dice: HistoryRng(seed ^ 0xb05),
            industry: 50 + seed % 50,
            ids: 0,
            asked: Vec::new(),
            fence: 1,
            active: BTreeMap::new(),
            old: Vec::new(),
            refusals: BTreeSet::new(),
            audit: LogAudit::default(),
            terms: terms(Budget::default()),
        };
        let root = world.new_id();
        let spec = world.spec(TaskType::Main, TaskMode::Background, CompletionPolicy::Idle, None);
        world.terms = terms(spec.budget);
        world.must(KernelInput::Open { root, spec, definition: None, config: world.terms.clone() });
        world.must(user_mail(root, MailDelivery::Steer));
        world
    }

    /// One random thing happens.
    pub(super) fn step(&mut self) {
        match self.dice.below(80) {
            0..20 => self.now = Timestamp(self.now.0 + self.dice.below(50)),
            20 => self.now = Timestamp(self.now.0 + self.dice.below(70_000)),
            _ => {}
        }
        if self.dice.below(100) < self.industry {
            return self.some_run_reports();
        }
        match self.dice.below(37) {
            0..7 => self.somebody_writes(),
            7..10 => self.tick(),
            10..13 => self.somebody_cancels(),
            13..14 => self.somebody_interrupts(),
            14..16 => self.somebody_promotes(),
            16..19 => self.the_owner_dies(),
            19..20 => self.the_owner_leaves(),
            20..21 => self.everything_stops(),
            21..23 => self.a_lease_is_granted(),
            23..25 => self.somebody_decides(),
            25..27 => self.memory_changes(),
            27..29 => self.somebody_watches(),
            29..31 => self.stop_hooks_run(),
            31..32 => self.somebody_forgets(),
            32..33 => self.somebody_starts_one(),
            33..36 => self.somebody_steers(),
            _ => self.an_old_run_reports(),
        }
    }

    pub(super) fn any_task(&mut self) -> Option<TaskId> {
        let ids: Vec<TaskId> = self.kernel.tasks().map(|task| task.id).collect();
        self.dice.pick(&ids)
    }

    pub(super) fn new_id(&mut self) -> TaskId {
        self.ids += 1;
        TaskId::new(format!("{:032x}", self.ids).parse().unwrap())
    }

    pub(super) fn quote(&mut self) -> TurnQuote {
        let million = |n: u64| n * 1_000_000;
        let price =
            Price { input: million(self.dice.below(3)), output: million(self.dice.below(3)), ..Price::default() };
        let (least, most) = (self.dice.below(10) as u32, self.dice.below(40) as u32);
        let spare = Cost { tokens: self.dice.below(20), micros: self.dice.below(20) };
        let input = self.dice.below(40);
        let (estimated, expected) = (self.dice.below(input + 1), self.dice.below(40) as u32);
        let price = Some(price).filter(|_| self.dice.one_in(2));
        TurnQuote { input, estimated, least, expected, most, price, spare }
    }

    /// What a model call that failed is counted as; no more of its answer can have arrived than was set aside for.
    pub(super) fn booked(&mut self, output: u32) -> FailedCallCharge {
        if self.dice.one_in(2) {
            FailedCallCharge::Nothing
        } else {
            FailedCallCharge::Used { output: self.dice.below(u64::from(output) + 1) as u32 }
        }
    }

    pub(super) fn spec(
        &mut self,
        kind: TaskType,
        mode: TaskMode,
        rest: CompletionPolicy,
        parent: Option<TaskId>,
    ) -> TaskSpec {
        let budget = if self.dice.one_in(3) {
            Budget { tokens: Some(self.dice.below(300)), micros: Some(self.dice.below(300)) }
        } else {
            Budget::default()
        };
        let max_turns = Some(1 + self.dice.below(6) as u32).filter(|_| self.dice.one_in(3));
        let name = format!("n{}", self.dice.below(3));
        let (agent, description) = (self.dice.pick(&KINDS).unwrap(), "work".into());
        TaskSpec { parent, description, mode, on_complete: rest, max_turns, budget, ..TaskSpec::new(kind, agent, name) }
    }

    pub(super) fn must(&mut self, input: KernelInput) {
        let effects = match self.kernel.apply(self.now, input.clone()) {
            Ok(effects) => effects,
            Err(refusal) => panic!("{input:?} was refused: {refusal}"),
        };
        self.perform(effects);
    }

    pub(super) fn must_or_closed(&mut self, input: KernelInput) {
        if let Ok(effects) = self.kernel.apply(self.now, input) {
            self.perform(effects);
        }
    }

    /// Applies an input that may be refused, and tells why; a refusal must have changed nothing.
    pub(super) fn may(&mut self, input: KernelInput) -> Option<InputRefusal> {
        // A copy of everything is what costs most here, so not every refusal is looked at.
        let before = self.dice.one_in(4).then(|| self.kernel.clone());
        match self.kernel.apply(self.now, input) {
            Ok(effects) => {
                self.perform(effects);
                None
            }
            Err(refusal) => {
                assert!(!matches!(refusal, InputRefusal::InvalidEvent(_)), "{refusal}");
                let words = format!("{refusal:?}");
                self.refusals.extend(words.split(|c: char| !c.is_alphanumeric()).next().map(str::to_owned));
                if let Some(before) = before {
                    assert_eq!(self.kernel, before, "a refusal ({refusal}) changed the state");
                }
                Some(refusal)
            }
        }
    }

    pub(super) fn perform(&mut self, effects: Vec<KernelEffect>) {
        for effect in &effects {
            match effect {
                KernelEffect::Record(entry) => self.log.push(entry.clone()),
                KernelEffect::Start(run) => {
                    if let Some(old) = self.active.insert(run.task, *run) {
                        self.old.push(old);
                    }
                }
                KernelEffect::Stop { run, how: CancelMode::Abort } => {
                    if self.active.get(&run.task) == Some(run) {
                        self.active.remove(&run.task);
                    }
                    self.old.push(*run);
                }
                KernelEffect::Stop { how: CancelMode::WrapUp, .. }
                | KernelEffect::MayProceed(_)
                | KernelEffect::WaitOver { .. }
                | KernelEffect::AskOver { .. } => {}
            }
        }
        self.active
            .retain(|id, run| self.kernel.task(*id).is_some_and(|task| task.is_running() && task.run_id() == *run));
        self.audit.after(&self.kernel, &self.limits, &effects);
    }
}

fn terms(budget: Budget) -> SessionConfig {
    let (cwd, model, version) = ("/w".into(), "script".into(), "0".into());
    SessionConfig {
        cwd,
        model,
        permission: PermissionMode::Default,
        rules: Vec::new(),
        roots: Vec::new(),
        ask_user: true,
        max_turns: None,
        root_turns: Some(9),
        limits: AgentLimits::default(),
        budget,
        effort: None,
        list: ListName::Session,
        version,
    }
}

pub(super) fn user_mail(to: TaskId, delivery: MailDelivery) -> KernelInput {
    KernelInput::Send(NewMail { to, from: Principal::User, delivery, body: MailBody::text("hello") })
}

/// A question that costs nothing.
pub(super) const FREE: TurnQuote =
    TurnQuote { input: 0, estimated: 0, least: 0, expected: 0, most: 0, price: None, spare: Cost::ZERO };

pub(super) fn parking(until: Timestamp) -> Parking {
    Parking { until: Some(until), why: ParkReason::Quota }
}

pub(super) fn begin(quote: TurnQuote) -> RunUpdate {
    RunUpdate::TurnBegun { model: "script".into(), quote }
}

pub(super) fn answer(turn: Turn, content: Vec<ContentBlock>, cost: Cost) -> RunUpdate {
    let (stop, usage, model) = (StopReason::End, Usage::default(), "script".into());
    RunUpdate::TurnAnswered { turn, content, stop, usage, cost, model }
}

pub(super) fn answered(turn: Turn, call: CallId) -> RunUpdate {
    RunUpdate::CallAnswered {
        turn,
        call,
        answer: ToolResult { status: ToolResultStatus::Done, text: "ok".into() },
        evidence: Vec::new(),
    }
}

pub(super) fn say(text: &str) -> ContentBlock {
    ContentBlock::Text { text: text.into() }
}

pub(super) fn call(id: &str) -> ContentBlock {
    ContentBlock::Call(ToolCallRequest { id: CallId(id.into()), tool: "shell".into(), input: "{}".into() })
}

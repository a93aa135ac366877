//! A simulated runtime: it records the kernel's effects instead of performing them, and makes up random inputs.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use protocol::*;

use super::audit::LogAudit;
use super::coverage::Coverage;
use super::rng::HistoryRng;
use crate::*;

/// The agent types; for the first two, the number that may run at once is limited.
const AGENT_TYPES: [&str; 3] = ["build", "look", "think"];

/// A session whose runs, users and owners behave at random.
pub(super) struct SimulatedSession {
    pub(super) kernel: Kernel,
    pub(super) limits: SessionLimits,
    pub(super) log: Vec<LogEntry>,
    pub(super) now: Timestamp,
    pub(super) rng: HistoryRng,
    /// The percentage of steps in which a run reports something.
    run_report_percent: u64,
    /// How many ids were made.
    last_id: u128,
    /// All asks so far, decided or not.
    pub(super) all_asks: Vec<Ask>,
    pub(super) fence: u64,
    /// The runs that were started and not stopped, as a runtime would track them.
    pub(super) active: BTreeMap<TaskId, RunId>,
    /// Runs that are over; their reports must change nothing.
    pub(super) ended_runs: Vec<RunId>,
    /// The variant names of all refusals so far.
    pub(super) refusals: BTreeSet<String>,
    pub(super) audit: LogAudit,
    /// The kinds of inputs and events so far.
    pub(super) coverage: Coverage,
    /// The configuration with which owners open and adopt the session.
    pub(super) config: SessionConfig,
}

impl SimulatedSession {
    pub(super) fn new(seed: u64) -> SimulatedSession {
        let mut rng = HistoryRng(seed);
        let limits = SessionLimits {
            live: 1 + rng.below(4) as u32,
            depth: 1 + rng.below(4) as u32,
            total: 1 + rng.below(12) as u32,
            rate: 1 + rng.below(12) as u32,
            max_by_type: AGENT_TYPES[..2].iter().map(|kind| (kind.to_string(), 1 + rng.below(3) as u32)).collect(),
            grace: Duration::from_millis(rng.below(120)),
            max_stop_blocks: rng.below(3) as u32,
            max_expectation_retries: rng.below(2) as u32,
            max_continues: rng.below(4) as u32,
            max_autopilot_turns: 1 + rng.below(12) as u32,
            result_window: Duration::from_millis(rng.below(3) * 20),
        };
        let mut session = SimulatedSession::with_limits(seed, limits);
        // A new owner may limit the turns of all agents together.
        session.config.max_turns = seed.is_multiple_of(4).then_some(2 + (seed / 4 % 16) as u32);
        session
    }

    pub(super) fn with_limits(seed: u64, limits: SessionLimits) -> SimulatedSession {
        let mut session = SimulatedSession {
            kernel: Kernel::new(limits.clone()),
            limits,
            log: Vec::new(),
            now: Timestamp(1_000),
            rng: HistoryRng(seed ^ 0xb05),
            run_report_percent: 50 + seed % 50,
            last_id: 0,
            all_asks: Vec::new(),
            fence: 1,
            active: BTreeMap::new(),
            ended_runs: Vec::new(),
            refusals: BTreeSet::new(),
            audit: LogAudit::default(),
            coverage: Coverage::default(),
            config: session_config(Budget::default()),
        };
        let root = session.new_id();
        let spec = session.random_spec(TaskType::Main, TaskMode::Background, CompletionPolicy::Idle, None);
        session.config = session_config(spec.budget);
        session.apply_accepted(KernelInput::Open { root, spec, definition: None, config: session.config.clone() });
        session.apply_accepted(user_mail(root, MailDelivery::Steer));
        session
    }

    /// Lets some time pass and gives the kernel one random input.
    pub(super) fn step(&mut self) {
        match self.rng.below(80) {
            0..20 => self.now = Timestamp(self.now.0 + self.rng.below(50)),
            20 => self.now = Timestamp(self.now.0 + self.rng.below(70_000)),
            _ => {}
        }
        if self.kernel.is_continuation_due() && self.rng.one_in(3) {
            return self.continue_autopilot();
        }
        if self.rng.below(100) < self.run_report_percent {
            return self.report_from_random_run();
        }
        match self.rng.below(38) {
            0..7 => self.send_random_mail(),
            7..10 => self.tick(),
            10..13 => self.cancel_random_task(),
            13..14 => self.interrupt_random_task(),
            14..16 => self.promote_random_task(),
            16..19 => self.replace_dead_owner(),
            19..20 => self.replace_leaving_owner(),
            20..21 => self.stop_or_fork_session(),
            21..23 => self.set_random_lease(),
            23..25 => self.decide_random_ask(),
            25..27 => self.change_memory_pressure(),
            27..29 => self.stall_random_run(),
            29..31 => self.run_random_stop_hooks(),
            31..32 => self.forget_random_task(),
            32..33 => self.start_random_task(),
            33..36 => self.change_session_settings(),
            36..37 => (0..1 + self.rng.below(6)).for_each(|_| self.change_external_task()),
            _ => self.report_from_ended_run(),
        }
    }

    pub(super) fn random_task(&mut self) -> Option<TaskId> {
        let ids: Vec<TaskId> = self.kernel.tasks().map(|task| task.id).collect();
        self.rng.pick(&ids)
    }

    pub(super) fn new_id(&mut self) -> TaskId {
        self.last_id += 1;
        TaskId::new(format!("{:032x}", self.last_id).parse().unwrap())
    }

    pub(super) fn random_quote(&mut self) -> TurnQuote {
        let million = |n: u64| n * 1_000_000;
        let price = Price { input: million(self.rng.below(3)), output: million(self.rng.below(3)), ..Price::default() };
        let (min_output, max_output) = (self.rng.below(10) as u32, self.rng.below(40) as u32);
        let last_turn_reserve = Cost { tokens: self.rng.below(20), micros: self.rng.below(20) };
        let input = self.rng.below(40);
        let (estimated, expected) = (self.rng.below(input + 1), self.rng.below(40) as u32);
        let price = Some(price).filter(|_| self.rng.one_in(2));
        TurnQuote { input, estimated, min_output, expected_output: expected, max_output, price, last_turn_reserve }
    }

    /// A random charge for a failed model call, for at most the `output` tokens that were reserved.
    pub(super) fn random_charge(&mut self, output: u32) -> FailedCallCharge {
        if self.rng.one_in(2) {
            FailedCallCharge::Nothing
        } else {
            FailedCallCharge::Used { output: self.rng.below(u64::from(output) + 1) as u32 }
        }
    }

    /// A type for a new task: one time in `n` another one than an agent.
    pub(super) fn random_kind(&mut self, n: u64) -> TaskType {
        let wants_agent = !self.rng.one_in(n);
        let is_wanted = |kind: &TaskType| !kind.is_root() && kind.is_agent() == wants_agent;
        let kinds: Vec<TaskType> = TaskType::ALL.into_iter().filter(is_wanted).collect();
        self.rng.pick(&kinds).unwrap()
    }

    pub(super) fn random_spec(
        &mut self,
        kind: TaskType,
        mode: TaskMode,
        on_complete: CompletionPolicy,
        parent: Option<TaskId>,
    ) -> TaskSpec {
        let budget = if self.rng.one_in(3) {
            Budget { tokens: Some(self.rng.below(300)), micros: Some(self.rng.below(300)) }
        } else {
            Budget::default()
        };
        let max_turns = Some(1 + self.rng.below(6) as u32).filter(|_| self.rng.one_in(3));
        let name = format!("n{}", self.rng.below(3));
        let (agent, description) = (self.rng.pick(&AGENT_TYPES).unwrap(), "work".into());
        TaskSpec { parent, description, mode, on_complete, max_turns, budget, ..TaskSpec::new(kind, agent, name) }
    }

    pub(super) fn apply_accepted(&mut self, input: KernelInput) {
        self.coverage.add_input(&input);
        let effects = match self.kernel.decide(self.now, input.clone()) {
            Ok(effects) => effects,
            Err(refusal) => panic!("{input:?} was refused: {refusal}"),
        };
        self.perform(effects);
    }

    pub(super) fn apply_if_accepted(&mut self, input: KernelInput) {
        self.coverage.add_input(&input);
        if let Ok(effects) = self.kernel.decide(self.now, input) {
            self.perform(effects);
        }
    }

    /// Applies an input that the kernel may refuse, and returns the refusal, which must not have changed the state.
    pub(super) fn try_apply(&mut self, input: KernelInput) -> Option<InputRefusal> {
        self.coverage.add_input(&input);
        // Cloning the state is the most expensive part, so only every fourth refusal, at random, is checked.
        let before = self.rng.one_in(4).then(|| self.kernel.clone());
        match self.kernel.decide(self.now, input) {
            Ok(effects) => {
                self.perform(effects);
                None
            }
            Err(refusal) => {
                assert!(!matches!(refusal, InputRefusal::InvalidEvent(_)), "{refusal}");
                let debug_text = format!("{refusal:?}");
                self.refusals.extend(debug_text.split(|c: char| !c.is_alphanumeric()).next().map(str::to_owned));
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
                        self.ended_runs.push(old);
                    }
                }
                KernelEffect::Stop { run, how: CancelMode::Abort } => {
                    if self.active.get(&run.task) == Some(run) {
                        self.active.remove(&run.task);
                    }
                    self.ended_runs.push(*run);
                }
                KernelEffect::Stop { how: CancelMode::WrapUp, .. }
                | KernelEffect::MayProceed(_)
                | KernelEffect::WaitOver { .. }
                | KernelEffect::AskOver { .. } => {}
            }
        }
        self.active
            .retain(|id, run| self.kernel.task(*id).is_some_and(|task| task.is_running() && task.run_id() == *run));
        self.audit.check_decision(&self.kernel, &self.limits, &effects);
    }
}

fn session_config(budget: Budget) -> SessionConfig {
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

/// The quote of a turn that costs nothing.
pub(super) const FREE_QUOTE: TurnQuote = TurnQuote {
    input: 0,
    estimated: 0,
    min_output: 0,
    expected_output: 0,
    max_output: 0,
    price: None,
    last_turn_reserve: Cost::ZERO,
};

pub(super) fn quota_parking(until: Timestamp) -> Parking {
    Parking { until: Some(until), why: ParkReason::Quota }
}

pub(super) fn turn_begun(quote: TurnQuote) -> RunUpdate {
    RunUpdate::TurnBegun { model: "script".into(), quote }
}

pub(super) fn turn_answered(turn: Turn, content: Vec<ContentBlock>, cost: Cost) -> RunUpdate {
    let (stop, usage, model) = (StopReason::End, Usage::default(), "script".into());
    RunUpdate::TurnAnswered { turn, content, stop, usage, cost, model }
}

pub(super) fn call_answered(turn: Turn, call: CallId) -> RunUpdate {
    RunUpdate::CallAnswered {
        turn,
        call,
        answer: ToolResult { status: ToolResultStatus::Done, text: "ok".into() },
        evidence: Vec::new(),
    }
}

pub(super) fn text_block(text: &str) -> ContentBlock {
    ContentBlock::Text { text: text.into() }
}

pub(super) fn call_block(id: &str) -> ContentBlock {
    ContentBlock::Call(ToolCallRequest { id: CallId(id.into()), tool: "shell".into(), input: "{}".into() })
}

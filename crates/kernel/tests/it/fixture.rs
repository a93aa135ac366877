//! A test fixture around a kernel, with helpers for common inputs. Effects are returned as short lines of text.

use bosun_kernel::*;
use protocol::*;

pub(crate) struct KernelFixture {
    pub(crate) kernel: Kernel,
    pub(crate) now: Timestamp,
    pub(crate) root: RunId,
}

pub(crate) fn id(n: u128) -> TaskId {
    TaskId::new(uuid::Uuid::from_u128(n))
}

pub(crate) fn tokens(tokens: u64) -> Cost {
    Cost { tokens, micros: 0 }
}

pub(crate) fn spec(kind: TaskType, parent: Option<TaskId>) -> TaskSpec {
    TaskSpec { parent, description: "work".into(), ..TaskSpec::new(kind, "task", "worker") }
}

pub(crate) fn session_config() -> SessionConfig {
    SessionConfig {
        cwd: "/w".into(),
        model: "m".into(),
        permission: PermissionMode::Default,
        rules: Vec::new(),
        roots: Vec::new(),
        ask_user: true,
        max_turns: None,
        root_turns: Some(3),
        limits: AgentLimits::default(),
        budget: Budget::default(),
        effort: None,
        list: ListName::Session,
        version: "0".into(),
    }
}

/// The report of a model request with so many input tokens.
pub(crate) fn begin(tokens: u64) -> RunUpdate {
    let quote = TurnQuote {
        input: tokens,
        estimated: 0,
        min_output: 0,
        expected_output: 0,
        max_output: 0,
        price: None,
        last_turn_reserve: Cost::ZERO,
    };
    RunUpdate::TurnBegun { model: "m".into(), quote }
}

pub(crate) fn parking(until: Timestamp) -> Parking {
    Parking { until: Some(until), why: ParkReason::Quota }
}

pub(crate) fn user_mail(to: TaskId, delivery: MailDelivery) -> NewMail {
    NewMail { to, from: Principal::User, delivery, body: MailBody::text("psst") }
}

/// The spawn of an agent by a tool call.
pub(crate) fn spawn_by_call(run: RunId, turn: Turn, call: &str, n: u128, mode: TaskMode) -> TaskSpawn {
    let spec = TaskSpec { mode, ..spec(TaskType::Agent, Some(run.task)) };
    let by = Some((run, turn, CallId(call.into())));
    TaskSpawn { id: id(n), spec, prompt: "go".into(), by, until: None, definition: None, redo_reason: None }
}

impl KernelFixture {
    /// A session whose root has read its first prompt.
    pub(crate) fn new() -> KernelFixture {
        KernelFixture::with(SessionLimits { live: 2, depth: 2, total: 9, ..SessionLimits::default() }, |_| {})
    }

    pub(crate) fn with(limits: SessionLimits, change: impl FnOnce(&mut TaskSpec)) -> KernelFixture {
        let root = RunId { task: id(1), activation: Activation(1), attempt: Attempt(1) };
        let mut kernel = KernelFixture { kernel: Kernel::new(limits), now: Timestamp(100), root };
        let mut spec =
            TaskSpec { on_complete: CompletionPolicy::Idle, name: "root".into(), ..spec(TaskType::Main, None) };
        change(&mut spec);
        kernel.ok(KernelInput::Open { root: id(1), spec, definition: None, config: session_config() });
        kernel.ok(KernelInput::Send(user_mail(id(1), MailDelivery::Steer)));
        kernel.report(root, RunUpdate::Boundary(BoundaryPoint::BetweenTurns));
        kernel
    }

    /// Applies an input that must be accepted, and returns its effects as text.
    pub(crate) fn ok(&mut self, input: KernelInput) -> Vec<String> {
        let effects = self.kernel.decide(self.now, input.clone());
        effects.unwrap_or_else(|refusal| panic!("{input:?}: {refusal}")).iter().map(effect_text).collect()
    }

    /// Applies an input that must be refused without changing the state, and returns the refusal's message.
    pub(crate) fn refused(&mut self, input: KernelInput) -> String {
        let before = self.kernel.clone();
        let refusal = self.kernel.decide(self.now, input).unwrap_err();
        assert_eq!(self.kernel, before);
        refusal.to_string()
    }

    pub(crate) fn report(&mut self, run: RunId, report: RunUpdate) -> Vec<String> {
        self.ok(KernelInput::Report(run, report))
    }

    pub(crate) fn task(&self, n: u128) -> &KernelTask {
        self.kernel.task(id(n)).unwrap()
    }

    pub(crate) fn state(&self, n: u128) -> &'static str {
        self.task(n).phase.state().as_str()
    }

    pub(crate) fn begin(&self) -> RunUpdate {
        begin(0)
    }

    /// Reports a turn whose answer calls these tools.
    pub(crate) fn answer_with_calls(&mut self, run: RunId, calls: &[&str]) -> Turn {
        self.report(run, self.begin());
        let turn = self.kernel.task(run.task).unwrap().turn;
        let call = |id: &&str| {
            ContentBlock::Call(ToolCallRequest { id: CallId((*id).into()), tool: "t".into(), input: "{}".into() })
        };
        self.report(run, turn_answered(turn, calls.iter().map(call).collect()));
        turn
    }

    /// Reports a turn whose answer calls these tools, and the start of the calls.
    pub(crate) fn answer_with_started_calls(&mut self, run: RunId, calls: &[&str]) -> Turn {
        let turn = self.answer_with_calls(run, calls);
        for call in calls {
            self.report(run, RunUpdate::CallStarted { turn, call: CallId((*call).into()) });
        }
        turn
    }

    /// Reports a turn whose answer is this text.
    pub(crate) fn answer_with_text(&mut self, run: RunId, text: &str) {
        self.report(run, self.begin());
        let turn = self.kernel.task(run.task).unwrap().turn;
        self.report(run, turn_answered(turn, vec![ContentBlock::Text { text: text.into() }]));
    }

    /// Reports a final message and the end of the run.
    pub(crate) fn complete(&mut self, run: RunId) -> Vec<String> {
        self.report(run, RunUpdate::Boundary(BoundaryPoint::End));
        self.answer_with_text(run, "done");
        self.report(run, RunUpdate::Ended { ending: RunEnding::Completed, text: "done".into() })
    }

    /// Starts a background child of the root, not through a call.
    pub(crate) fn child(&mut self, n: u128) -> Vec<String> {
        self.spawn(n, |_| {})
    }

    pub(crate) fn spawn(&mut self, n: u128, change: impl FnOnce(&mut TaskSpec)) -> Vec<String> {
        let mut spec = spec(TaskType::Agent, Some(id(1)));
        change(&mut spec);
        self.ok(KernelInput::Spawn(TaskSpawn {
            id: id(n),
            spec,
            prompt: "go".into(),
            by: None,
            until: None,
            definition: None,
            redo_reason: None,
        }))
    }

    /// Has a call of `run` start a child and wait for it.
    pub(crate) fn spawn_sync(&mut self, run: RunId, turn: Turn, call: &str, n: u128) -> Vec<String> {
        self.ok(KernelInput::Spawn(spawn_by_call(run, turn, call, n, TaskMode::Sync)))
    }

    /// Has a call of `run` start a child in the background.
    pub(crate) fn spawn_background(&mut self, run: RunId, turn: Turn, call: &str, n: u128) -> Vec<String> {
        self.ok(KernelInput::Spawn(spawn_by_call(run, turn, call, n, TaskMode::Background)))
    }

    /// The phase of a call of task `n`.
    pub(crate) fn call_phase(&self, n: u128, call: &str) -> Option<&CallPhase> {
        self.task(n).work.call(&CallId(call.into()))
    }

    pub(crate) fn run(&self, n: u128) -> RunId {
        self.task(n).run_id()
    }
}

pub(crate) fn turn_answered(turn: Turn, content: Vec<ContentBlock>) -> RunUpdate {
    let (stop, usage, cost, model) = (StopReason::End, Usage::default(), Cost::ZERO, "m".into());
    RunUpdate::TurnAnswered { turn, content, stop, usage, cost, model }
}

pub(crate) fn call_answered(turn: Turn, call: &str) -> RunUpdate {
    let answer = ToolResult { status: ToolResultStatus::Done, text: String::new() };
    RunUpdate::CallAnswered { turn, call: CallId(call.into()), answer, evidence: Vec::new() }
}

pub(crate) fn wait(turn: Turn, call: &str, on: &[u128], mode: WaitMode, until: Option<u64>) -> RunUpdate {
    let on = on.iter().map(|n| id(*n)).collect();
    RunUpdate::Wait { turn, call: CallId(call.into()), on, mode, until: until.map(Timestamp) }
}

/// An effect as a short line: the task's number and the event, or the effect and the run.
fn effect_text(effect: &KernelEffect) -> String {
    let n = |task: &TaskId| task.uuid().as_u128();
    let run = |run: &RunId| format!("{}:{}.{}", n(&run.task), run.activation.0, run.attempt.0);
    match effect {
        KernelEffect::Record(entry) => {
            let json = serde_json::to_value(&entry.event).unwrap();
            let detail = match &entry.event {
                Event::TaskFinished { outcome } | Event::ActivationEnded { outcome, .. } => {
                    format!(" {}", outcome.as_str())
                }
                Event::CallStarted { call } => format!(" {call}"),
                Event::CallAnswered { call, answer, .. } => format!(" {call} {:?}", answer.status),
                Event::WaitEnded { call, why } => format!(" {call} {why:?}"),
                Event::MailDelivered { mail } => format!(" {:?}", mail.iter().map(|mail| mail.0).collect::<Vec<_>>()),
                Event::CancelRequested { by, how, .. } => format!(" {by:?} {how:?}"),
                Event::TurnFailed { fault, cost, .. } => format!(" {fault:?} {}", cost.tokens),
                Event::MailAdmitted { body: MailBody::Result { task, activation }, .. } => {
                    format!(" result {}:{}", n(task), activation.0)
                }
                _other => String::new(),
            };
            format!("{} {}{detail}", n(&entry.task), json["type"].as_str().unwrap())
        }
        KernelEffect::Start(started) => format!("start {}", run(started)),
        KernelEffect::MayProceed(going) => format!("go {}", run(going)),
        KernelEffect::AskOver { run: over, call } => format!("ask over {} {call}", run(over)),
        KernelEffect::WaitOver { run: over, call, why } => format!("wait over {} {call} {why:?}", run(over)),
        KernelEffect::Stop { run: stopped, how } => format!("stop {} {how:?}", run(stopped)),
    }
}

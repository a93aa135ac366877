//! A session in a test's hands: inputs in few words, and effects as lines that compare whole.

use bosun_kernel::*;
use protocol::*;

pub(crate) struct Desk {
    pub(crate) kernel: Kernel,
    pub(crate) now: At,
    pub(crate) root: Run,
}

pub(crate) fn id(n: u128) -> TaskId {
    TaskId::new(uuid::Uuid::from_u128(n))
}

pub(crate) fn tokens(tokens: u64) -> Cost {
    Cost { tokens, micros: 0 }
}

pub(crate) fn spec(kind: Kind, parent: Option<TaskId>) -> TaskSpec {
    TaskSpec { parent, description: "work".into(), ..TaskSpec::new(kind, "task", "worker") }
}

pub(crate) fn terms() -> Terms {
    Terms {
        cwd: "/w".into(),
        model: "m".into(),
        permission: PermissionMode::Default,
        rules: Vec::new(),
        roots: Vec::new(),
        ask_user: true,
        max_turns: None,
        root_turns: Some(3),
        limits: TermLimits::default(),
        budget: Budget::default(),
        effort: None,
        list: ListName::Session,
        version: "0".into(),
    }
}

/// A question that uses so many tokens.
pub(crate) fn begin(tokens: u64) -> Report {
    let quote = Quote { input: tokens, estimated: 0, least: 0, expected: 0, most: 0, price: None, spare: Cost::ZERO };
    Report::TurnBegun { model: "m".into(), quote }
}

pub(crate) fn parking(until: At) -> Parking {
    Parking { until: Some(until), why: ParkReason::Quota }
}

pub(crate) fn letter(to: TaskId, delivery: Delivery) -> Letter {
    Letter { to, from: Origin::User, delivery, body: Body::text("psst") }
}

/// What starts an agent from a tool call.
pub(crate) fn by_call(run: Run, turn: Turn, call: &str, n: u128, mode: Mode) -> Spawn {
    let spec = TaskSpec { mode, ..spec(Kind::Agent, Some(run.task)) };
    let by = Some((run, turn, CallId(call.into())));
    Spawn { id: id(n), spec, prompt: "go".into(), by, until: None, definition: None }
}

impl Desk {
    /// A session whose root has heard its first prompt.
    pub(crate) fn new() -> Desk {
        Desk::with(Limits { live: 2, depth: 2, total: 9, ..Limits::default() }, |_| {})
    }

    pub(crate) fn with(limits: Limits, change: impl FnOnce(&mut TaskSpec)) -> Desk {
        let root = Run { task: id(1), activation: Activation(1), attempt: Attempt(1) };
        let mut desk = Desk { kernel: Kernel::new(limits), now: At(100), root };
        let mut spec = TaskSpec { rest: Rest::Idle, name: "root".into(), ..spec(Kind::Main, None) };
        change(&mut spec);
        desk.ok(Input::Open { root: id(1), spec, definition: None, terms: terms() });
        desk.ok(Input::Send(letter(id(1), Delivery::Steer)));
        desk.report(root, Report::Boundary(Point::Between));
        desk
    }

    pub(crate) fn ok(&mut self, input: Input) -> Vec<String> {
        let effects = self.kernel.apply(self.now, input.clone());
        effects.unwrap_or_else(|refusal| panic!("{input:?}: {refusal}")).iter().map(word).collect()
    }

    pub(crate) fn refused(&mut self, input: Input) -> String {
        let before = self.kernel.clone();
        let refusal = self.kernel.apply(self.now, input).unwrap_err();
        assert_eq!(self.kernel, before);
        refusal.to_string()
    }

    pub(crate) fn report(&mut self, run: Run, report: Report) -> Vec<String> {
        self.ok(Input::Report(run, report))
    }

    pub(crate) fn task(&self, n: u128) -> &Task {
        self.kernel.task(id(n)).unwrap()
    }

    pub(crate) fn state(&self, n: u128) -> &'static str {
        self.task(n).phase.state().word()
    }

    pub(crate) fn begin(&self) -> Report {
        begin(0)
    }

    /// The run asks its model and is told to call tools.
    pub(crate) fn calls(&mut self, run: Run, calls: &[&str]) -> Turn {
        self.report(run, self.begin());
        let turn = self.kernel.task(run.task).unwrap().turn;
        let call = |id: &&str| Block::Call(Call { id: CallId((*id).into()), tool: "t".into(), input: "{}".into() });
        self.report(run, answer(turn, calls.iter().map(call).collect()));
        turn
    }

    /// The same, with the calls started.
    pub(crate) fn runs(&mut self, run: Run, calls: &[&str]) -> Turn {
        let turn = self.calls(run, calls);
        for call in calls {
            self.report(run, Report::CallStarted { turn, call: CallId((*call).into()) });
        }
        turn
    }

    /// The run says something and calls nothing.
    pub(crate) fn says(&mut self, run: Run, text: &str) {
        self.report(run, self.begin());
        let turn = self.kernel.task(run.task).unwrap().turn;
        self.report(run, answer(turn, vec![Block::Text { text: text.into() }]));
    }

    /// The run says its last words and ends well.
    pub(crate) fn completes(&mut self, run: Run) -> Vec<String> {
        self.report(run, Report::Boundary(Point::End));
        self.says(run, "done");
        self.report(run, Report::Ended { ending: Ending::Completed, text: "done".into() })
    }

    /// Starts a background child of the root from outside.
    pub(crate) fn child(&mut self, n: u128) -> Vec<String> {
        self.spawn(n, |_| {})
    }

    pub(crate) fn spawn(&mut self, n: u128, change: impl FnOnce(&mut TaskSpec)) -> Vec<String> {
        let mut spec = spec(Kind::Agent, Some(id(1)));
        change(&mut spec);
        self.ok(Input::Spawn(Spawn { id: id(n), spec, prompt: "go".into(), by: None, until: None, definition: None }))
    }

    /// A call of `run` starts a child and waits for it.
    pub(crate) fn sync(&mut self, run: Run, turn: Turn, call: &str, n: u128) -> Vec<String> {
        self.ok(Input::Spawn(by_call(run, turn, call, n, Mode::Sync)))
    }

    /// A call of `run` starts a child in the background.
    pub(crate) fn background(&mut self, run: Run, turn: Turn, call: &str, n: u128) -> Vec<String> {
        self.ok(Input::Spawn(by_call(run, turn, call, n, Mode::Background)))
    }

    /// The phase of a call of task `n`.
    pub(crate) fn call(&self, n: u128, call: &str) -> Option<&CallPhase> {
        self.task(n).work.call(&CallId(call.into()))
    }

    pub(crate) fn run(&self, n: u128) -> Run {
        self.task(n).run()
    }
}

pub(crate) fn answer(turn: Turn, content: Vec<Block>) -> Report {
    let (stop, usage, cost, model) = (StopReason::End, Usage::default(), Cost::ZERO, "m".into());
    Report::TurnAnswered { turn, content, stop, usage, cost, model }
}

pub(crate) fn answered(turn: Turn, call: &str) -> Report {
    let answer = Answer { status: AnswerStatus::Done, text: String::new() };
    Report::CallAnswered { turn, call: CallId(call.into()), answer, evidence: Vec::new() }
}

pub(crate) fn wait(turn: Turn, call: &str, on: &[u128], mode: WaitMode, until: Option<u64>) -> Report {
    let on = on.iter().map(|n| id(*n)).collect();
    Report::Wait { turn, call: CallId(call.into()), on, mode, until: until.map(At) }
}

/// An effect in a few words: the task's number, and what happens to it.
fn word(effect: &Effect) -> String {
    let n = |task: &TaskId| task.uuid().as_u128();
    let run = |run: &Run| format!("{}:{}.{}", n(&run.task), run.activation.0, run.attempt.0);
    match effect {
        Effect::Record(entry) => {
            let json = serde_json::to_value(&entry.event).unwrap();
            let detail = match &entry.event {
                Event::TaskFinished { outcome } | Event::ActivationEnded { outcome, .. } => {
                    format!(" {}", outcome.word())
                }
                Event::CallStarted { call } => format!(" {call}"),
                Event::CallAnswered { call, answer, .. } => format!(" {call} {:?}", answer.status),
                Event::WaitEnded { call, why } => format!(" {call} {why:?}"),
                Event::MailDelivered { mail } => format!(" {:?}", mail.iter().map(|mail| mail.0).collect::<Vec<_>>()),
                Event::CancelRequested { by, how, .. } => format!(" {by:?} {how:?}"),
                Event::TurnFailed { fault, cost, .. } => format!(" {fault:?} {}", cost.tokens),
                Event::MailAdmitted { body: Body::Result { task, activation }, .. } => {
                    format!(" result {}:{}", n(task), activation.0)
                }
                _other => String::new(),
            };
            format!("{} {}{detail}", n(&entry.task), json["type"].as_str().unwrap())
        }
        Effect::Start(started) => format!("start {}", run(started)),
        Effect::Go(going) => format!("go {}", run(going)),
        Effect::AskOver { run: over, call } => format!("ask over {} {call}", run(over)),
        Effect::WaitOver { run: over, call, why } => format!("wait over {} {call} {why:?}", run(over)),
        Effect::Stop { run: stopped, how } => format!("stop {} {how:?}", run(stopped)),
    }
}

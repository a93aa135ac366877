//! Calls that wait for a person.

use bosun_kernel::*;
use protocol::*;

use crate::fixture::*;

fn permission(id: &str, call: &str, until: Option<u64>) -> Ask {
    let (tool, input, reason) = ("shell".into(), "{}".into(), "no rule".into());
    let subject = AskSubject::Permission { tool, input, reason, rules: Vec::new() };
    Ask { id: AskId(id.into()), call: CallId(call.into()), subject, until_at: until.map(Timestamp) }
}

fn question(id: &str, call: &str) -> Ask {
    let subject = AskSubject::Question { question: "which?".into(), choices: Vec::new() };
    Ask { subject, ..permission(id, call, None) }
}

fn ask(turn: Turn, ask: Ask) -> RunUpdate {
    RunUpdate::Ask { turn, ask }
}

fn decide(id: &str, decision: AskDecision) -> KernelInput {
    KernelInput::Decide { ask: AskId(id.into()), decision, by: DecidedBy::User }
}

fn allow() -> AskDecision {
    AskDecision::Allow { rules: Vec::new(), input: None }
}

fn deny() -> AskDecision {
    AskDecision::Deny { message: "no".into() }
}

fn start(turn: Turn, call: &str) -> RunUpdate {
    RunUpdate::CallStarted { turn, call: CallId(call.into()) }
}

/// A session whose root has called `calls`, each of which asks for permission under its own name.
fn asking(calls: &[&str]) -> (KernelFixture, Turn) {
    let mut kernel = KernelFixture::new();
    let turn = kernel.calls(kernel.root, calls);
    for call in calls {
        kernel.report(kernel.root, ask(turn, permission(call, call, None)));
    }
    (kernel, turn)
}

#[test]
fn allowing_one_releases_exactly_one() {
    let (mut kernel, turn) = asking(&["a", "b", "c"]);
    assert_eq!(kernel.kernel.open_asks(), 3);
    assert_eq!(kernel.ok(decide("b", allow())), ["1 askDecided", "ask over 1:1.1 b"]);
    for call in ["a", "c"] {
        let not_open = format!("the call {call} is not open for this");
        assert_eq!(kernel.refused(KernelInput::Report(kernel.root, start(turn, call))), not_open);
    }
    kernel.report(kernel.root, start(turn, "b"));
    assert_eq!(kernel.refused(KernelInput::Report(kernel.root, start(turn, "b"))), "the call b is not open for this");
    assert_eq!(kernel.kernel.open_asks(), 2);
}

#[test]
fn a_denied_call_never_starts_and_is_answered() {
    let (mut kernel, turn) = asking(&["a"]);
    kernel.ok(decide("a", deny()));
    assert_eq!(kernel.refused(KernelInput::Report(kernel.root, start(turn, "a"))), "the call a is not open for this");
    kernel.report(kernel.root, answered(turn, "a"));
}

#[test]
fn an_ask_is_decided_once_and_in_a_way_that_fits() {
    let (mut kernel, turn) = asking(&["a", "b"]);
    let unfit = "a cannot be decided like this: a call is allowed or denied, a question answered or denied";
    assert_eq!(kernel.refused(decide("a", AskDecision::Reply { text: "yes".into() })), unfit);
    kernel.ok(decide("a", deny()));
    let over = "there is no open ask a: it was decided, or its call has ended";
    assert_eq!(kernel.refused(decide("a", allow())), over);
    assert!(kernel.refused(decide("ab", allow())).starts_with("there is no open ask ab"));
    let again = KernelInput::Report(kernel.root, ask(turn, permission("c", "b", None)));
    assert_eq!(kernel.refused(again), "the call b is not open for this", "a call asks once");
}

#[test]
fn two_open_asks_never_share_a_name() {
    let mut kernel = KernelFixture::new();
    let turn = kernel.calls(kernel.root, &["a", "b"]);
    kernel.report(kernel.root, ask(turn, permission("same", "a", None)));
    let second = KernelInput::Report(kernel.root, ask(turn, permission("same", "b", None)));
    assert_eq!(kernel.refused(second), "the call b is not open for this");
}

#[test]
fn a_question_comes_after_the_start_and_its_reply_is_kept_for_the_call() {
    let mut kernel = KernelFixture::new();
    let turn = kernel.calls(kernel.root, &["q"]);
    let early = KernelInput::Report(kernel.root, ask(turn, question("x", "q")));
    assert_eq!(kernel.refused(early), "the call q is not open for this");
    kernel.report(kernel.root, start(turn, "q"));
    kernel.report(kernel.root, ask(turn, question("x", "q")));
    assert!(kernel.refused(decide("x", allow())).starts_with("x cannot be decided like this"));
    // Its owner changes between the question and the answer, and again before the answer is used.
    for fence in [2, 3] {
        let adopted = kernel.ok(KernelInput::Adopt { fence: Fence(fence), config: terms() });
        assert!(!adopted.iter().any(|effect| effect.contains("callAnswered")), "{adopted:?}");
        if fence == 2 {
            kernel.ok(decide("x", AskDecision::Reply { text: "the left one".into() }));
        }
        kernel.ok(KernelInput::Resume);
    }
    let decided = DecidedAsk {
        ask: AskId("x".into()),
        decision: AskDecision::Reply { text: "the left one".into() },
        by: DecidedBy::User,
        call_started: true,
    };
    assert_eq!(kernel.task(1).work.call(&CallId("q".into())), Some(&CallPhase::Decided(decided)));
    assert!(kernel.refused(KernelInput::Report(kernel.run(1), start(turn, "q"))).contains("not open"));
    kernel.report(kernel.run(1), answered(turn, "q"));
}

#[test]
fn whoever_waits_for_a_person_holds_no_slot() {
    let mut kernel =
        KernelFixture::with(SessionLimits { live: 1, depth: 2, total: 9, ..SessionLimits::default() }, |_| {});
    kernel.child(2);
    kernel.child(3);
    let run = kernel.run(2);
    kernel.report(run, RunUpdate::Boundary(BoundaryPoint::Between));
    let turn = kernel.calls(run, &["a", "b"]);
    let asked = kernel.report(run, ask(turn, permission("a", "a", None)));
    assert_eq!(asked, ["2 askOpened", "3 activationStarted", "start 3:1.1"]);
    kernel.report(run, ask(turn, permission("b", "b", None)));
    assert_eq!(kernel.ok(decide("a", allow())), ["2 askDecided", "ask over 2:1.1 a"]);
    assert_eq!(kernel.task(2).phase, TaskPhase::Running(SlotStatus::Lent), "it still waits for the other");
    kernel.ok(decide("b", deny()));
    assert_eq!(kernel.task(2).phase, TaskPhase::Running(SlotStatus::Returning));
    let third = kernel.run(3);
    kernel.report(third, RunUpdate::Boundary(BoundaryPoint::Between));
    let ended = kernel.completes(third);
    assert!(ended.ends_with(&["2 slotRegained".into(), "go 2:1.1".into()]), "{ended:?}");
}

#[test]
fn nobody_is_waited_for_when_the_deadline_is_now() {
    let mut kernel = KernelFixture::new();
    let turn = kernel.calls(kernel.root, &["a"]);
    let asked = kernel.report(kernel.root, ask(turn, permission("a", "a", Some(100))));
    assert_eq!(asked, ["1 askOpened", "1 askDecided", "ask over 1:1.1 a"]);
    let Some(CallPhase::Decided(decided)) = kernel.task(1).work.call(&CallId("a".into())) else { panic!() };
    assert_eq!((&decided.decision, decided.by), (&AskDecision::Deny { message: String::new() }, DecidedBy::Deadline));
}

#[test]
fn a_deadline_denies_what_is_open_and_nothing_else() {
    let mut kernel = KernelFixture::new();
    let turn = kernel.calls(kernel.root, &["a", "b", "c"]);
    for (call, until) in [("a", Some(150)), ("b", Some(200)), ("c", None)] {
        kernel.report(kernel.root, ask(turn, permission(call, call, until)));
    }
    assert_eq!(kernel.kernel.next_alarm(), Some(Timestamp(150)));
    kernel.now = Timestamp(150);
    assert_eq!(kernel.ok(KernelInput::Tick), ["1 askDecided", "ask over 1:1.1 a"]);
    kernel.ok(decide("b", allow()));
    assert_eq!((kernel.kernel.next_alarm(), kernel.kernel.open_asks()), (None, 1));
    kernel.now = Timestamp(1_000);
    assert!(kernel.ok(KernelInput::Tick).is_empty());
}

#[test]
fn what_was_decided_without_an_owner_comes_before_the_deadline() {
    let mut kernel = KernelFixture::new();
    let turn = kernel.calls(kernel.root, &["a", "b"]);
    for call in ["a", "b"] {
        kernel.report(kernel.root, ask(turn, permission(call, call, Some(150))));
    }
    kernel.ok(KernelInput::Adopt { fence: Fence(2), config: terms() });
    kernel.now = Timestamp(5_000);
    assert_eq!(kernel.kernel.next_alarm(), None, "nobody could decide while nobody owned it");
    assert!(kernel.ok(KernelInput::Tick).is_empty());
    assert_eq!(kernel.ok(decide("a", allow())), ["1 askDecided"], "nobody is there to hear it");
    kernel.ok(KernelInput::Resume);
    assert_eq!(kernel.kernel.next_alarm(), Some(Timestamp(150)));
    assert_eq!(kernel.ok(KernelInput::Tick), ["1 askDecided", "ask over 1:1.2 b"]);
    kernel.report(kernel.run(1), start(turn, "a"));
    assert!(kernel.refused(KernelInput::Report(kernel.run(1), start(turn, "b"))).contains("not open"));
}

/// Whatever answers the call takes the question back.
#[track_caller]
fn withdrawn(kernel: &mut KernelFixture, by: KernelInput) {
    kernel.ok(by);
    assert_eq!(kernel.kernel.open_asks(), 0);
    assert!(kernel.refused(decide("a", allow())).starts_with("there is no open ask a:"));
}

#[test]
fn an_ask_ends_with_its_call() {
    let root = id(1);
    let ends = [
        KernelInput::Send(letter(root, MailDelivery::Interrupt)),
        KernelInput::Interrupt(root),
        KernelInput::Stop { by: CancelBy::User },
        KernelInput::Cancel { task: root, by: CancelBy::User, how: CancelMode::Abort },
        KernelInput::Fork { from: SessionId::new(uuid::Uuid::from_u128(9)) },
    ];
    for end in ends {
        let (mut kernel, _) = asking(&["a"]);
        withdrawn(&mut kernel, end.clone());
        let (mut kernel, _) = asking(&["a"]);
        kernel.ok(KernelInput::Adopt { fence: Fence(2), config: terms() });
        match end {
            // Mail does not break off what nobody runs.
            KernelInput::Send(_) => {}
            end => withdrawn(&mut kernel, end),
        }
    }
    let (mut kernel, turn) = asking(&["a"]);
    let run = kernel.root;
    withdrawn(&mut kernel, KernelInput::Report(run, RunUpdate::CallsDropped { turn }));
    let (mut kernel, turn) = asking(&["a"]);
    withdrawn(&mut kernel, KernelInput::Report(run, answered(turn, "a")));
}

#[test]
fn wrapping_up_lets_a_person_decide_first() {
    let mut kernel = KernelFixture::new();
    kernel.child(2);
    let run = kernel.run(2);
    kernel.report(run, RunUpdate::Boundary(BoundaryPoint::Between));
    let turn = kernel.calls(run, &["a"]);
    kernel.report(run, ask(turn, permission("a", "a", None)));
    let told = kernel.ok(KernelInput::Cancel { task: id(2), by: CancelBy::User, how: CancelMode::WrapUp });
    assert_eq!(told, ["2 cancelRequested User WrapUp", "stop 2:1.1 WrapUp"]);
    assert_eq!(kernel.kernel.open_asks(), 1);
    kernel.ok(decide("a", deny()));
    kernel.report(run, answered(turn, "a"));
}

#[test]
fn a_call_is_rewritten_only_before_anybody_was_asked_about_it() {
    let mut kernel = KernelFixture::new();
    let turn = kernel.calls(kernel.root, &["a", "b"]);
    let rewrite = |call: &str| RunUpdate::CallRewritten { turn, call: CallId(call.into()), input: "{}".into() };
    kernel.report(kernel.root, rewrite("a"));
    kernel.report(kernel.root, ask(turn, permission("a", "a", None)));
    kernel.report(kernel.root, start(turn, "b"));
    for call in ["a", "b", "c"] {
        let not_open = format!("the call {call} is not open for this");
        assert_eq!(kernel.refused(KernelInput::Report(kernel.root, rewrite(call))), not_open);
    }
}

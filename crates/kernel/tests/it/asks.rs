//! Calls that wait for a person's decision.

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

/// A session whose root has made `calls`, each with an open permission ask of the same id.
fn asking(calls: &[&str]) -> (KernelFixture, Turn) {
    let mut kernel = KernelFixture::new();
    let turn = kernel.answer_with_calls(kernel.root, calls);
    for call in calls {
        kernel.report(kernel.root, ask(turn, permission(call, call, None)));
    }
    (kernel, turn)
}

#[test]
fn allowing_one_call_starts_only_that_call() {
    let (mut kernel, turn) = asking(&["a", "b", "c"]);
    assert_eq!(kernel.kernel.open_asks(), 3);
    assert_eq!(kernel.ok(decide("b", allow())), ["1 askDecided", "ask over 1:1.1 b"]);
    for call in ["a", "c"] {
        let refusal = format!("the call {call} is not in a state that allows this");
        assert_eq!(kernel.refused(KernelInput::Report(kernel.root, start(turn, call))), refusal);
    }
    kernel.report(kernel.root, start(turn, "b"));
    assert_eq!(
        kernel.refused(KernelInput::Report(kernel.root, start(turn, "b"))),
        "the call b is not in a state that allows this"
    );
    assert_eq!(kernel.kernel.open_asks(), 2);
}

#[test]
fn a_denied_call_is_answered_without_starting() {
    let (mut kernel, turn) = asking(&["a"]);
    kernel.ok(decide("a", deny()));
    assert_eq!(
        kernel.refused(KernelInput::Report(kernel.root, start(turn, "a"))),
        "the call a is not in a state that allows this"
    );
    kernel.report(kernel.root, call_answered(turn, "a"));
}

#[test]
fn an_ask_is_decided_once_with_a_valid_decision() {
    let (mut kernel, turn) = asking(&["a", "b"]);
    let mismatch =
        "the ask a cannot be decided like this: allow a call, answer a question, approve a plan, or deny any of them";
    assert_eq!(kernel.refused(decide("a", AskDecision::Reply { text: "yes".into() })), mismatch);
    kernel.ok(decide("a", deny()));
    let over = "there is no open ask a: it was decided, or its call has ended";
    assert_eq!(kernel.refused(decide("a", allow())), over);
    assert!(kernel.refused(decide("ab", allow())).starts_with("there is no open ask ab"));
    let again = KernelInput::Report(kernel.root, ask(turn, permission("c", "b", None)));
    assert_eq!(kernel.refused(again), "the call b is not in a state that allows this", "a call asks once");
}

#[test]
fn two_open_asks_cannot_have_the_same_id() {
    let mut kernel = KernelFixture::new();
    let turn = kernel.answer_with_calls(kernel.root, &["a", "b"]);
    kernel.report(kernel.root, ask(turn, permission("same", "a", None)));
    let second = KernelInput::Report(kernel.root, ask(turn, permission("same", "b", None)));
    assert_eq!(kernel.refused(second), "the call b is not in a state that allows this");
}

#[test]
fn only_a_started_call_asks_a_question_and_the_reply_survives_new_owners() {
    let mut kernel = KernelFixture::new();
    let turn = kernel.answer_with_calls(kernel.root, &["q"]);
    let early = KernelInput::Report(kernel.root, ask(turn, question("x", "q")));
    assert_eq!(kernel.refused(early), "the call q is not in a state that allows this");
    kernel.report(kernel.root, start(turn, "q"));
    kernel.report(kernel.root, ask(turn, question("x", "q")));
    assert!(kernel.refused(decide("x", allow())).starts_with("the ask x cannot be decided like this"));
    // The session's owner changes between the question and the reply, and again before the reply is used.
    for fence in [2, 3] {
        let adopted = kernel.ok(KernelInput::Adopt { fence: Fence(fence), config: session_config() });
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
    assert!(kernel.refused(KernelInput::Report(kernel.run(1), start(turn, "q"))).contains("not in a state"));
    kernel.report(kernel.run(1), call_answered(turn, "q"));
}

#[test]
fn a_task_that_waits_for_a_person_holds_no_slot() {
    let mut kernel =
        KernelFixture::with(SessionLimits { live: 1, depth: 2, total: 9, ..SessionLimits::default() }, |_| {});
    kernel.child(2);
    kernel.child(3);
    let run = kernel.run(2);
    kernel.report(run, RunUpdate::Boundary(BoundaryPoint::BetweenTurns));
    let turn = kernel.answer_with_calls(run, &["a", "b"]);
    let asked = kernel.report(run, ask(turn, permission("a", "a", None)));
    assert_eq!(asked, ["2 askOpened", "3 activationStarted", "start 3:1.1"]);
    kernel.report(run, ask(turn, permission("b", "b", None)));
    assert_eq!(kernel.ok(decide("a", allow())), ["2 askDecided", "ask over 2:1.1 a"]);
    assert_eq!(kernel.task(2).phase, TaskPhase::Running(SlotStatus::Lent), "it still waits for the other");
    kernel.ok(decide("b", deny()));
    assert_eq!(kernel.task(2).phase, TaskPhase::Running(SlotStatus::Returning));
    let third = kernel.run(3);
    kernel.report(third, RunUpdate::Boundary(BoundaryPoint::BetweenTurns));
    let ended = kernel.complete(third);
    assert!(ended.ends_with(&["2 slotRegained".into(), "go 2:1.1".into()]), "{ended:?}");
}

#[test]
fn an_ask_whose_deadline_is_now_is_denied_at_once() {
    let mut kernel = KernelFixture::new();
    let turn = kernel.answer_with_calls(kernel.root, &["a"]);
    let asked = kernel.report(kernel.root, ask(turn, permission("a", "a", Some(kernel.now.0))));
    assert_eq!(asked, ["1 askOpened", "1 askDecided", "ask over 1:1.1 a"]);
    let Some(CallPhase::Decided(decided)) = kernel.task(1).work.call(&CallId("a".into())) else { panic!() };
    assert_eq!((&decided.decision, decided.by), (&AskDecision::Deny { message: String::new() }, DecidedBy::Deadline));
}

#[test]
fn a_deadline_denies_only_open_asks() {
    let mut kernel = KernelFixture::new();
    let turn = kernel.answer_with_calls(kernel.root, &["a", "b", "c"]);
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
fn between_adopt_and_resume_asks_can_be_decided_after_their_deadline() {
    let mut kernel = KernelFixture::new();
    let turn = kernel.answer_with_calls(kernel.root, &["a", "b"]);
    for call in ["a", "b"] {
        kernel.report(kernel.root, ask(turn, permission(call, call, Some(150))));
    }
    kernel.ok(KernelInput::Adopt { fence: Fence(2), config: session_config() });
    kernel.now = Timestamp(5_000);
    assert_eq!(kernel.kernel.next_alarm(), None, "no deadline applies before the resume");
    assert!(kernel.ok(KernelInput::Tick).is_empty());
    assert_eq!(kernel.ok(decide("a", allow())), ["1 askDecided"], "no run can be notified");
    kernel.ok(KernelInput::Resume);
    assert_eq!(kernel.kernel.next_alarm(), Some(Timestamp(150)));
    assert_eq!(kernel.ok(KernelInput::Tick), ["1 askDecided", "ask over 1:1.2 b"]);
    kernel.report(kernel.run(1), start(turn, "a"));
    assert!(kernel.refused(KernelInput::Report(kernel.run(1), start(turn, "b"))).contains("not in a state"));
}

/// Asserts that an input that ends the call `a` also withdraws its ask.
#[track_caller]
fn assert_withdraws_ask(kernel: &mut KernelFixture, input: KernelInput) {
    kernel.ok(input);
    assert_eq!(kernel.kernel.open_asks(), 0);
    assert!(kernel.refused(decide("a", allow())).starts_with("there is no open ask a:"));
}

#[test]
fn an_ask_ends_with_its_call() {
    let root = id(1);
    let ends = [
        KernelInput::Send(user_mail(root, MailDelivery::Interrupt)),
        KernelInput::Interrupt(root),
        KernelInput::Stop { by: CancelBy::User },
        KernelInput::Cancel { task: root, by: CancelBy::User, how: CancelMode::Abort },
        KernelInput::Fork { from: SessionId::new(uuid::Uuid::from_u128(9)) },
    ];
    for end in ends {
        let (mut kernel, _) = asking(&["a"]);
        assert_withdraws_ask(&mut kernel, end.clone());
        let (mut kernel, _) = asking(&["a"]);
        kernel.ok(KernelInput::Adopt { fence: Fence(2), config: session_config() });
        match end {
            // After `Adopt`, the task does not run, so mail has nothing to interrupt.
            KernelInput::Send(_) => {}
            end => assert_withdraws_ask(&mut kernel, end),
        }
    }
    let (mut kernel, turn) = asking(&["a"]);
    let run = kernel.root;
    assert_withdraws_ask(&mut kernel, KernelInput::Report(run, RunUpdate::CallsOutOfTime { turn }));
    let (mut kernel, turn) = asking(&["a"]);
    assert_withdraws_ask(&mut kernel, KernelInput::Report(run, call_answered(turn, "a")));
}

#[test]
fn an_ask_stays_open_when_its_task_wraps_up() {
    let mut kernel = KernelFixture::new();
    kernel.child(2);
    let run = kernel.run(2);
    kernel.report(run, RunUpdate::Boundary(BoundaryPoint::BetweenTurns));
    let turn = kernel.answer_with_calls(run, &["a"]);
    kernel.report(run, ask(turn, permission("a", "a", None)));
    let effects = kernel.ok(KernelInput::Cancel { task: id(2), by: CancelBy::User, how: CancelMode::WrapUp });
    assert_eq!(effects, ["2 cancelRequested User WrapUp", "stop 2:1.1 WrapUp"]);
    assert_eq!(kernel.kernel.open_asks(), 1);
    kernel.ok(decide("a", deny()));
    kernel.report(run, call_answered(turn, "a"));
}

#[test]
fn a_call_is_rewritten_only_before_its_ask() {
    let mut kernel = KernelFixture::new();
    let turn = kernel.answer_with_calls(kernel.root, &["a", "b"]);
    let rewrite = |call: &str| RunUpdate::CallRewritten { turn, call: CallId(call.into()), input: "{}".into() };
    kernel.report(kernel.root, rewrite("a"));
    kernel.report(kernel.root, ask(turn, permission("a", "a", None)));
    kernel.report(kernel.root, start(turn, "b"));
    for call in ["a", "b", "c"] {
        let refusal = format!("the call {call} is not in a state that allows this");
        assert_eq!(kernel.refused(KernelInput::Report(kernel.root, rewrite(call))), refusal);
    }
}

//! Calls that wait for a person.

use bosun_kernel::*;
use protocol::*;

use crate::desk::*;

fn permission(id: &str, call: &str, until: Option<u64>) -> Ask {
    let (tool, input, reason) = ("shell".into(), "{}".into(), "no rule".into());
    let subject = Subject::Permission { tool, input, reason, rules: Vec::new() };
    Ask { id: AskId(id.into()), call: CallId(call.into()), subject, until_at: until.map(At) }
}

fn question(id: &str, call: &str) -> Ask {
    let subject = Subject::Question { question: "which?".into(), choices: Vec::new() };
    Ask { subject, ..permission(id, call, None) }
}

fn ask(turn: Turn, ask: Ask) -> Report {
    Report::Ask { turn, ask }
}

fn decide(id: &str, decision: Decision) -> Input {
    Input::Decide { ask: AskId(id.into()), decision, by: DecidedBy::User }
}

fn allow() -> Decision {
    Decision::Allow { rules: Vec::new(), input: None }
}

fn deny() -> Decision {
    Decision::Deny { words: "no".into() }
}

fn start(turn: Turn, call: &str) -> Report {
    Report::CallStarted { turn, call: CallId(call.into()) }
}

/// A session whose root has called `calls`, each of which asks for permission under its own name.
fn asking(calls: &[&str]) -> (Desk, Turn) {
    let mut desk = Desk::new();
    let turn = desk.calls(desk.root, calls);
    for call in calls {
        desk.report(desk.root, ask(turn, permission(call, call, None)));
    }
    (desk, turn)
}

#[test]
fn allowing_one_releases_exactly_one() {
    let (mut desk, turn) = asking(&["a", "b", "c"]);
    assert_eq!(desk.kernel.open_asks(), 3);
    assert_eq!(desk.ok(decide("b", allow())), ["1 askDecided", "ask over 1:1.1 b"]);
    for call in ["a", "c"] {
        let not_open = format!("the call {call} is not open for this");
        assert_eq!(desk.refused(Input::Report(desk.root, start(turn, call))), not_open);
    }
    desk.report(desk.root, start(turn, "b"));
    assert_eq!(desk.refused(Input::Report(desk.root, start(turn, "b"))), "the call b is not open for this");
    assert_eq!(desk.kernel.open_asks(), 2);
}

#[test]
fn a_denied_call_never_starts_and_is_answered() {
    let (mut desk, turn) = asking(&["a"]);
    desk.ok(decide("a", deny()));
    assert_eq!(desk.refused(Input::Report(desk.root, start(turn, "a"))), "the call a is not open for this");
    desk.report(desk.root, answered(turn, "a"));
}

#[test]
fn an_ask_is_decided_once_and_in_a_way_that_fits() {
    let (mut desk, turn) = asking(&["a", "b"]);
    let unfit = "a cannot be decided like this: a call is allowed or denied, a question answered or denied";
    assert_eq!(desk.refused(decide("a", Decision::Reply { text: "yes".into() })), unfit);
    desk.ok(decide("a", deny()));
    let over = "nothing called a waits for a decision: it was decided, or its call has ended";
    assert_eq!(desk.refused(decide("a", allow())), over);
    assert!(desk.refused(decide("ab", allow())).starts_with("nothing called ab"));
    let again = Input::Report(desk.root, ask(turn, permission("c", "b", None)));
    assert_eq!(desk.refused(again), "the call b is not open for this", "a call asks once");
}

#[test]
fn two_open_asks_never_share_a_name() {
    let mut desk = Desk::new();
    let turn = desk.calls(desk.root, &["a", "b"]);
    desk.report(desk.root, ask(turn, permission("same", "a", None)));
    let second = Input::Report(desk.root, ask(turn, permission("same", "b", None)));
    assert_eq!(desk.refused(second), "the call b is not open for this");
}

#[test]
fn a_question_comes_after_the_start_and_its_reply_is_kept_for_the_call() {
    let mut desk = Desk::new();
    let turn = desk.calls(desk.root, &["q"]);
    let early = Input::Report(desk.root, ask(turn, question("x", "q")));
    assert_eq!(desk.refused(early), "the call q is not open for this");
    desk.report(desk.root, start(turn, "q"));
    desk.report(desk.root, ask(turn, question("x", "q")));
    assert!(desk.refused(decide("x", allow())).starts_with("x cannot be decided like this"));
    // Its owner changes between the question and the answer, and again before the answer is used.
    for fence in [2, 3] {
        let adopted = desk.ok(Input::Adopt { fence: Fence(fence), terms: terms() });
        assert!(!adopted.iter().any(|effect| effect.contains("callAnswered")), "{adopted:?}");
        if fence == 2 {
            desk.ok(decide("x", Decision::Reply { text: "the left one".into() }));
        }
        desk.ok(Input::Resume);
    }
    let decided = Decided {
        ask: AskId("x".into()),
        decision: Decision::Reply { text: "the left one".into() },
        by: DecidedBy::User,
        begun: true,
    };
    assert_eq!(desk.task(1).work.call(&CallId("q".into())), Some(&CallPhase::Decided(decided)));
    assert!(desk.refused(Input::Report(desk.run(1), start(turn, "q"))).contains("not open"));
    desk.report(desk.run(1), answered(turn, "q"));
}

#[test]
fn whoever_waits_for_a_person_holds_no_slot() {
    let mut desk = Desk::with(Limits { live: 1, depth: 2, total: 9, ..Limits::default() }, |_| {});
    desk.child(2);
    desk.child(3);
    let run = desk.run(2);
    desk.report(run, Report::Boundary(Point::Between));
    let turn = desk.calls(run, &["a", "b"]);
    let asked = desk.report(run, ask(turn, permission("a", "a", None)));
    assert_eq!(asked, ["2 asked", "3 activationStarted", "start 3:1.1"]);
    desk.report(run, ask(turn, permission("b", "b", None)));
    assert_eq!(desk.ok(decide("a", allow())), ["2 askDecided", "ask over 2:1.1 a"]);
    assert_eq!(desk.task(2).phase, Phase::Running(Footing::Lent), "it still waits for the other");
    desk.ok(decide("b", deny()));
    assert_eq!(desk.task(2).phase, Phase::Running(Footing::Returning));
    let third = desk.run(3);
    desk.report(third, Report::Boundary(Point::Between));
    let ended = desk.completes(third);
    assert!(ended.ends_with(&["2 slotRegained".into(), "go 2:1.1".into()]), "{ended:?}");
}

#[test]
fn nobody_is_waited_for_when_the_deadline_is_now() {
    let mut desk = Desk::new();
    let turn = desk.calls(desk.root, &["a"]);
    let asked = desk.report(desk.root, ask(turn, permission("a", "a", Some(100))));
    assert_eq!(asked, ["1 asked", "1 askDecided", "ask over 1:1.1 a"]);
    let Some(CallPhase::Decided(decided)) = desk.task(1).work.call(&CallId("a".into())) else { panic!() };
    assert_eq!((&decided.decision, decided.by), (&Decision::Deny { words: String::new() }, DecidedBy::Deadline));
}

#[test]
fn a_deadline_denies_what_is_open_and_nothing_else() {
    let mut desk = Desk::new();
    let turn = desk.calls(desk.root, &["a", "b", "c"]);
    for (call, until) in [("a", Some(150)), ("b", Some(200)), ("c", None)] {
        desk.report(desk.root, ask(turn, permission(call, call, until)));
    }
    assert_eq!(desk.kernel.alarm(), Some(At(150)));
    desk.now = At(150);
    assert_eq!(desk.ok(Input::Tick), ["1 askDecided", "ask over 1:1.1 a"]);
    desk.ok(decide("b", allow()));
    assert_eq!((desk.kernel.alarm(), desk.kernel.open_asks()), (None, 1));
    desk.now = At(1_000);
    assert!(desk.ok(Input::Tick).is_empty());
}

#[test]
fn what_was_decided_without_an_owner_comes_before_the_deadline() {
    let mut desk = Desk::new();
    let turn = desk.calls(desk.root, &["a", "b"]);
    for call in ["a", "b"] {
        desk.report(desk.root, ask(turn, permission(call, call, Some(150))));
    }
    desk.ok(Input::Adopt { fence: Fence(2), terms: terms() });
    desk.now = At(5_000);
    assert_eq!(desk.kernel.alarm(), None, "nobody could decide while nobody owned it");
    assert!(desk.ok(Input::Tick).is_empty());
    assert_eq!(desk.ok(decide("a", allow())), ["1 askDecided"], "nobody is there to hear it");
    desk.ok(Input::Resume);
    assert_eq!(desk.kernel.alarm(), Some(At(150)));
    assert_eq!(desk.ok(Input::Tick), ["1 askDecided", "ask over 1:1.2 b"]);
    desk.report(desk.run(1), start(turn, "a"));
    assert!(desk.refused(Input::Report(desk.run(1), start(turn, "b"))).contains("not open"));
}

/// Whatever answers the call takes the question back.
#[track_caller]
fn withdrawn(desk: &mut Desk, by: Input) {
    desk.ok(by);
    assert_eq!(desk.kernel.open_asks(), 0);
    assert!(desk.refused(decide("a", allow())).starts_with("nothing called a waits"));
}

#[test]
fn an_ask_ends_with_its_call() {
    let root = id(1);
    let ends = [
        Input::Send(letter(root, Delivery::Interrupt)),
        Input::Interrupt(root),
        Input::Stop { by: CancelBy::User },
        Input::Cancel { task: root, by: CancelBy::User, how: Cancel::Abort },
        Input::Fork { from: SessionId::new(uuid::Uuid::from_u128(9)) },
    ];
    for end in ends {
        let (mut desk, _) = asking(&["a"]);
        withdrawn(&mut desk, end.clone());
        let (mut desk, _) = asking(&["a"]);
        desk.ok(Input::Adopt { fence: Fence(2), terms: terms() });
        match end {
            // Mail does not break off what nobody runs.
            Input::Send(_) => {}
            end => withdrawn(&mut desk, end),
        }
    }
    let (mut desk, turn) = asking(&["a"]);
    let run = desk.root;
    withdrawn(&mut desk, Input::Report(run, Report::CallsDropped { turn }));
    let (mut desk, turn) = asking(&["a"]);
    withdrawn(&mut desk, Input::Report(run, answered(turn, "a")));
}

#[test]
fn wrapping_up_lets_a_person_decide_first() {
    let mut desk = Desk::new();
    desk.child(2);
    let run = desk.run(2);
    desk.report(run, Report::Boundary(Point::Between));
    let turn = desk.calls(run, &["a"]);
    desk.report(run, ask(turn, permission("a", "a", None)));
    let told = desk.ok(Input::Cancel { task: id(2), by: CancelBy::User, how: Cancel::WrapUp });
    assert_eq!(told, ["2 cancelRequested User WrapUp", "stop 2:1.1 WrapUp"]);
    assert_eq!(desk.kernel.open_asks(), 1);
    desk.ok(decide("a", deny()));
    desk.report(run, answered(turn, "a"));
}

#[test]
fn h1_a_call_is_rewritten_only_before_anybody_was_asked_about_it() {
    let mut desk = Desk::new();
    let turn = desk.calls(desk.root, &["a", "b"]);
    let rewrite = |call: &str| Report::CallRewritten { turn, call: CallId(call.into()), input: "{}".into() };
    desk.report(desk.root, rewrite("a"));
    desk.report(desk.root, ask(turn, permission("a", "a", None)));
    desk.report(desk.root, start(turn, "b"));
    for call in ["a", "b", "c"] {
        let not_open = format!("the call {call} is not open for this");
        assert_eq!(desk.refused(Input::Report(desk.root, rewrite(call))), not_open);
    }
}

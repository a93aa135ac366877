//! Calls that wait for other tasks.

use bosun_kernel::*;
use protocol::*;

use crate::desk::*;

/// A root with two children and a call that waits for both.
fn waiting(mode: WaitMode, until: Option<u64>) -> (Desk, Turn) {
    let mut desk = Desk::new();
    desk.child(2);
    desk.child(3);
    let root = desk.root;
    let turn = desk.runs(root, &["w"]);
    assert_eq!(desk.report(root, wait(turn, "w", &[2, 3], mode, until)), ["1 waitBegan"]);
    (desk, turn)
}

fn over(effects: &[String]) -> bool {
    effects.contains(&"wait over 1:1.1 w Satisfied".into())
}

#[test]
fn any_needs_one_and_all_needs_all() {
    let (mut any, _) = waiting(WaitMode::Any, None);
    assert!(over(&any.completes(any.run(3))));
    let (mut all, _) = waiting(WaitMode::All, None);
    assert!(!over(&all.completes(all.run(3))));
    assert!(over(&all.completes(all.run(2))));
}

#[test]
fn a_wait_for_what_has_ended_is_over_at_once() {
    let mut desk = Desk::new();
    desk.child(2);
    desk.completes(desk.run(2));
    let root = desk.root;
    let turn = desk.runs(root, &["w", "n"]);
    assert!(over(&desk.report(root, wait(turn, "w", &[2], WaitMode::All, None))));
    let none = desk.report(root, wait(turn, "n", &[], WaitMode::Any, None));
    assert_eq!(none, ["1 waitBegan", "1 waitEnded n Satisfied", "wait over 1:1.1 n Satisfied"]);
}

#[test]
fn k3_a_wait_for_what_no_task_does_ends_when_its_run_says_so() {
    let mut desk = Desk::new();
    let root = desk.root;
    let turn = desk.runs(root, &["w", "x"]);
    assert_eq!(desk.report(root, wait(turn, "w", &[], WaitMode::Told, Some(300))), ["1 waitBegan"]);
    let says = |call: &str| Report::WaitOver { turn, call: CallId(call.into()) };
    assert!(desk.refused(Input::Report(root, says("x"))).contains('x'), "it does not wait");
    assert!(over(&desk.report(root, says("w"))));
    assert!(desk.report(root, says("w")).is_empty(), "it is over once");
    assert_eq!(desk.kernel.alarm(), None);
    desk.report(root, wait(turn, "x", &[], WaitMode::Told, Some(300)));
    desk.now = At(300);
    assert_eq!(desk.ok(Input::Tick), ["1 waitEnded x TimedOut", "wait over 1:1.1 x TimedOut"]);
    assert!(desk.report(root, says("x")).is_empty(), "its time was up before");
}

#[test]
fn a_wait_gives_up_when_its_time_is_up() {
    let (mut desk, turn) = waiting(WaitMode::All, Some(300));
    let root = desk.root;
    assert_eq!(desk.kernel.alarm(), Some(At(300)));
    desk.now = At(299);
    assert!(desk.ok(Input::Tick).is_empty());
    desk.now = At(300);
    assert_eq!(desk.ok(Input::Tick), ["1 waitEnded w TimedOut", "wait over 1:1.1 w TimedOut"]);
    assert_eq!(desk.kernel.alarm(), None);
    desk.report(root, answered(turn, "w"));
}

#[test]
fn a_waiting_call_cannot_be_answered_and_an_unstarted_one_cannot_wait() {
    let (mut desk, turn) = waiting(WaitMode::All, None);
    let root = desk.root;
    assert_eq!(desk.refused(Input::Report(root, answered(turn, "w"))), "the call w is not open for this");
    let again = wait(turn, "w", &[2], WaitMode::All, None);
    assert_eq!(desk.refused(Input::Report(root, again)), "the call w is not open for this");
    let mut desk = Desk::new();
    let turn = desk.calls(desk.root, &["p"]);
    let unstarted = wait(turn, "p", &[1], WaitMode::All, None);
    assert_eq!(desk.refused(Input::Report(desk.root, unstarted)), "the call p is not open for this");
}

#[test]
fn nobody_waits_for_itself_for_those_above_or_in_a_circle() {
    let mut desk = Desk::with(Limits { live: 4, depth: 4, total: 9, ..Limits::default() }, |_| {});
    desk.child(2);
    desk.child(3);
    let (two, three) = (desk.run(2), desk.run(3));
    let turn = desk.runs(two, &["a", "b", "c"]);
    let refused = |desk: &mut Desk, on: u128| {
        desk.refused(Input::Report(two, wait(turn, "a", &[on], WaitMode::All, None))).contains("cannot wait for")
    };
    assert!(refused(&mut desk, 2) && refused(&mut desk, 1));
    desk.sync(two, turn, "b", 4);
    let four = desk.run(4);
    let turn_of_four = desk.runs(four, &["x"]);
    desk.report(four, wait(turn_of_four, "x", &[3], WaitMode::All, None));
    // 3 would wait for 2, which waits for 4, which waits for 3.
    let turn_of_three = desk.runs(three, &["y"]);
    let circle = Input::Report(three, wait(turn_of_three, "y", &[2], WaitMode::All, None));
    assert!(desk.refused(circle).contains("cannot wait for"));
    let unknown = Input::Report(three, wait(turn_of_three, "y", &[77], WaitMode::All, None));
    assert!(desk.refused(unknown).starts_with("there is no task"));
}

#[test]
fn a_promoted_task_answers_its_waiter_now_and_its_parent_later() {
    let mut desk = Desk::new();
    let root = desk.root;
    let turn = desk.runs(root, &["t"]);
    desk.sync(root, turn, "t", 2);
    assert_eq!(
        desk.ok(Input::Promote(id(2))),
        ["2 taskPromoted", "1 waitEnded t Promoted", "wait over 1:1.1 t Promoted"]
    );
    assert!(desk.refused(Input::Promote(id(2))).starts_with("nobody waits"));
    desk.report(root, answered(turn, "t"));
    let ended = desk.completes(desk.run(2));
    assert_eq!(ended.last().unwrap(), "1 mailAdmitted result 2:1");
}

#[test]
fn only_what_is_waited_for_can_be_sent_to_the_background() {
    let (mut desk, _) = waiting(WaitMode::All, None);
    assert!(desk.refused(Input::Promote(id(2))).starts_with("nobody waits"), "it is there already");
    let mut desk = Desk::new();
    let root = desk.root;
    let turn = desk.runs(root, &["t"]);
    desk.sync(root, turn, "t", 2);
    desk.completes(desk.run(2));
    assert!(desk.refused(Input::Promote(id(2))).starts_with("nobody waits"), "it has ended");
}

#[test]
fn a_promotion_concerns_the_parent_alone() {
    let mut desk = Desk::with(Limits { live: 9, depth: 9, total: 9, ..Limits::default() }, |_| {});
    let root = desk.root;
    let turn = desk.runs(root, &["t"]);
    desk.sync(root, turn, "t", 2);
    desk.child(3);
    let three = desk.run(3);
    let turn_of_three = desk.runs(three, &["w"]);
    desk.report(three, wait(turn_of_three, "w", &[2], WaitMode::All, None));
    let promoted = desk.ok(Input::Promote(id(2)));
    assert_eq!(promoted, ["2 taskPromoted", "1 waitEnded t Promoted", "wait over 1:1.1 t Promoted"]);
    let ended = desk.completes(desk.run(2));
    assert!(ended.contains(&"wait over 3:1.1 w Satisfied".into()), "{ended:?}");
}

#[test]
fn a_wait_for_what_waits_elsewhere_is_no_circle() {
    let mut desk = Desk::with(Limits { live: 9, depth: 9, total: 9, ..Limits::default() }, |_| {});
    for n in 2..6 {
        desk.child(n);
    }
    let (two, three) = (desk.run(2), desk.run(3));
    let turn = desk.runs(two, &["a"]);
    desk.report(two, wait(turn, "a", &[4, 5], WaitMode::All, None));
    let turn = desk.runs(three, &["b"]);
    desk.report(three, wait(turn, "b", &[2], WaitMode::All, None));
}

#[test]
fn only_a_call_of_the_turn_can_start_a_synchronous_task() {
    let mut desk = Desk::new();
    let turn = desk.calls(desk.root, &["t"]);
    let root = desk.root;
    let spawn = |by| {
        let spec = TaskSpec { mode: Mode::Sync, ..spec(Kind::Agent, Some(id(1))) };
        Input::Spawn(Spawn { id: id(2), spec, prompt: "go".into(), by, until: None, definition: None })
    };
    assert!(desk.refused(spawn(None)).starts_with("nobody waits"));
    let by = |turn| Some((root, turn, CallId("t".into())));
    assert_eq!(desk.refused(spawn(by(Turn(9)))), "the call t is not open for this");
    desk.ok(spawn(by(turn)));
}

#[test]
fn a_call_that_was_cancelled_starts_nothing_in_the_background_either() {
    let mut desk = Desk::new();
    let root = desk.root;
    let turn = desk.runs(root, &["t"]);
    desk.ok(Input::Send(letter(id(1), Delivery::Interrupt)));
    let by = Some((root, turn, CallId("t".into())));
    let spawn = Spawn {
        id: id(2),
        spec: spec(Kind::Shell, Some(id(1))),
        prompt: "go".into(),
        by,
        until: None,
        definition: None,
    };
    assert_eq!(desk.refused(Input::Spawn(spawn)), "the call t is not open for this");
}

/// A root with an agent that it waited for, and that rests now.
fn rested() -> Desk {
    let mut desk = Desk::new();
    let root = desk.root;
    let turn = desk.runs(root, &["t"]);
    let spec = TaskSpec { mode: Mode::Sync, rest: Rest::Idle, ..spec(Kind::Agent, Some(id(1))) };
    let by = Some((root, turn, CallId("t".into())));
    desk.ok(Input::Spawn(Spawn { id: id(2), spec, prompt: "go".into(), by, until: None, definition: None }));
    let two = desk.run(2);
    desk.report(two, Report::Boundary(Point::Between));
    desk.completes(two);
    desk
}

#[test]
fn a_woken_agent_tells_its_parent_even_if_its_first_result_was_waited_for() {
    let mut desk = rested();
    assert_eq!(desk.state(2), "idle");
    let woken = desk.ok(Input::Send(letter(id(2), Delivery::Steer)));
    let expected = ["2 mailAdmitted", "2 taskPromoted", "2 taskRequeued", "2 activationStarted", "start 2:2.1"];
    assert_eq!(woken, expected);
    let two = desk.run(2);
    desk.report(two, Report::Boundary(Point::Between));
    assert_eq!(desk.completes(two).last().unwrap(), "1 mailAdmitted result 2:2");
}

#[test]
fn a_child_that_rests_outlives_the_turn_that_waited_for_it() {
    let mut desk = rested();
    desk.ok(Input::Interrupt(id(1)));
    assert_eq!((desk.state(1), desk.state(2)), ("idle", "idle"));
}

#[test]
fn time_that_is_up_ends_every_open_call_at_once_whatever_it_does() {
    let mut desk = Desk::new();
    desk.child(2);
    let root = desk.root;
    let turn = desk.calls(root, &["a", "b", "s", "w"]);
    for call in ["a", "s", "w"] {
        desk.report(root, Report::CallStarted { turn, call: CallId(call.into()) });
    }
    desk.report(root, answered(turn, "a"));
    desk.report(root, wait(turn, "w", &[2], WaitMode::All, None));
    desk.sync(root, turn, "s", 3);
    assert_eq!(desk.refused(Input::Report(root, Report::CallsDropped { turn: Turn(9) })), "no such turn is under way");
    let dropped = desk.report(root, Report::CallsDropped { turn });
    for call in ["b", "s", "w"] {
        assert!(dropped.contains(&format!("1 callAnswered {call} Cancelled")), "{dropped:?}");
    }
    assert!(dropped.contains(&"3 taskFinished cancelled".into()), "a child that nobody waits for any more goes on");
    assert!(!dropped.iter().any(|effect| effect.starts_with("1 callAnswered a")), "a call has two answers");
    assert_eq!((desk.state(2), desk.state(1)), ("running", "running"));
    assert_eq!(desk.task(1).work, Work::Boundary);
    assert!(desk.report(root, Report::CallsDropped { turn }).is_empty());
}

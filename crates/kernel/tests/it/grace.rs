//! A task that is asked to stop has a last turn, and a deadline for it, whatever it does and whoever owns it.

use bosun_kernel::*;
use protocol::*;

use crate::desk::*;

const GRACE: u64 = 30_000;

fn wide() -> Desk {
    Desk::with(Limits { live: 4, depth: 4, total: 9, ..Limits::default() }, |_| {})
}

fn stop(task: u128) -> Input {
    Input::Cancel { task: id(task), by: CancelBy::User, how: Cancel::WrapUp }
}

fn adopt() -> Input {
    Input::Adopt { fence: Fence(2), terms: terms() }
}

#[test]
fn whoever_takes_too_long_over_its_last_turn_is_stopped_at_once() {
    let mut desk = wide();
    desk.child(2);
    let two = desk.run(2);
    desk.report(two, begin(7));
    desk.ok(stop(2));
    assert_eq!(desk.kernel.alarm(), Some(At(100 + GRACE)));
    desk.now = At(100 + GRACE - 1);
    assert!(desk.ok(Input::Tick).is_empty());
    desk.now = At(100 + GRACE);
    let over = desk.ok(Input::Tick);
    assert_eq!(over[..3], ["2 cancelRequested User Abort", "2 turnFailed Cancelled 7", "2 activationEnded cancelled"]);
    assert!(over.contains(&"stop 2:1.1 Abort".into()));
    assert_eq!((desk.state(2), desk.kernel.alarm()), ("cancelled", None));
}

#[test]
fn a_second_wish_to_stop_does_not_move_the_deadline() {
    let mut desk = wide();
    desk.child(2);
    desk.ok(stop(2));
    desk.now = At(9_000);
    desk.ok(stop(2));
    assert_eq!(desk.kernel.alarm(), Some(At(100 + GRACE)));
}

#[test]
fn one_that_waits_for_a_child_hears_what_became_of_it_before_its_own_last_turn() {
    let mut desk = wide();
    desk.child(2);
    let two = desk.run(2);
    let turn = desk.calls(two, &["a"]);
    desk.sync(two, turn, "a", 3);
    let asked = desk.ok(stop(2));
    assert_eq!(asked[2..], ["stop 3:1.1 WrapUp", "stop 2:1.1 WrapUp"]);
    let three = desk.run(3);
    desk.report(three, Report::WrapUp(WrapUp::Stop));
    desk.says(three, "so far");
    let ended = desk.report(three, Report::Ended { ending: Ending::Completed, text: "so far".into() });
    assert!(ended.contains(&"3 taskFinished cancelled".into()) && ended.contains(&"go 2:1.1".into()), "{ended:?}");
    desk.report(two, answered(turn, "a"));
    desk.report(two, Report::WrapUp(WrapUp::Stop));
    desk.says(two, "all I have");
    desk.report(two, Report::Ended { ending: Ending::Completed, text: "all I have".into() });
    assert_eq!((desk.state(2), desk.kernel.alarm()), ("cancelled", None));
}

#[test]
fn one_that_asks_a_person_is_not_kept_by_the_question() {
    let mut desk = wide();
    desk.child(2);
    let two = desk.run(2);
    let turn = desk.calls(two, &["a"]);
    let subject = Subject::Permission { tool: "t".into(), input: "{}".into(), reason: "r".into(), rules: Vec::new() };
    let ask = Ask { id: AskId("q".into()), call: CallId("a".into()), subject, until_at: None };
    desk.report(two, Report::Ask { turn, ask });
    assert!(desk.ok(stop(2)).contains(&"stop 2:1.1 WrapUp".into()));
    desk.now = At(100 + GRACE);
    assert!(desk.ok(Input::Tick).contains(&"2 callAnswered a Cancelled".into()));
    assert_eq!((desk.kernel.open_asks(), desk.state(2)), (0, "cancelled"));
}

#[test]
fn the_deadline_of_one_that_parks_does_not_wait_for_the_quota() {
    let mut desk = wide();
    desk.child(2);
    desk.ok(stop(2));
    desk.report(desk.run(2), Report::Park(parking(At(9_000_000))));
    assert_eq!(desk.kernel.alarm(), Some(At(100 + GRACE)));
    desk.now = At(100 + GRACE);
    desk.ok(Input::Tick);
    assert_eq!((desk.state(2), desk.kernel.alarm()), ("cancelled", None));
}

#[test]
fn a_quota_that_resets_in_the_grace_lets_it_take_its_last_turn() {
    let mut desk = wide();
    desk.child(2);
    desk.ok(stop(2));
    desk.report(desk.run(2), Report::Park(parking(At(500))));
    desk.now = At(500);
    let woken = desk.ok(Input::Tick);
    assert_eq!(woken, ["2 taskRequeued", "2 activationStarted", "start 2:1.2", "stop 2:1.2 WrapUp"]);
}

#[test]
fn the_next_owner_hears_that_a_task_is_to_stop_and_keeps_its_deadline() {
    let mut desk = wide();
    desk.child(2);
    desk.ok(stop(2));
    desk.ok(adopt());
    assert_eq!(desk.kernel.alarm(), None, "without a run there is nothing to stop");
    let resumed = desk.ok(Input::Resume);
    assert_eq!(resumed[resumed.len() - 2..], ["start 2:1.2", "stop 2:1.2 WrapUp"]);
    assert_eq!(desk.kernel.alarm(), Some(At(100 + GRACE)));
    desk.now = At(100 + GRACE);
    desk.ok(Input::Tick);
    assert_eq!(desk.state(2), "cancelled");
}

#[test]
fn a_task_that_is_to_stop_does_not_queue_past_its_deadline() {
    let mut desk = Desk::with(Limits { live: 1, depth: 2, total: 9, ..Limits::default() }, |_| {});
    desk.child(2);
    desk.child(3);
    desk.ok(stop(2));
    desk.ok(adopt());
    desk.ok(Input::Resume);
    assert_eq!((desk.state(3), desk.state(2)), ("running", "queued"));
    desk.now = At(100 + GRACE);
    let over = desk.ok(Input::Tick);
    assert_eq!(desk.state(2), "cancelled", "{over:?}");
}

#[test]
fn what_does_not_run_is_stopped_without_a_last_turn() {
    let mut desk = Desk::with(Limits { live: 2, depth: 2, total: 9, ..Limits::default() }, |_| {});
    desk.spawn(2, |spec| spec.rest = Rest::Idle);
    desk.completes(desk.run(2));
    desk.child(3);
    desk.report(desk.run(3), Report::Park(parking(At(9_000))));
    desk.child(4);
    desk.ok(adopt());
    for n in 2..5 {
        assert!(!desk.ok(stop(n)).iter().any(|effect| effect.starts_with("stop")));
        assert_eq!(desk.state(n), "cancelled");
    }
    assert_eq!(desk.kernel.alarm(), None);
}

#[test]
fn a_command_has_no_last_turn() {
    let mut desk = wide();
    desk.child(2);
    desk.spawn(3, |spec| {
        spec.parent = Some(id(2));
        spec.kind = Kind::Shell;
    });
    let stopped = desk.ok(stop(2));
    assert!(stopped.contains(&"stop 3:1.1 Abort".into()), "{stopped:?}");
    assert_eq!((desk.state(2), desk.state(3)), ("running", "cancelled"));
}

#[test]
fn an_interrupt_ends_one_that_is_to_stop_for_good() {
    let mut desk = wide();
    desk.spawn(2, |spec| spec.rest = Rest::Idle);
    desk.ok(stop(2));
    desk.ok(Input::Interrupt(id(2)));
    assert_eq!(desk.state(2), "cancelled");
}

#[test]
fn a_root_that_was_stopped_is_not_woken_by_what_was_stopped_with_it() {
    let mut desk = wide();
    desk.child(2);
    desk.ok(stop(1));
    let ended = |desk: &mut Desk, run| {
        desk.says(run, "so far");
        desk.report(run, Report::Ended { ending: Ending::Completed, text: "so far".into() })
    };
    let root = desk.root;
    assert_eq!(ended(&mut desk, root), ["1 activationEnded cancelled"]);
    let two = desk.run(2);
    let last = ended(&mut desk, two);
    assert_eq!(last.last().unwrap(), "1 mailAdmitted result 2:1");
    assert_eq!(desk.state(1), "idle");
    let asked = desk.ok(Input::Send(letter(id(1), Delivery::Steer)));
    assert_eq!(asked.last().unwrap(), "start 1:2.1");
    assert_eq!(desk.report(desk.run(1), Report::Boundary(Point::Between)), ["1 mailDelivered [2, 3]"]);
}

#[test]
fn a_root_that_rests_is_woken_when_somebody_stops_its_child() {
    let mut desk = wide();
    desk.child(2);
    desk.completes(desk.root);
    desk.ok(Input::Cancel { task: id(2), by: CancelBy::User, how: Cancel::Abort });
    assert_eq!(desk.state(1), "running");
}

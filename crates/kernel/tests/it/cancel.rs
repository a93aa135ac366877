//! Stopping one task, a tree, or everything.

use bosun_kernel::*;
use protocol::*;

use crate::desk::*;

fn cancel(task: u128, how: Cancel) -> Input {
    Input::Cancel { task: id(task), by: CancelBy::User, how }
}

#[test]
fn wrapping_up_lets_what_runs_take_a_last_turn_and_ends_the_rest() {
    let mut desk = Desk::with(Limits { live: 1, depth: 2, total: 9, ..Limits::default() }, |_| {});
    desk.child(2);
    desk.child(3);
    assert_eq!(desk.ok(cancel(2, Cancel::WrapUp)), ["2 cancelRequested User WrapUp", "stop 2:1.1 WrapUp"]);
    assert!(desk.ok(cancel(2, Cancel::WrapUp)).iter().all(|effect| effect.starts_with("stop")));
    let queued = desk.ok(cancel(3, Cancel::WrapUp));
    let expected =
        ["3 cancelRequested User WrapUp", "3 taskFinished cancelled", "3 mailExpired", "1 mailAdmitted result 3:1"];
    assert_eq!(queued, expected);
    let two = desk.run(2);
    desk.report(two, Report::Boundary(Point::Between));
    desk.says(two, "I got this far");
    let ended = desk.report(two, Report::Ended { ending: Ending::Completed, text: "far".into() });
    assert_eq!(ended[..2], ["2 activationEnded cancelled", "2 taskFinished cancelled"]);
}

#[test]
fn an_abort_outdoes_a_wrap_up_and_late_reports_change_nothing() {
    let mut desk = Desk::new();
    desk.child(2);
    let two = desk.run(2);
    desk.ok(cancel(2, Cancel::WrapUp));
    let aborted = desk.ok(cancel(2, Cancel::Abort));
    assert_eq!(aborted[0], "2 cancelRequested User Abort");
    assert!(aborted.contains(&"stop 2:1.1 Abort".into()));
    assert_eq!(desk.refused(Input::Report(two, Report::Boundary(Point::End))), "this run of the task is over");
    assert!(desk.ok(cancel(2, Cancel::Abort)).is_empty());
}

#[test]
fn a_tree_is_closed_from_the_top_and_ended_from_the_bottom() {
    let mut desk = Desk::with(Limits { live: 9, depth: 9, total: 9, ..Limits::default() }, |_| {});
    desk.child(2);
    let two = desk.run(2);
    let turn = desk.runs(two, &["a"]);
    desk.sync(two, turn, "a", 3);
    let effects = desk.ok(cancel(2, Cancel::Abort));
    let position = |what: &str| effects.iter().position(|effect| effect == what).unwrap();
    assert!(position("2 cancelRequested User Abort") < position("3 cancelRequested User Abort"));
    assert!(position("3 taskFinished cancelled") < position("2 taskFinished cancelled"));
    assert_eq!(effects.last().unwrap(), "stop 2:1.1 Abort");
    // What is told to a parent that is being aborted is told to nobody.
    assert!(!effects.iter().any(|effect| effect.starts_with("2 mailAdmitted")));
}

#[test]
fn a_task_that_ends_takes_its_children_with_it() {
    let mut desk = Desk::with(Limits { live: 9, depth: 9, total: 9, ..Limits::default() }, |_| {});
    desk.child(2);
    let two = desk.run(2);
    desk.spawn(3, |spec| {
        spec.parent = Some(id(2));
        spec.kind = Kind::Shell;
    });
    desk.report(two, Report::Boundary(Point::Between));
    let ended = desk.completes(two);
    assert!(ended.contains(&"3 cancelRequested Parent Abort".into()), "{ended:?}");
    assert_eq!(desk.state(3), "cancelled");
}

#[test]
fn after_a_stop_nothing_starts() {
    let mut desk = Desk::with(Limits { live: 1, depth: 2, total: 9, ..Limits::default() }, |_| {});
    desk.child(2);
    desk.child(3);
    let stopped = desk.ok(Input::Stop { by: CancelBy::User });
    assert_eq!(stopped[0], "1 admissionClosed");
    assert!(!stopped.iter().any(|effect| effect.starts_with("start")), "{stopped:?}");
    assert_eq!(["idle", "cancelled", "cancelled"], [desk.state(1), desk.state(2), desk.state(3)]);
    let spawn = Spawn {
        id: id(4),
        spec: spec(Kind::Agent, Some(id(1))),
        prompt: "go".into(),
        by: None,
        until: None,
        definition: None,
    };
    assert!(desk.refused(Input::Spawn(spawn)).starts_with("the session is stopping"));
    assert!(desk.ok(Input::Stop { by: CancelBy::User }).is_empty());
}

#[test]
fn a_task_being_stopped_starts_nobody() {
    let mut desk = Desk::new();
    desk.child(2);
    desk.ok(cancel(2, Cancel::WrapUp));
    let spawn = Spawn {
        id: id(4),
        spec: spec(Kind::Agent, Some(id(2))),
        prompt: "go".into(),
        by: None,
        until: None,
        definition: None,
    };
    assert!(desk.refused(Input::Spawn(spawn.clone())).ends_with("is being stopped"));
    desk.ok(cancel(2, Cancel::Abort));
    assert!(desk.refused(Input::Spawn(spawn)).ends_with("has ended"));
}

#[test]
fn an_interrupt_ends_the_activation_and_not_the_life() {
    let mut desk = Desk::new();
    desk.child(2);
    desk.spawn(3, |spec| spec.rest = Rest::Idle);
    desk.calls(desk.root, &["a"]);
    let root = desk.ok(Input::Interrupt(id(1)));
    assert_eq!(root, ["1 callAnswered a Cancelled", "1 activationEnded cancelled", "stop 1:1.1 Abort"]);
    assert!(desk.ok(Input::Interrupt(id(1))).is_empty());
    assert_eq!((desk.state(1), desk.state(2)), ("idle", "running"));
    desk.ok(Input::Interrupt(id(3)));
    desk.ok(Input::Interrupt(id(2)));
    assert_eq!((desk.state(2), desk.state(3)), ("cancelled", "idle"));
    assert!(desk.task(1).cancel.is_none());
}

#[test]
fn a_result_that_was_told_is_not_told_again_when_its_task_is_stopped() {
    let mut desk = Desk::new();
    desk.spawn(2, |spec| spec.rest = Rest::Idle);
    desk.report(desk.run(2), Report::Boundary(Point::Between));
    assert!(desk.completes(desk.run(2)).contains(&"1 mailAdmitted result 2:1".into()));
    let stopped = desk.ok(cancel(2, Cancel::Abort));
    assert_eq!(stopped, ["2 cancelRequested User Abort", "2 taskFinished cancelled"]);
}

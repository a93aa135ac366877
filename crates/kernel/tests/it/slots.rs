//! Who runs, who waits in line, and in which order.

use bosun_kernel::*;
use protocol::*;

use crate::desk::*;

#[test]
fn over_the_cap_tasks_queue_and_start_in_order() {
    let mut desk = Desk::new();
    assert_eq!(desk.child(2), ["2 taskCreated", "2 mailAdmitted", "2 activationStarted", "start 2:1.1"]);
    desk.child(3);
    assert_eq!(desk.child(4), ["4 taskCreated", "4 mailAdmitted"]);
    desk.child(5);
    assert_eq!((desk.state(4), desk.state(5)), ("queued", "queued"));
    let ended = desk.completes(desk.run(3));
    assert_eq!(ended.last().unwrap(), "start 4:1.1");
    assert_eq!((desk.state(3), desk.state(4), desk.state(5)), ("completed", "running", "queued"));
}

#[test]
fn one_that_comes_back_from_a_wait_goes_before_new_starts() {
    let mut desk = Desk::with(Limits { live: 1, depth: 4, total: 9, ..Limits::default() }, |_| {});
    desk.child(2);
    desk.child(5);
    let two = desk.run(2);
    let turn = desk.runs(two, &["a"]);
    // The slot that 2 lends goes to 5, which came before 3.
    let spawned = desk.sync(two, turn, "a", 3);
    assert_eq!(spawned[2..], ["2 waitBegan", "5 activationStarted", "start 5:1.1"]);
    desk.child(6);
    desk.completes(desk.run(5));
    assert_eq!((desk.state(3), desk.state(6)), ("running", "queued"));
    let ended = desk.completes(desk.run(3));
    assert_eq!(
        ended,
        [
            "3 activationEnded completed",
            "3 taskFinished completed",
            "2 waitEnded a Satisfied",
            "wait over 2:1.1 a Satisfied",
            "2 slotRegained",
            "go 2:1.1"
        ]
    );
    assert_eq!(desk.state(6), "queued");
}

#[test]
fn a_turn_needs_a_slot() {
    let mut desk = Desk::with(Limits { live: 1, depth: 4, total: 9, ..Limits::default() }, |_| {});
    desk.child(2);
    let two = desk.run(2);
    let turn = desk.runs(two, &["a"]);
    desk.child(3);
    desk.report(two, wait(turn, "a", &[3], WaitMode::All, Some(200)));
    let three = desk.run(3);
    let turn_of_three = desk.runs(three, &["x"]);
    desk.now = At(200);
    desk.ok(Input::Tick);
    desk.report(two, answered(turn, "a"));
    assert_eq!(desk.refused(Input::Report(two, desk.begin())), "the task waits for a slot");
    assert_eq!(desk.refused(Input::Report(two, Report::Park(parking(At(900))))), "the task waits for a slot");
    desk.report(three, answered(turn_of_three, "x"));
    let ended = desk.completes(three);
    assert!(ended.contains(&"go 2:1.1".into()), "{ended:?}");
    desk.report(two, desk.begin());
}

#[test]
fn the_root_and_commands_need_no_slot() {
    let mut desk = Desk::with(Limits { live: 1, depth: 2, total: 9, ..Limits::default() }, |_| {});
    desk.child(2);
    let shell = desk.spawn(3, |spec| spec.kind = Kind::Shell);
    assert_eq!(shell[2..], ["3 activationStarted", "start 3:1.1"]);
    let root = desk.root;
    desk.report(root, desk.begin());
}

#[test]
fn a_parked_task_gives_its_slot_away_and_queues_when_its_time_has_come() {
    let mut desk = Desk::with(Limits { live: 1, depth: 2, total: 9, ..Limits::default() }, |_| {});
    desk.child(2);
    desk.child(3);
    let two = desk.run(2);
    assert_eq!(
        desk.report(two, Report::Park(parking(At(500)))),
        ["2 taskParked", "3 activationStarted", "start 3:1.1"]
    );
    assert_eq!((desk.kernel.alarm(), desk.kernel.busy(), desk.kernel.is_quiet()), (Some(At(500)), 3, false));
    desk.now = At(499);
    assert!(desk.ok(Input::Tick).is_empty());
    desk.now = At(500);
    assert_eq!(desk.ok(Input::Tick), ["2 taskRequeued"]);
    assert_eq!(desk.refused(Input::Report(two, Report::Boundary(Point::Between))), "this run of the task is over");
    let ended = desk.completes(desk.run(3));
    assert_eq!(ended.last().unwrap(), "start 2:1.2");
}

#[test]
fn a_lease_that_ends_interrupts_an_agent_and_tries_again_but_loses_a_command() {
    let mut desk = Desk::new();
    desk.child(2);
    desk.spawn(3, |spec| spec.kind = Kind::Shell);
    let (two, three) = (desk.run(2), desk.run(3));
    desk.ok(Input::Lease { run: two, until: At(200) });
    desk.ok(Input::Lease { run: three, until: At(200) });
    desk.now = At(150);
    desk.ok(Input::Lease { run: two, until: At(250) });
    desk.now = At(200);
    let lost = desk.ok(Input::Tick);
    assert_eq!(lost, ["3 activationEnded lost", "3 taskFinished lost", "3 mailExpired", "1 mailAdmitted result 3:1"]);
    desk.now = At(250);
    let again = desk.ok(Input::Tick);
    let expected = ["2 taskInterrupted", "stop 2:1.1 Abort", "2 taskRequeued", "2 activationStarted", "start 2:1.2"];
    assert_eq!(again, expected);
    assert_eq!(desk.refused(Input::Lease { run: two, until: At(900) }), "this run of the task is over");
    assert_eq!(desk.kernel.alarm(), None);
}

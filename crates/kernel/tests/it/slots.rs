//! Slots: which tasks run, which are queued, and in which order.

use bosun_kernel::*;
use protocol::*;

use crate::fixture::*;

#[test]
fn over_the_cap_tasks_queue_and_start_in_order() {
    let mut kernel = KernelFixture::new();
    assert_eq!(kernel.child(2), ["2 taskCreated", "2 mailAdmitted", "2 activationStarted", "start 2:1.1"]);
    kernel.child(3);
    assert_eq!(kernel.child(4), ["4 taskCreated", "4 mailAdmitted"]);
    kernel.child(5);
    assert_eq!((kernel.state(4), kernel.state(5)), ("queued", "queued"));
    let ended = kernel.complete(kernel.run(3));
    assert_eq!(ended.last().unwrap(), "start 4:1.1");
    assert_eq!((kernel.state(3), kernel.state(4), kernel.state(5)), ("completed", "running", "queued"));
}

#[test]
fn an_agent_that_returns_from_a_wait_comes_before_new_starts() {
    let mut kernel =
        KernelFixture::with(SessionLimits { live: 1, depth: 4, total: 9, ..SessionLimits::default() }, |_| {});
    kernel.child(2);
    kernel.child(5);
    let two = kernel.run(2);
    let turn = kernel.answer_with_started_calls(two, &["a"]);
    // The slot that 2 lends goes to 5, which came before 3.
    let spawned = kernel.spawn_sync(two, turn, "a", 3);
    assert_eq!(spawned[2..], ["2 waitBegan", "5 activationStarted", "start 5:1.1"]);
    kernel.child(6);
    kernel.complete(kernel.run(5));
    assert_eq!((kernel.state(3), kernel.state(6)), ("running", "queued"));
    let ended = kernel.complete(kernel.run(3));
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
    assert_eq!(kernel.state(6), "queued");
}

#[test]
fn a_turn_needs_a_slot() {
    let mut kernel =
        KernelFixture::with(SessionLimits { live: 1, depth: 4, total: 9, ..SessionLimits::default() }, |_| {});
    kernel.child(2);
    let two = kernel.run(2);
    let turn = kernel.answer_with_started_calls(two, &["a"]);
    kernel.child(3);
    kernel.report(two, wait(turn, "a", &[3], WaitMode::All, Some(200)));
    let three = kernel.run(3);
    let turn_of_three = kernel.answer_with_started_calls(three, &["x"]);
    kernel.now = Timestamp(200);
    kernel.ok(KernelInput::Tick);
    kernel.report(two, call_answered(turn, "a"));
    assert_eq!(kernel.refused(KernelInput::Report(two, kernel.begin())), "the task waits for a slot");
    assert_eq!(
        kernel.refused(KernelInput::Report(two, RunUpdate::Park(parking(Timestamp(900))))),
        "the task waits for a slot"
    );
    kernel.report(three, call_answered(turn_of_three, "x"));
    let ended = kernel.complete(three);
    assert!(ended.contains(&"go 2:1.1".into()), "{ended:?}");
    kernel.report(two, kernel.begin());
}

#[test]
fn the_root_and_commands_need_no_slot() {
    let mut kernel =
        KernelFixture::with(SessionLimits { live: 1, depth: 2, total: 9, ..SessionLimits::default() }, |_| {});
    kernel.child(2);
    let shell = kernel.spawn(3, |spec| spec.kind = TaskType::Shell);
    assert_eq!(shell[2..], ["3 activationStarted", "start 3:1.1"]);
    let root = kernel.root;
    kernel.report(root, kernel.begin());
}

#[test]
fn a_parked_task_frees_its_slot_and_is_queued_when_its_time_has_come() {
    let mut kernel =
        KernelFixture::with(SessionLimits { live: 1, depth: 2, total: 9, ..SessionLimits::default() }, |_| {});
    kernel.child(2);
    kernel.child(3);
    let two = kernel.run(2);
    assert_eq!(
        kernel.report(two, RunUpdate::Park(parking(Timestamp(500)))),
        ["2 taskParked", "3 activationStarted", "start 3:1.1"]
    );
    assert_eq!(
        (kernel.kernel.next_alarm(), kernel.kernel.busy_tasks(), kernel.kernel.is_quiet()),
        (Some(Timestamp(500)), 3, false)
    );
    kernel.now = Timestamp(499);
    assert!(kernel.ok(KernelInput::Tick).is_empty());
    kernel.now = Timestamp(500);
    assert_eq!(kernel.ok(KernelInput::Tick), ["2 taskRequeued"]);
    assert_eq!(
        kernel.refused(KernelInput::Report(two, RunUpdate::Boundary(BoundaryPoint::BetweenTurns))),
        "this run of the task is over"
    );
    let ended = kernel.complete(kernel.run(3));
    assert_eq!(ended.last().unwrap(), "start 2:1.2");
}

#[test]
fn an_expired_lease_interrupts_and_requeues_an_agent_but_loses_a_command() {
    let mut kernel = KernelFixture::new();
    kernel.child(2);
    kernel.spawn(3, |spec| spec.kind = TaskType::Shell);
    let (two, three) = (kernel.run(2), kernel.run(3));
    kernel.ok(KernelInput::Lease { run: two, until: Timestamp(200) });
    kernel.ok(KernelInput::Lease { run: three, until: Timestamp(200) });
    kernel.now = Timestamp(150);
    kernel.ok(KernelInput::Lease { run: two, until: Timestamp(250) });
    kernel.now = Timestamp(200);
    let lost = kernel.ok(KernelInput::Tick);
    assert_eq!(lost, ["3 activationEnded lost", "3 taskFinished lost", "3 mailExpired", "1 mailAdmitted result 3:1"]);
    kernel.now = Timestamp(250);
    let again = kernel.ok(KernelInput::Tick);
    let expected = ["2 taskInterrupted", "stop 2:1.1 Abort", "2 taskRequeued", "2 activationStarted", "start 2:1.2"];
    assert_eq!(again, expected);
    assert_eq!(kernel.refused(KernelInput::Lease { run: two, until: Timestamp(900) }), "this run of the task is over");
    assert_eq!(kernel.kernel.next_alarm(), None);
}

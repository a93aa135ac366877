//! Stopping one task, a tree, or everything.

use bosun_kernel::*;
use protocol::*;

use crate::fixture::*;

fn cancel(task: u128, how: CancelMode) -> KernelInput {
    KernelInput::Cancel { task: id(task), by: CancelBy::User, how }
}

#[test]
fn wrapping_up_lets_running_tasks_take_a_last_turn_and_ends_queued_ones() {
    let mut kernel =
        KernelFixture::with(SessionLimits { live: 1, depth: 2, total: 9, ..SessionLimits::default() }, |_| {});
    kernel.child(2);
    kernel.child(3);
    assert_eq!(kernel.ok(cancel(2, CancelMode::WrapUp)), ["2 cancelRequested User WrapUp", "stop 2:1.1 WrapUp"]);
    assert!(kernel.ok(cancel(2, CancelMode::WrapUp)).iter().all(|effect| effect.starts_with("stop")));
    let queued = kernel.ok(cancel(3, CancelMode::WrapUp));
    let expected =
        ["3 cancelRequested User WrapUp", "3 taskFinished cancelled", "3 mailExpired", "1 mailAdmitted result 3:1"];
    assert_eq!(queued, expected);
    let two = kernel.run(2);
    kernel.report(two, RunUpdate::Boundary(BoundaryPoint::BetweenTurns));
    kernel.answer_with_text(two, "I got this far");
    let ended = kernel.report(two, RunUpdate::Ended { ending: RunEnding::Completed, text: "far".into() });
    assert_eq!(ended[..2], ["2 activationEnded cancelled", "2 taskFinished cancelled"]);
}

#[test]
fn an_abort_replaces_a_wrap_up_and_late_reports_are_refused() {
    let mut kernel = KernelFixture::new();
    kernel.child(2);
    let two = kernel.run(2);
    kernel.ok(cancel(2, CancelMode::WrapUp));
    let aborted = kernel.ok(cancel(2, CancelMode::Abort));
    assert_eq!(aborted[0], "2 cancelRequested User Abort");
    assert!(aborted.contains(&"stop 2:1.1 Abort".into()));
    assert_eq!(
        kernel.refused(KernelInput::Report(two, RunUpdate::Boundary(BoundaryPoint::End))),
        "this run of the task is over"
    );
    assert!(kernel.ok(cancel(2, CancelMode::Abort)).is_empty());
}

#[test]
fn cancel_requests_go_from_the_top_of_a_tree_and_tasks_end_from_the_bottom() {
    let mut kernel =
        KernelFixture::with(SessionLimits { live: 9, depth: 9, total: 9, ..SessionLimits::default() }, |_| {});
    kernel.child(2);
    let two = kernel.run(2);
    let turn = kernel.answer_with_started_calls(two, &["a"]);
    kernel.spawn_sync(two, turn, "a", 3);
    let effects = kernel.ok(cancel(2, CancelMode::Abort));
    let position = |expected: &str| effects.iter().position(|effect| effect == expected).unwrap();
    assert!(position("2 cancelRequested User Abort") < position("3 cancelRequested User Abort"));
    assert!(position("3 taskFinished cancelled") < position("2 taskFinished cancelled"));
    assert_eq!(effects.last().unwrap(), "stop 2:1.1 Abort");
    // No result is sent to a parent that is being aborted.
    assert!(!effects.iter().any(|effect| effect.starts_with("2 mailAdmitted")));
}

#[test]
fn the_children_of_an_ended_task_are_stopped() {
    let mut kernel =
        KernelFixture::with(SessionLimits { live: 9, depth: 9, total: 9, ..SessionLimits::default() }, |_| {});
    kernel.child(2);
    let two = kernel.run(2);
    kernel.spawn(3, |spec| {
        spec.parent = Some(id(2));
        spec.kind = TaskType::Shell;
    });
    kernel.report(two, RunUpdate::Boundary(BoundaryPoint::BetweenTurns));
    let ended = kernel.complete(two);
    assert!(ended.contains(&"3 cancelRequested Parent Abort".into()), "{ended:?}");
    assert_eq!(kernel.state(3), "cancelled");
}

#[test]
fn after_a_stop_nothing_starts() {
    let mut kernel =
        KernelFixture::with(SessionLimits { live: 1, depth: 2, total: 9, ..SessionLimits::default() }, |_| {});
    kernel.child(2);
    kernel.child(3);
    let stopped = kernel.ok(KernelInput::Stop { by: CancelBy::User });
    assert_eq!(stopped[0], "1 admissionClosed");
    assert!(!stopped.iter().any(|effect| effect.starts_with("start")), "{stopped:?}");
    assert_eq!(["idle", "cancelled", "cancelled"], [kernel.state(1), kernel.state(2), kernel.state(3)]);
    let spawn = TaskSpawn {
        id: id(4),
        spec: spec(TaskType::Agent, Some(id(1))),
        prompt: "go".into(),
        by: None,
        until: None,
        definition: None,
        redo_reason: None,
    };
    assert!(kernel.refused(KernelInput::Spawn(spawn)).starts_with("the session is stopping"));
    assert!(kernel.ok(KernelInput::Stop { by: CancelBy::User }).is_empty());
}

#[test]
fn a_task_being_stopped_cannot_start_others() {
    let mut kernel = KernelFixture::new();
    kernel.child(2);
    kernel.ok(cancel(2, CancelMode::WrapUp));
    let spawn = TaskSpawn {
        id: id(4),
        spec: spec(TaskType::Agent, Some(id(2))),
        prompt: "go".into(),
        by: None,
        until: None,
        definition: None,
        redo_reason: None,
    };
    assert!(kernel.refused(KernelInput::Spawn(spawn.clone())).ends_with("is being stopped"));
    kernel.ok(cancel(2, CancelMode::Abort));
    assert!(kernel.refused(KernelInput::Spawn(spawn)).ends_with("has ended"));
}

#[test]
fn an_interrupt_ends_only_the_activation() {
    let mut kernel = KernelFixture::new();
    kernel.child(2);
    kernel.spawn(3, |spec| spec.on_complete = CompletionPolicy::Idle);
    kernel.answer_with_calls(kernel.root, &["a"]);
    let root = kernel.ok(KernelInput::Interrupt(id(1)));
    assert_eq!(root, ["1 callAnswered a Cancelled", "1 activationEnded cancelled", "stop 1:1.1 Abort"]);
    assert!(kernel.ok(KernelInput::Interrupt(id(1))).is_empty());
    assert_eq!((kernel.state(1), kernel.state(2)), ("idle", "running"));
    kernel.ok(KernelInput::Interrupt(id(3)));
    kernel.ok(KernelInput::Interrupt(id(2)));
    assert_eq!((kernel.state(2), kernel.state(3)), ("cancelled", "idle"));
    assert!(kernel.task(1).cancel.is_none());
}

#[test]
fn a_delivered_result_is_not_delivered_again_when_its_task_is_stopped() {
    let mut kernel = KernelFixture::new();
    kernel.spawn(2, |spec| spec.on_complete = CompletionPolicy::Idle);
    kernel.report(kernel.run(2), RunUpdate::Boundary(BoundaryPoint::BetweenTurns));
    assert!(kernel.complete(kernel.run(2)).contains(&"1 mailAdmitted result 2:1".into()));
    let stopped = kernel.ok(cancel(2, CancelMode::Abort));
    assert_eq!(stopped, ["2 cancelRequested User Abort", "2 taskFinished cancelled"]);
}

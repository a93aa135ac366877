//! Blocked stops, start and stop hooks, stalls, and forgotten tasks.

use bosun_kernel::*;
use protocol::*;

use crate::fixture::*;

fn stop_blocked(by: StopBlocker) -> RunUpdate {
    RunUpdate::StopBlocked { by, reason: "not yet".into() }
}

fn completed() -> RunUpdate {
    RunUpdate::Ended { ending: RunEnding::Completed, text: "done".into() }
}

fn stop_hooks_ran(task: u128, activation: u32) -> KernelInput {
    KernelInput::StopHooksRan { task: id(task), activation: Activation(activation) }
}

#[test]
fn a_task_whose_stop_is_blocked_reads_the_reason_before_it_can_end() {
    let mut kernel = KernelFixture::new();
    let root = kernel.root;
    kernel.answer_with_text(root, "done");
    assert_eq!(kernel.report(root, stop_blocked(StopBlocker::Hook)), ["1 stopBlocked", "1 mailAdmitted"]);
    assert_eq!(kernel.refused(KernelInput::Report(root, completed())), "there is unread mail");
    assert_eq!(kernel.report(root, RunUpdate::Boundary(BoundaryPoint::BetweenTurns)), ["1 mailDelivered [1]"]);
    kernel.answer_with_text(root, "now it is");
    kernel.report(root, completed());
}

#[test]
fn stop_hooks_do_not_run_while_there_is_unread_mail() {
    let mut kernel = KernelFixture::new();
    let root = kernel.root;
    kernel.report(root, RunUpdate::StartHooksRan(Vec::new()));
    kernel.answer_with_text(root, "done");
    kernel.ok(KernelInput::Send(user_mail(id(1), MailDelivery::Steer)));
    assert_eq!(kernel.refused(stop_hooks_ran(1, 1)), "there is unread mail");
    kernel.report(root, RunUpdate::Boundary(BoundaryPoint::End));
    kernel.answer_with_text(root, "now it is");
    assert_eq!(kernel.ok(stop_hooks_ran(1, 1)), ["1 stopHooksRan"]);
    kernel.report(root, completed());
}

#[test]
fn the_reason_of_a_blocked_stop_survives_its_owner_and_comes_after_earlier_mail() {
    let mut kernel = KernelFixture::new();
    let root = kernel.root;
    kernel.answer_with_text(root, "done");
    kernel.ok(KernelInput::Send(user_mail(id(1), MailDelivery::Steer)));
    kernel.report(root, stop_blocked(StopBlocker::Hook));
    kernel.ok(KernelInput::Adopt { fence: Fence(2), config: session_config() });
    kernel.ok(KernelInput::Resume);
    assert_eq!(kernel.report(kernel.run(1), RunUpdate::Boundary(BoundaryPoint::End)), ["1 mailDelivered [1, 2]"]);
    assert_eq!(kernel.task(1).stop_blocks, 1);
}

#[test]
fn hooks_and_expectations_have_separate_limits_per_activation() {
    let limits = SessionLimits { max_stop_blocks: 2, max_expectation_retries: 1, ..SessionLimits::default() };
    let mut kernel = KernelFixture::with(limits, |_| {});
    let root = kernel.root;
    for by in [StopBlocker::Hook, StopBlocker::Expects, StopBlocker::Hook] {
        kernel.answer_with_text(root, "done");
        kernel.report(root, stop_blocked(by));
        kernel.report(root, RunUpdate::Boundary(BoundaryPoint::End));
    }
    kernel.answer_with_text(root, "done");
    let refused = kernel.refused(KernelInput::Report(root, stop_blocked(StopBlocker::Hook)));
    assert_eq!(refused, "the end of an activation may be blocked at most 2 times");
    let refused = kernel.refused(KernelInput::Report(root, stop_blocked(StopBlocker::Expects)));
    assert_eq!(refused, "the end of an activation may be blocked at most 1 times");
    kernel.report(root, completed());
    kernel.ok(KernelInput::Send(user_mail(id(1), MailDelivery::Steer)));
    assert_eq!((kernel.task(1).stop_blocks, kernel.task(1).expectation_retries), (0, 0));
}

#[test]
fn only_a_run_with_a_final_message_can_be_blocked_from_stopping() {
    let mut kernel = KernelFixture::new();
    let root = kernel.root;
    let block = |run| KernelInput::Report(run, stop_blocked(StopBlocker::Hook));
    assert_eq!(kernel.refused(block(root)), "there is no final message");
    kernel.answer_with_calls(root, &["a"]);
    assert_eq!(kernel.refused(block(root)), "a turn is in progress");
    kernel.child(2);
    kernel.ok(KernelInput::Cancel { task: id(2), by: CancelBy::User, how: CancelMode::WrapUp });
    kernel.answer_with_text(kernel.run(2), "so far");
    assert!(kernel.refused(block(kernel.run(2))).starts_with("the end of an activation may be blocked"));
    kernel.spawn(3, |spec| spec.kind = TaskType::Shell);
    assert_eq!(kernel.refused(block(kernel.run(3))), "there is no final message");
}

#[test]
fn start_and_stop_hooks_are_recorded_once_per_activation() {
    let mut kernel = KernelFixture::new();
    kernel.child(2);
    let two = kernel.run(2);
    assert_eq!(kernel.report(two, RunUpdate::StartHooksRan(vec!["hello".into()])), ["2 startHooksRan"]);
    assert!(kernel.report(two, RunUpdate::StartHooksRan(Vec::new())).is_empty());
    kernel.report(two, RunUpdate::Boundary(BoundaryPoint::BetweenTurns));
    assert_eq!(kernel.ok(stop_hooks_ran(2, 1)), ["2 stopHooksRan"]);
    assert!(kernel.ok(stop_hooks_ran(2, 1)).is_empty());
    assert!(kernel.report(two, RunUpdate::StartHooksRan(Vec::new())).is_empty(), "its hooks have already run");
    assert!(kernel.ok(stop_hooks_ran(2, 7)).is_empty());
    assert!(kernel.refused(stop_hooks_ran(9, 1)).starts_with("there is no task"));
}

#[test]
fn a_later_owner_runs_the_pending_stop_hooks() {
    let mut kernel = KernelFixture::new();
    kernel.child(2);
    kernel.report(kernel.run(2), RunUpdate::StartHooksRan(Vec::new()));
    kernel.complete(kernel.run(2));
    kernel.ok(KernelInput::Adopt { fence: Fence(2), config: session_config() });
    assert_eq!(kernel.task(2).pending_stop_hooks.iter().copied().collect::<Vec<_>>(), [Activation(1)]);
    assert_eq!(kernel.ok(stop_hooks_ran(2, 1)), ["2 stopHooksRan"]);
    assert!(kernel.task(2).pending_stop_hooks.is_empty());
}

#[test]
fn start_hooks_are_not_recorded_again_for_the_next_attempt() {
    let mut kernel = KernelFixture::new();
    kernel.child(2);
    kernel.report(kernel.run(2), RunUpdate::StartHooksRan(Vec::new()));
    kernel.ok(KernelInput::Adopt { fence: Fence(2), config: session_config() });
    kernel.ok(KernelInput::Resume);
    assert!(kernel.report(kernel.run(2), RunUpdate::StartHooksRan(Vec::new())).is_empty());
}

#[test]
fn a_fork_has_no_pending_stop_hooks() {
    let mut kernel = KernelFixture::new();
    kernel.child(2);
    kernel.report(kernel.root, RunUpdate::StartHooksRan(Vec::new()));
    kernel.report(kernel.run(2), RunUpdate::StartHooksRan(Vec::new()));
    kernel.ok(KernelInput::Fork { from: SessionId::new(id(7).uuid()) });
    assert!(kernel.task(1).pending_stop_hooks.is_empty() && kernel.task(2).pending_stop_hooks.is_empty());
}

#[test]
fn a_stall_is_recorded_once_and_ends_with_any_report() {
    let mut kernel = KernelFixture::new();
    kernel.child(2);
    let two = kernel.run(2);
    let stall = || KernelInput::Stall { run: two, since: Timestamp(50) };
    assert_eq!(kernel.ok(stall()), ["2 taskStalled"]);
    assert!(kernel.ok(stall()).is_empty());
    assert_eq!(kernel.ok(KernelInput::Unstall(two)), ["2 taskUnstalled"]);
    assert!(kernel.ok(KernelInput::Unstall(two)).is_empty());
    kernel.ok(stall());
    assert!(kernel.report(two, RunUpdate::Intent("on it".into())).contains(&"2 taskUnstalled".into()));
    kernel.ok(stall());
    kernel.ok(KernelInput::Suspend);
    assert!(!kernel.task(2).stalled);
    assert_eq!(kernel.refused(stall()), "this run of the task is over");
}

#[test]
fn a_waiting_task_is_not_stalled() {
    let mut kernel =
        KernelFixture::with(SessionLimits { live: 4, depth: 4, total: 9, ..SessionLimits::default() }, |_| {});
    kernel.child(2);
    let two = kernel.run(2);
    let turn = kernel.answer_with_calls(two, &["a"]);
    kernel.ok(KernelInput::Stall { run: two, since: Timestamp(50) });
    assert!(kernel.spawn_sync(two, turn, "a", 3).contains(&"2 taskUnstalled".into()));
    assert!(kernel.ok(KernelInput::Stall { run: two, since: Timestamp(50) }).is_empty());
    assert!(!kernel.task(2).stalled);
}

#[test]
fn only_ended_tasks_can_be_forgotten_and_they_still_count() {
    let mut kernel = KernelFixture::new();
    kernel.child(2);
    assert!(kernel.refused(KernelInput::Forget(id(2))).ends_with("has not ended; stop it first"));
    kernel.complete(kernel.run(2));
    assert_eq!(kernel.ok(KernelInput::Forget(id(2))), ["2 taskForgotten"]);
    assert!(kernel.ok(KernelInput::Forget(id(2))).is_empty());
    assert_eq!(kernel.kernel.started_agents(), 1);
    assert!(kernel.refused(KernelInput::Forget(id(1))).ends_with("stop it first"));
}

//! What is noted of an activation around its work: holds, greetings, silence, and records nobody needs.

use bosun_kernel::*;
use protocol::*;

use crate::fixture::*;

fn held(by: StopBlocker) -> RunUpdate {
    RunUpdate::StopBlocked { by, reason: "not yet".into() }
}

fn completed() -> RunUpdate {
    RunUpdate::Ended { ending: RunEnding::Completed, text: "done".into() }
}

fn part(task: u128, activation: u32) -> KernelInput {
    KernelInput::StopHooksRan { task: id(task), activation: Activation(activation) }
}

#[test]
fn a_held_stop_is_told_why_before_it_can_end() {
    let mut kernel = KernelFixture::new();
    let root = kernel.root;
    kernel.says(root, "done");
    assert_eq!(kernel.report(root, held(StopBlocker::Hook)), ["1 stopBlocked", "1 mailAdmitted"]);
    assert_eq!(kernel.refused(KernelInput::Report(root, completed())), "there is unread mail");
    assert_eq!(kernel.report(root, RunUpdate::Boundary(BoundaryPoint::Between)), ["1 mailDelivered [1]"]);
    kernel.says(root, "now it is");
    kernel.report(root, completed());
}

#[test]
fn an_activation_that_has_mail_to_read_is_not_parted_from() {
    let mut kernel = KernelFixture::new();
    let root = kernel.root;
    kernel.report(root, RunUpdate::StartHooksRan(Vec::new()));
    kernel.says(root, "done");
    kernel.ok(KernelInput::Send(letter(id(1), MailDelivery::Steer)));
    assert_eq!(kernel.refused(part(1, 1)), "there is unread mail");
    kernel.report(root, RunUpdate::Boundary(BoundaryPoint::End));
    kernel.says(root, "now it is");
    assert_eq!(kernel.ok(part(1, 1)), ["1 stopHooksRan"]);
    kernel.report(root, completed());
}

#[test]
fn a_held_stop_keeps_its_reason_when_the_owner_dies_and_mail_that_came_before_goes_first() {
    let mut kernel = KernelFixture::new();
    let root = kernel.root;
    kernel.says(root, "done");
    kernel.ok(KernelInput::Send(letter(id(1), MailDelivery::Steer)));
    kernel.report(root, held(StopBlocker::Hook));
    kernel.ok(KernelInput::Adopt { fence: Fence(2), config: terms() });
    kernel.ok(KernelInput::Resume);
    assert_eq!(kernel.report(kernel.run(1), RunUpdate::Boundary(BoundaryPoint::End)), ["1 mailDelivered [1, 2]"]);
    assert_eq!(kernel.task(1).stop_blocks, 1);
}

#[test]
fn hooks_and_expectations_hold_as_often_as_each_may_and_a_new_activation_begins_anew() {
    let limits = SessionLimits { max_stop_blocks: 2, max_repairs: 1, ..SessionLimits::default() };
    let mut kernel = KernelFixture::with(limits, |_| {});
    let root = kernel.root;
    for by in [StopBlocker::Hook, StopBlocker::Expects, StopBlocker::Hook] {
        kernel.says(root, "done");
        kernel.report(root, held(by));
        kernel.report(root, RunUpdate::Boundary(BoundaryPoint::End));
    }
    kernel.says(root, "done");
    let refused = kernel.refused(KernelInput::Report(root, held(StopBlocker::Hook)));
    assert_eq!(refused, "its end may be blocked at most 2 times");
    let refused = kernel.refused(KernelInput::Report(root, held(StopBlocker::Expects)));
    assert_eq!(refused, "its end may be blocked at most 1 times");
    kernel.report(root, completed());
    kernel.ok(KernelInput::Send(letter(id(1), MailDelivery::Steer)));
    assert_eq!((kernel.task(1).stop_blocks, kernel.task(1).repairs), (0, 0));
}

#[test]
fn only_a_run_that_would_end_well_can_be_held() {
    let mut kernel = KernelFixture::new();
    let root = kernel.root;
    let hold = |run| KernelInput::Report(run, held(StopBlocker::Hook));
    assert_eq!(kernel.refused(hold(root)), "there is no final message");
    kernel.calls(root, &["a"]);
    assert_eq!(kernel.refused(hold(root)), "a turn is under way");
    kernel.child(2);
    kernel.ok(KernelInput::Cancel { task: id(2), by: CancelBy::User, how: CancelMode::WrapUp });
    kernel.says(kernel.run(2), "so far");
    assert!(kernel.refused(hold(kernel.run(2))).starts_with("its end may be blocked"));
    kernel.spawn(3, |spec| spec.kind = TaskType::Shell);
    assert_eq!(kernel.refused(hold(kernel.run(3))), "there is no final message");
}

#[test]
fn an_activation_is_greeted_once_and_parted_from_once() {
    let mut kernel = KernelFixture::new();
    kernel.child(2);
    let two = kernel.run(2);
    assert_eq!(kernel.report(two, RunUpdate::StartHooksRan(vec!["hello".into()])), ["2 startHooksRan"]);
    assert!(kernel.report(two, RunUpdate::StartHooksRan(Vec::new())).is_empty());
    kernel.report(two, RunUpdate::Boundary(BoundaryPoint::Between));
    assert_eq!(kernel.ok(part(2, 1)), ["2 stopHooksRan"]);
    assert!(kernel.ok(part(2, 1)).is_empty());
    assert!(kernel.report(two, RunUpdate::StartHooksRan(Vec::new())).is_empty(), "it was greeted, and parted from");
    assert!(kernel.ok(part(2, 7)).is_empty());
    assert!(kernel.refused(part(9, 1)).starts_with("there is no task"));
}

#[test]
fn a_later_owner_parts_from_what_ended_without_it() {
    let mut kernel = KernelFixture::new();
    kernel.child(2);
    kernel.report(kernel.run(2), RunUpdate::StartHooksRan(Vec::new()));
    kernel.completes(kernel.run(2));
    kernel.ok(KernelInput::Adopt { fence: Fence(2), config: terms() });
    assert_eq!(kernel.task(2).pending_stop_hooks.iter().copied().collect::<Vec<_>>(), [Activation(1)]);
    assert_eq!(kernel.ok(part(2, 1)), ["2 stopHooksRan"]);
    assert!(kernel.task(2).pending_stop_hooks.is_empty());
}

#[test]
fn the_next_attempt_of_a_greeted_activation_is_not_greeted_again() {
    let mut kernel = KernelFixture::new();
    kernel.child(2);
    kernel.report(kernel.run(2), RunUpdate::StartHooksRan(Vec::new()));
    kernel.ok(KernelInput::Adopt { fence: Fence(2), config: terms() });
    kernel.ok(KernelInput::Resume);
    assert!(kernel.report(kernel.run(2), RunUpdate::StartHooksRan(Vec::new())).is_empty());
}

#[test]
fn a_fork_parts_from_nothing_that_its_original_greeted() {
    let mut kernel = KernelFixture::new();
    kernel.child(2);
    kernel.report(kernel.root, RunUpdate::StartHooksRan(Vec::new()));
    kernel.report(kernel.run(2), RunUpdate::StartHooksRan(Vec::new()));
    kernel.ok(KernelInput::Fork { from: SessionId::new(id(7).uuid()) });
    assert!(kernel.task(1).pending_stop_hooks.is_empty() && kernel.task(2).pending_stop_hooks.is_empty());
}

#[test]
fn silence_is_noted_once_and_any_report_is_a_sign_of_life() {
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
fn one_that_waits_is_not_stalled_and_one_that_begins_to_wait_no_longer_is() {
    let mut kernel =
        KernelFixture::with(SessionLimits { live: 4, depth: 4, total: 9, ..SessionLimits::default() }, |_| {});
    kernel.child(2);
    let two = kernel.run(2);
    let turn = kernel.calls(two, &["a"]);
    kernel.ok(KernelInput::Stall { run: two, since: Timestamp(50) });
    assert!(kernel.sync(two, turn, "a", 3).contains(&"2 taskUnstalled".into()));
    assert!(kernel.ok(KernelInput::Stall { run: two, since: Timestamp(50) }).is_empty());
    assert!(!kernel.task(2).stalled);
}

#[test]
fn only_what_has_ended_is_forgotten_and_it_counts_as_before() {
    let mut kernel = KernelFixture::new();
    kernel.child(2);
    assert!(kernel.refused(KernelInput::Forget(id(2))).ends_with("has not ended; stop it first"));
    kernel.completes(kernel.run(2));
    assert_eq!(kernel.ok(KernelInput::Forget(id(2))), ["2 taskForgotten"]);
    assert!(kernel.ok(KernelInput::Forget(id(2))).is_empty());
    assert_eq!(kernel.kernel.started_agents(), 1);
    assert!(kernel.refused(KernelInput::Forget(id(1))).ends_with("stop it first"));
}

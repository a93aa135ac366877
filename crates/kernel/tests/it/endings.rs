//! What is noted of an activation around its work: holds, greetings, silence, and records nobody needs.

use bosun_kernel::*;
use protocol::*;

use crate::desk::*;

fn held(by: Holder) -> Report {
    Report::Held { by, reason: "not yet".into() }
}

fn completed() -> Report {
    Report::Ended { ending: Ending::Completed, text: "done".into() }
}

fn part(task: u128, activation: u32) -> Input {
    Input::Part { task: id(task), activation: Activation(activation) }
}

#[test]
fn a_held_stop_is_told_why_before_it_can_end() {
    let mut desk = Desk::new();
    let root = desk.root;
    desk.says(root, "done");
    assert_eq!(desk.report(root, held(Holder::Hook)), ["1 stopHeld", "1 mailAdmitted"]);
    assert_eq!(desk.refused(Input::Report(root, completed())), "there is unread mail");
    assert_eq!(desk.report(root, Report::Boundary(Point::Between)), ["1 mailDelivered [1]"]);
    desk.says(root, "now it is");
    desk.report(root, completed());
}

#[test]
fn an_activation_that_has_mail_to_read_is_not_parted_from() {
    let mut desk = Desk::new();
    let root = desk.root;
    desk.report(root, Report::Greeted(Vec::new()));
    desk.says(root, "done");
    desk.ok(Input::Send(letter(id(1), Delivery::Steer)));
    assert_eq!(desk.refused(part(1, 1)), "there is unread mail");
    desk.report(root, Report::Boundary(Point::End));
    desk.says(root, "now it is");
    assert_eq!(desk.ok(part(1, 1)), ["1 activationParted"]);
    desk.report(root, completed());
}

#[test]
fn a_held_stop_keeps_its_reason_when_the_owner_dies_and_mail_that_came_before_goes_first() {
    let mut desk = Desk::new();
    let root = desk.root;
    desk.says(root, "done");
    desk.ok(Input::Send(letter(id(1), Delivery::Steer)));
    desk.report(root, held(Holder::Hook));
    desk.ok(Input::Adopt { fence: Fence(2), terms: terms() });
    desk.ok(Input::Resume);
    assert_eq!(desk.report(desk.run(1), Report::Boundary(Point::End)), ["1 mailDelivered [1, 2]"]);
    assert_eq!(desk.task(1).holds, 1);
}

#[test]
fn hooks_and_expectations_hold_as_often_as_each_may_and_a_new_activation_begins_anew() {
    let limits = Limits { holds: 2, repairs: 1, ..Limits::default() };
    let mut desk = Desk::with(limits, |_| {});
    let root = desk.root;
    for by in [Holder::Hook, Holder::Expects, Holder::Hook] {
        desk.says(root, "done");
        desk.report(root, held(by));
        desk.report(root, Report::Boundary(Point::End));
    }
    desk.says(root, "done");
    let refused = desk.refused(Input::Report(root, held(Holder::Hook)));
    assert_eq!(refused, "it was kept from ending 2 times, which is all it may be");
    let refused = desk.refused(Input::Report(root, held(Holder::Expects)));
    assert_eq!(refused, "it was kept from ending 1 times, which is all it may be");
    desk.report(root, completed());
    desk.ok(Input::Send(letter(id(1), Delivery::Steer)));
    assert_eq!((desk.task(1).holds, desk.task(1).repairs), (0, 0));
}

#[test]
fn only_a_run_that_would_end_well_can_be_held() {
    let mut desk = Desk::new();
    let root = desk.root;
    let hold = |run| Input::Report(run, held(Holder::Hook));
    assert_eq!(desk.refused(hold(root)), "there is no final message");
    desk.calls(root, &["a"]);
    assert_eq!(desk.refused(hold(root)), "a turn is under way");
    desk.child(2);
    desk.ok(Input::Cancel { task: id(2), by: CancelBy::User, how: Cancel::WrapUp });
    desk.says(desk.run(2), "so far");
    assert!(desk.refused(hold(desk.run(2))).starts_with("it was kept from ending"));
    desk.spawn(3, |spec| spec.kind = Kind::Shell);
    assert_eq!(desk.refused(hold(desk.run(3))), "there is no final message");
}

#[test]
fn h4_an_activation_is_greeted_once_and_parted_from_once() {
    let mut desk = Desk::new();
    desk.child(2);
    let two = desk.run(2);
    assert_eq!(desk.report(two, Report::Greeted(vec!["hello".into()])), ["2 activationGreeted"]);
    assert!(desk.report(two, Report::Greeted(Vec::new())).is_empty());
    desk.report(two, Report::Boundary(Point::Between));
    assert_eq!(desk.ok(part(2, 1)), ["2 activationParted"]);
    assert!(desk.ok(part(2, 1)).is_empty());
    assert!(desk.report(two, Report::Greeted(Vec::new())).is_empty(), "it was greeted, and parted from");
    assert!(desk.ok(part(2, 7)).is_empty());
    assert!(desk.refused(part(9, 1)).starts_with("there is no task"));
}

#[test]
fn h4_a_later_owner_parts_from_what_ended_without_it() {
    let mut desk = Desk::new();
    desk.child(2);
    desk.report(desk.run(2), Report::Greeted(Vec::new()));
    desk.completes(desk.run(2));
    desk.ok(Input::Adopt { fence: Fence(2), terms: terms() });
    assert_eq!(desk.task(2).unparted.iter().copied().collect::<Vec<_>>(), [Activation(1)]);
    assert_eq!(desk.ok(part(2, 1)), ["2 activationParted"]);
    assert!(desk.task(2).unparted.is_empty());
}

#[test]
fn h4_the_next_attempt_of_a_greeted_activation_is_not_greeted_again() {
    let mut desk = Desk::new();
    desk.child(2);
    desk.report(desk.run(2), Report::Greeted(Vec::new()));
    desk.ok(Input::Adopt { fence: Fence(2), terms: terms() });
    desk.ok(Input::Resume);
    assert!(desk.report(desk.run(2), Report::Greeted(Vec::new())).is_empty());
}

#[test]
fn h4_a_fork_parts_from_nothing_that_its_original_greeted() {
    let mut desk = Desk::new();
    desk.child(2);
    desk.report(desk.root, Report::Greeted(Vec::new()));
    desk.report(desk.run(2), Report::Greeted(Vec::new()));
    desk.ok(Input::Fork { from: SessionId::new(id(7).uuid()) });
    assert!(desk.task(1).unparted.is_empty() && desk.task(2).unparted.is_empty());
}

#[test]
fn r6_silence_is_noted_once_and_any_report_is_a_sign_of_life() {
    let mut desk = Desk::new();
    desk.child(2);
    let two = desk.run(2);
    let stall = || Input::Stall { run: two, since: At(50) };
    assert_eq!(desk.ok(stall()), ["2 taskStalled"]);
    assert!(desk.ok(stall()).is_empty());
    assert_eq!(desk.ok(Input::Stir(two)), ["2 taskStirred"]);
    assert!(desk.ok(Input::Stir(two)).is_empty());
    desk.ok(stall());
    assert!(desk.report(two, Report::Intent("on it".into())).contains(&"2 taskStirred".into()));
    desk.ok(stall());
    desk.ok(Input::Suspend);
    assert!(!desk.task(2).stalled);
    assert_eq!(desk.refused(stall()), "this run of the task is over");
}

#[test]
fn r6_one_that_waits_is_not_stalled_and_one_that_begins_to_wait_no_longer_is() {
    let mut desk = Desk::with(Limits { live: 4, depth: 4, total: 9, ..Limits::default() }, |_| {});
    desk.child(2);
    let two = desk.run(2);
    let turn = desk.calls(two, &["a"]);
    desk.ok(Input::Stall { run: two, since: At(50) });
    assert!(desk.sync(two, turn, "a", 3).contains(&"2 taskStirred".into()));
    assert!(desk.ok(Input::Stall { run: two, since: At(50) }).is_empty());
    assert!(!desk.task(2).stalled);
}

#[test]
fn r3_only_what_has_ended_is_forgotten_and_it_counts_as_before() {
    let mut desk = Desk::new();
    desk.child(2);
    assert!(desk.refused(Input::Forget(id(2))).ends_with("has not ended; stop it first"));
    desk.completes(desk.run(2));
    assert_eq!(desk.ok(Input::Forget(id(2))), ["2 taskForgotten"]);
    assert!(desk.ok(Input::Forget(id(2))).is_empty());
    assert_eq!(desk.kernel.started(), 1);
    assert!(desk.refused(Input::Forget(id(1))).ends_with("stop it first"));
}

//! Mail: who may write, when it is read, what becomes of it.

use bosun_kernel::*;
use protocol::*;

use crate::desk::*;

fn send(desk: &mut Desk, to: u128, delivery: Delivery) -> Vec<String> {
    desk.ok(Input::Send(letter(id(to), delivery)))
}

#[test]
fn steering_is_read_between_turns_and_a_follow_up_only_at_the_end() {
    let mut desk = Desk::new();
    let root = desk.root;
    desk.says(root, "hm");
    assert_eq!(send(&mut desk, 1, Delivery::FollowUp), ["1 mailAdmitted"]);
    assert_eq!(send(&mut desk, 1, Delivery::Steer), ["1 mailAdmitted"]);
    assert_eq!(desk.report(root, Report::Boundary(Point::Between)), ["1 mailDelivered [2]"]);
    assert!(desk.report(root, Report::Boundary(Point::Between)).is_empty());
    assert_eq!(desk.report(root, Report::Boundary(Point::End)), ["1 mailDelivered [1]"]);
}

#[test]
fn a_follow_up_that_wakes_is_read_at_once() {
    let mut desk = Desk::new();
    desk.completes(desk.root);
    let woken = send(&mut desk, 1, Delivery::FollowUp);
    assert_eq!(woken, ["1 mailAdmitted", "1 taskRequeued", "1 activationStarted", "start 1:2.1"]);
    let run = desk.run(1);
    assert_eq!(desk.report(run, Report::Boundary(Point::Between)), ["1 mailDelivered [1]"]);
}

#[test]
fn nothing_completes_over_unread_mail() {
    let mut desk = Desk::new();
    let root = desk.root;
    desk.says(root, "done");
    send(&mut desk, 1, Delivery::FollowUp);
    let end = || Report::Ended { ending: Ending::Completed, text: "done".into() };
    assert_eq!(desk.refused(Input::Report(root, end())), "there is unread mail");
    desk.report(root, Report::Boundary(Point::End));
    assert_eq!(desk.report(root, end()), ["1 activationEnded completed"]);
}

#[test]
fn an_interrupting_message_drops_the_turn_and_the_children_it_waits_for() {
    let mut desk = Desk::new();
    let root = desk.root;
    let turn = desk.runs(root, &["a", "b"]);
    desk.report(root, answered(turn, "b"));
    desk.sync(root, turn, "a", 2);
    let effects = send(&mut desk, 1, Delivery::Interrupt);
    assert_eq!(
        effects,
        [
            "1 mailAdmitted",
            "2 cancelRequested Parent Abort",
            "2 activationEnded cancelled",
            "2 taskFinished cancelled",
            "2 mailExpired",
            "1 waitEnded a Satisfied",
            "wait over 1:1.1 a Satisfied",
            "stop 2:1.1 Abort",
            "1 callAnswered a Cancelled"
        ]
    );
    assert_eq!(desk.report(root, Report::Boundary(Point::Between)), ["1 mailDelivered [2]"]);
    let mut asking = Desk::new();
    asking.report(asking.root, begin(7));
    let effects = send(&mut asking, 1, Delivery::Interrupt);
    assert_eq!(effects, ["1 mailAdmitted", "1 turnFailed Cancelled 7"]);
}

#[test]
fn between_turns_there_is_nothing_to_interrupt() {
    let mut desk = Desk::new();
    assert_eq!(send(&mut desk, 1, Delivery::Interrupt), ["1 mailAdmitted"]);
    desk.completes(desk.root);
    assert_eq!(send(&mut desk, 1, Delivery::Interrupt).last().unwrap(), "start 1:2.1");
}

#[test]
fn mail_to_nobody_to_the_dead_and_to_commands_is_refused() {
    let mut desk = Desk::new();
    desk.child(2);
    desk.spawn(3, |spec| spec.kind = Kind::Shell);
    let mut refused = |to| desk.refused(Input::Send(letter(id(to), Delivery::Steer)));
    assert!(refused(9).starts_with("there is no task"));
    assert!(refused(3).ends_with("takes no messages"));
    desk.ok(Input::Cancel { task: id(2), by: CancelBy::User, how: Cancel::WrapUp });
    assert!(desk.refused(Input::Send(letter(id(2), Delivery::Steer))).ends_with("is being stopped"));
    desk.ok(Input::Cancel { task: id(2), by: CancelBy::User, how: Cancel::Abort });
    assert!(desk.refused(Input::Send(letter(id(2), Delivery::Steer))).ends_with("has ended"));
}

#[test]
fn after_a_stop_only_the_user_opens_the_session_again() {
    let mut desk = Desk::new();
    desk.ok(Input::Stop { by: CancelBy::User });
    let from = |from| Input::Send(Letter { from, ..letter(id(1), Delivery::Steer) });
    assert!(desk.refused(from(Origin::Runtime)).starts_with("the session is stopping"));
    assert!(desk.refused(from(Origin::Task { id: id(1) })).starts_with("the session is stopping"));
    let reopened = desk.ok(from(Origin::User));
    assert_eq!(reopened[..2], ["1 admissionOpened", "1 mailAdmitted"]);
    assert_eq!(desk.state(1), "running");
}

#[test]
fn a_result_wakes_its_parent_and_what_fails_wakes_it_too() {
    let mut desk = Desk::new();
    desk.child(2);
    desk.completes(desk.root);
    let two = desk.run(2);
    let ending = Ending::Failed { kind: FailKind::Model, message: "no".into() };
    let ended = desk.report(two, Report::Ended { ending, text: String::new() });
    let expected = [
        "2 activationEnded failed",
        "2 taskFinished failed",
        "2 mailExpired",
        "1 mailAdmitted result 2:1",
        "1 taskRequeued",
        "1 activationStarted",
        "start 1:2.1",
    ];
    assert_eq!(ended, expected);
}

#[test]
fn a_root_that_fails_with_mail_unread_goes_on_with_it() {
    let mut desk = Desk::new();
    send(&mut desk, 1, Delivery::FollowUp);
    let ending = Ending::TimedOut(Limit::Turns);
    let ended = desk.report(desk.root, Report::Ended { ending, text: String::new() });
    assert_eq!(ended, ["1 activationEnded timed_out", "1 taskRequeued", "1 activationStarted", "start 1:2.1"]);
}

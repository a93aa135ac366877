//! Mail: who may send it, when it is delivered, and when it expires.

use bosun_kernel::*;
use protocol::*;

use crate::fixture::*;

fn send(kernel: &mut KernelFixture, to: u128, delivery: MailDelivery) -> Vec<String> {
    kernel.ok(KernelInput::Send(user_mail(id(to), delivery)))
}

#[test]
fn steering_mail_is_read_between_turns_and_a_follow_up_only_at_the_end() {
    let mut kernel = KernelFixture::new();
    let root = kernel.root;
    kernel.answer_with_text(root, "hm");
    assert_eq!(send(&mut kernel, 1, MailDelivery::FollowUp), ["1 mailAdmitted"]);
    assert_eq!(send(&mut kernel, 1, MailDelivery::Steer), ["1 mailAdmitted"]);
    assert_eq!(kernel.report(root, RunUpdate::Boundary(BoundaryPoint::BetweenTurns)), ["1 mailDelivered [2]"]);
    assert!(kernel.report(root, RunUpdate::Boundary(BoundaryPoint::BetweenTurns)).is_empty());
    assert_eq!(kernel.report(root, RunUpdate::Boundary(BoundaryPoint::End)), ["1 mailDelivered [1]"]);
}

#[test]
fn a_follow_up_that_wakes_is_read_at_once() {
    let mut kernel = KernelFixture::new();
    kernel.complete(kernel.root);
    let woken = send(&mut kernel, 1, MailDelivery::FollowUp);
    assert_eq!(woken, ["1 mailAdmitted", "1 taskRequeued", "1 activationStarted", "start 1:2.1"]);
    let run = kernel.run(1);
    assert_eq!(kernel.report(run, RunUpdate::Boundary(BoundaryPoint::BetweenTurns)), ["1 mailDelivered [1]"]);
}

#[test]
fn no_task_completes_with_unread_mail() {
    let mut kernel = KernelFixture::new();
    let root = kernel.root;
    kernel.answer_with_text(root, "done");
    send(&mut kernel, 1, MailDelivery::FollowUp);
    let end = || RunUpdate::Ended { ending: RunEnding::Completed, text: "done".into() };
    assert_eq!(kernel.refused(KernelInput::Report(root, end())), "there is unread mail");
    kernel.report(root, RunUpdate::Boundary(BoundaryPoint::End));
    assert_eq!(kernel.report(root, end()), ["1 activationEnded completed"]);
}

#[test]
fn an_interrupting_message_ends_the_turn_and_the_children_it_waits_for() {
    let mut kernel = KernelFixture::new();
    let root = kernel.root;
    let turn = kernel.answer_with_started_calls(root, &["a", "b"]);
    kernel.report(root, call_answered(turn, "b"));
    kernel.spawn_sync(root, turn, "a", 2);
    let effects = send(&mut kernel, 1, MailDelivery::Interrupt);
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
    assert_eq!(kernel.report(root, RunUpdate::Boundary(BoundaryPoint::BetweenTurns)), ["1 mailDelivered [2]"]);
    let mut asking = KernelFixture::new();
    asking.report(asking.root, begin(7));
    let effects = send(&mut asking, 1, MailDelivery::Interrupt);
    assert_eq!(effects, ["1 mailAdmitted", "1 turnFailed Cancelled 7"]);
}

#[test]
fn between_turns_there_is_nothing_to_interrupt() {
    let mut kernel = KernelFixture::new();
    assert_eq!(send(&mut kernel, 1, MailDelivery::Interrupt), ["1 mailAdmitted"]);
    kernel.complete(kernel.root);
    assert_eq!(send(&mut kernel, 1, MailDelivery::Interrupt).last().unwrap(), "start 1:2.1");
}

#[test]
fn mail_to_unknown_ended_and_shell_tasks_is_refused() {
    let mut kernel = KernelFixture::new();
    kernel.child(2);
    kernel.spawn(3, |spec| spec.kind = TaskType::Shell);
    let mut refused = |to| kernel.refused(KernelInput::Send(user_mail(id(to), MailDelivery::Steer)));
    assert!(refused(9).starts_with("there is no task"));
    assert!(refused(3).ends_with("is a command and cannot receive messages; start a new one instead"));
    kernel.ok(KernelInput::Cancel { task: id(2), by: CancelBy::User, how: CancelMode::WrapUp });
    assert!(kernel.refused(KernelInput::Send(user_mail(id(2), MailDelivery::Steer))).ends_with("is being stopped"));
    kernel.ok(KernelInput::Cancel { task: id(2), by: CancelBy::User, how: CancelMode::Abort });
    assert!(kernel.refused(KernelInput::Send(user_mail(id(2), MailDelivery::Steer))).ends_with("has ended"));
}

#[test]
fn after_a_stop_only_the_user_opens_the_session_again() {
    let mut kernel = KernelFixture::new();
    kernel.ok(KernelInput::Stop { by: CancelBy::User });
    let from = |from| KernelInput::Send(NewMail { from, ..user_mail(id(1), MailDelivery::Steer) });
    assert!(kernel.refused(from(Principal::Runtime)).starts_with("the session is stopping"));
    assert!(kernel.refused(from(Principal::Task { id: id(1) })).starts_with("the session is stopping"));
    let reopened = kernel.ok(from(Principal::User));
    assert_eq!(reopened[..2], ["1 admissionOpened", "1 mailAdmitted"]);
    assert_eq!(kernel.state(1), "running");
}

#[test]
fn a_failed_child_wakes_its_parent() {
    let mut kernel = KernelFixture::new();
    kernel.child(2);
    kernel.complete(kernel.root);
    let two = kernel.run(2);
    let ending = RunEnding::Failed { kind: FailKind::Model, message: "no".into() };
    let ended = kernel.report(two, RunUpdate::Ended { ending, text: String::new() });
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
fn a_root_that_fails_with_unread_mail_starts_again() {
    let mut kernel = KernelFixture::new();
    send(&mut kernel, 1, MailDelivery::FollowUp);
    let ending = RunEnding::TimedOut(LimitKind::Turns);
    let ended = kernel.report(kernel.root, RunUpdate::Ended { ending, text: String::new() });
    assert_eq!(ended, ["1 activationEnded timed_out", "1 taskRequeued", "1 activationStarted", "start 1:2.1"]);
}

//! A task that is asked to stop has a last turn and a deadline for it, in any phase and under any owner.

use bosun_kernel::*;
use protocol::*;

use crate::fixture::*;

const GRACE: u64 = 30_000;

fn wide() -> KernelFixture {
    KernelFixture::with(SessionLimits { live: 4, depth: 4, total: 9, ..SessionLimits::default() }, |_| {})
}

fn stop(task: u128) -> KernelInput {
    KernelInput::Cancel { task: id(task), by: CancelBy::User, how: CancelMode::WrapUp }
}

fn adopt() -> KernelInput {
    KernelInput::Adopt { fence: Fence(2), config: session_config() }
}

#[test]
fn a_task_that_misses_the_deadline_of_its_last_turn_is_aborted() {
    let mut kernel = wide();
    kernel.child(2);
    let two = kernel.run(2);
    kernel.report(two, begin(7));
    kernel.ok(stop(2));
    assert_eq!(kernel.kernel.next_alarm(), Some(Timestamp(100 + GRACE)));
    kernel.now = Timestamp(100 + GRACE - 1);
    assert!(kernel.ok(KernelInput::Tick).is_empty());
    kernel.now = Timestamp(100 + GRACE);
    let effects = kernel.ok(KernelInput::Tick);
    assert_eq!(
        effects[..3],
        ["2 cancelRequested User Abort", "2 turnFailed Cancelled 7", "2 activationEnded cancelled"]
    );
    assert!(effects.contains(&"stop 2:1.1 Abort".into()));
    assert_eq!((kernel.state(2), kernel.kernel.next_alarm()), ("cancelled", None));
}

#[test]
fn a_second_request_to_stop_does_not_move_the_deadline() {
    let mut kernel = wide();
    kernel.child(2);
    kernel.ok(stop(2));
    kernel.now = Timestamp(9_000);
    kernel.ok(stop(2));
    assert_eq!(kernel.kernel.next_alarm(), Some(Timestamp(100 + GRACE)));
}

#[test]
fn a_task_that_waits_for_a_child_gets_its_result_before_its_own_last_turn() {
    let mut kernel = wide();
    kernel.child(2);
    let two = kernel.run(2);
    let turn = kernel.answer_with_calls(two, &["a"]);
    kernel.spawn_sync(two, turn, "a", 3);
    let asked = kernel.ok(stop(2));
    assert_eq!(asked[2..], ["stop 3:1.1 WrapUp", "stop 2:1.1 WrapUp"]);
    let three = kernel.run(3);
    kernel.report(three, RunUpdate::WrapUp(WrapUpReason::Stop));
    kernel.answer_with_text(three, "so far");
    let ended = kernel.report(three, RunUpdate::Ended { ending: RunEnding::Completed, text: "so far".into() });
    assert!(ended.contains(&"3 taskFinished cancelled".into()) && ended.contains(&"go 2:1.1".into()), "{ended:?}");
    kernel.report(two, call_answered(turn, "a"));
    kernel.report(two, RunUpdate::WrapUp(WrapUpReason::Stop));
    kernel.answer_with_text(two, "all I have");
    kernel.report(two, RunUpdate::Ended { ending: RunEnding::Completed, text: "all I have".into() });
    assert_eq!((kernel.state(2), kernel.kernel.next_alarm()), ("cancelled", None));
}

#[test]
fn an_open_ask_does_not_delay_the_deadline() {
    let mut kernel = wide();
    kernel.child(2);
    let two = kernel.run(2);
    let turn = kernel.answer_with_calls(two, &["a"]);
    let subject =
        AskSubject::Permission { tool: "t".into(), input: "{}".into(), reason: "r".into(), rules: Vec::new() };
    let ask = Ask { id: AskId("q".into()), call: CallId("a".into()), subject, until_at: None };
    kernel.report(two, RunUpdate::Ask { turn, ask });
    assert!(kernel.ok(stop(2)).contains(&"stop 2:1.1 WrapUp".into()));
    kernel.now = Timestamp(100 + GRACE);
    assert!(kernel.ok(KernelInput::Tick).contains(&"2 callAnswered a Cancelled".into()));
    assert_eq!((kernel.kernel.open_asks(), kernel.state(2)), (0, "cancelled"));
}

#[test]
fn the_deadline_of_a_parked_task_does_not_wait_for_the_quota() {
    let mut kernel = wide();
    kernel.child(2);
    kernel.ok(stop(2));
    kernel.report(kernel.run(2), RunUpdate::Park(parking(Timestamp(9_000_000))));
    assert_eq!(kernel.kernel.next_alarm(), Some(Timestamp(100 + GRACE)));
    kernel.now = Timestamp(100 + GRACE);
    kernel.ok(KernelInput::Tick);
    assert_eq!((kernel.state(2), kernel.kernel.next_alarm()), ("cancelled", None));
}

#[test]
fn a_parked_task_takes_its_last_turn_if_the_quota_resets_before_the_deadline() {
    let mut kernel = wide();
    kernel.child(2);
    kernel.ok(stop(2));
    kernel.report(kernel.run(2), RunUpdate::Park(parking(Timestamp(500))));
    kernel.now = Timestamp(500);
    let woken = kernel.ok(KernelInput::Tick);
    assert_eq!(woken, ["2 taskRequeued", "2 activationStarted", "start 2:1.2", "stop 2:1.2 WrapUp"]);
}

#[test]
fn the_next_owner_stops_the_task_with_the_same_deadline() {
    let mut kernel = wide();
    kernel.child(2);
    kernel.ok(stop(2));
    kernel.ok(adopt());
    assert_eq!(kernel.kernel.next_alarm(), None, "without a run there is nothing to stop");
    let resumed = kernel.ok(KernelInput::Resume);
    assert_eq!(resumed[resumed.len() - 2..], ["start 2:1.2", "stop 2:1.2 WrapUp"]);
    assert_eq!(kernel.kernel.next_alarm(), Some(Timestamp(100 + GRACE)));
    kernel.now = Timestamp(100 + GRACE);
    kernel.ok(KernelInput::Tick);
    assert_eq!(kernel.state(2), "cancelled");
}

#[test]
fn a_queued_task_is_aborted_at_its_deadline() {
    let mut kernel =
        KernelFixture::with(SessionLimits { live: 1, depth: 2, total: 9, ..SessionLimits::default() }, |_| {});
    kernel.child(2);
    kernel.child(3);
    kernel.ok(stop(2));
    kernel.ok(adopt());
    kernel.ok(KernelInput::Resume);
    assert_eq!((kernel.state(3), kernel.state(2)), ("running", "queued"));
    kernel.now = Timestamp(100 + GRACE);
    let effects = kernel.ok(KernelInput::Tick);
    assert_eq!(kernel.state(2), "cancelled", "{effects:?}");
}

#[test]
fn tasks_that_are_not_running_are_stopped_without_a_last_turn() {
    let mut kernel =
        KernelFixture::with(SessionLimits { live: 2, depth: 2, total: 9, ..SessionLimits::default() }, |_| {});
    kernel.spawn(2, |spec| spec.on_complete = CompletionPolicy::Idle);
    kernel.complete(kernel.run(2));
    kernel.child(3);
    kernel.report(kernel.run(3), RunUpdate::Park(parking(Timestamp(9_000))));
    kernel.child(4);
    kernel.ok(adopt());
    for n in 2..5 {
        assert!(!kernel.ok(stop(n)).iter().any(|effect| effect.starts_with("stop")));
        assert_eq!(kernel.state(n), "cancelled");
    }
    assert_eq!(kernel.kernel.next_alarm(), None);
}

#[test]
fn a_command_has_no_last_turn() {
    let mut kernel = wide();
    kernel.child(2);
    kernel.spawn(3, |spec| {
        spec.parent = Some(id(2));
        spec.kind = TaskType::Shell;
    });
    let stopped = kernel.ok(stop(2));
    assert!(stopped.contains(&"stop 3:1.1 Abort".into()), "{stopped:?}");
    assert_eq!((kernel.state(2), kernel.state(3)), ("running", "cancelled"));
}

#[test]
fn an_interrupt_finishes_a_task_that_was_asked_to_stop() {
    let mut kernel = wide();
    kernel.spawn(2, |spec| spec.on_complete = CompletionPolicy::Idle);
    kernel.ok(stop(2));
    kernel.ok(KernelInput::Interrupt(id(2)));
    assert_eq!(kernel.state(2), "cancelled");
}

#[test]
fn a_stopped_root_is_not_woken_by_tasks_that_were_stopped_with_it() {
    let mut kernel = wide();
    kernel.child(2);
    kernel.ok(stop(1));
    let ended = |kernel: &mut KernelFixture, run| {
        kernel.answer_with_text(run, "so far");
        kernel.report(run, RunUpdate::Ended { ending: RunEnding::Completed, text: "so far".into() })
    };
    let root = kernel.root;
    assert_eq!(ended(&mut kernel, root), ["1 activationEnded cancelled"]);
    let two = kernel.run(2);
    let last = ended(&mut kernel, two);
    assert_eq!(last.last().unwrap(), "1 mailAdmitted result 2:1");
    assert_eq!(kernel.state(1), "idle");
    let asked = kernel.ok(KernelInput::Send(user_mail(id(1), MailDelivery::Steer)));
    assert_eq!(asked.last().unwrap(), "start 1:2.1");
    assert_eq!(
        kernel.report(kernel.run(1), RunUpdate::Boundary(BoundaryPoint::BetweenTurns)),
        ["1 mailDelivered [2, 3]"]
    );
}

#[test]
fn an_idle_root_is_woken_when_the_user_stops_its_child() {
    let mut kernel = wide();
    kernel.child(2);
    kernel.complete(kernel.root);
    kernel.ok(KernelInput::Cancel { task: id(2), by: CancelBy::User, how: CancelMode::Abort });
    assert_eq!(kernel.state(1), "running");
}

//! Changes of the session's owner.

use bosun_kernel::*;
use protocol::*;

use crate::fixture::*;

fn adopt() -> KernelInput {
    KernelInput::Adopt { fence: Fence(2), config: session_config() }
}

#[test]
fn running_calls_are_answered_as_interrupted_and_pending_ones_are_kept() {
    let mut kernel = KernelFixture::new();
    let root = kernel.root;
    let turn = kernel.answer_with_calls(root, &["a", "b", "c"]);
    kernel.report(root, RunUpdate::CallStarted { turn, call: CallId("a".into()) });
    kernel.report(root, RunUpdate::CallStarted { turn, call: CallId("c".into()) });
    kernel.spawn_sync(root, turn, "c", 2);
    assert_eq!(
        kernel.ok(adopt()),
        [
            "1 sessionAdopted",
            "1 callAnswered a Interrupted",
            "1 taskInterrupted",
            "stop 1:1.1 Abort",
            "2 taskInterrupted",
            "stop 2:1.1 Abort"
        ]
    );
    assert_eq!((kernel.state(1), kernel.kernel.is_quiet()), ("interrupted", true));
    let resumed = kernel.ok(KernelInput::Resume);
    assert!(resumed.contains(&"start 1:1.2".into()) && resumed.contains(&"start 2:1.2".into()));
    let phases: Vec<_> = kernel.task(1).work.calls().map(|(call, phase)| (call.0.as_str(), phase.clone())).collect();
    assert_eq!(phases[..2], [("a", CallPhase::Answered), ("b", CallPhase::Pending)]);
    assert!(matches!(phases[2], ("c", CallPhase::Waiting(_))));
    // The child's result still reaches the call that waited before the owner changed.
    kernel.report(kernel.run(2), RunUpdate::Boundary(BoundaryPoint::BetweenTurns));
    let ended = kernel.complete(kernel.run(2));
    assert_eq!(ended.last().unwrap(), "wait over 1:1.2 c Satisfied");
    assert_eq!(kernel.refused(KernelInput::Report(root, call_answered(turn, "b"))), "this run of the task is over");
}

#[test]
fn a_wait_can_end_without_an_owner() {
    let mut kernel = KernelFixture::new();
    kernel.spawn(2, |spec| spec.kind = TaskType::Shell);
    let root = kernel.root;
    let turn = kernel.answer_with_started_calls(root, &["w"]);
    kernel.report(root, wait(turn, "w", &[2], WaitMode::All, None));
    let adopted = kernel.ok(adopt());
    assert!(adopted.contains(&"2 taskFinished lost".into()) && adopted.contains(&"1 waitEnded w Satisfied".into()));
    assert!(!adopted.iter().any(|effect| effect.starts_with("wait over")), "no run can be notified");
    kernel.ok(KernelInput::Resume);
    let waited = kernel.task(1).work.call(&CallId("w".into())).cloned();
    assert_eq!(waited, Some(CallPhase::Waited { on: vec![id(2)], why: WaitEnd::Satisfied }));
    kernel.report(kernel.run(1), call_answered(turn, "w"));
}

#[test]
fn an_interrupted_model_request_is_charged_and_repeated() {
    let mut kernel = KernelFixture::new();
    kernel.report(kernel.root, begin(9));
    let adopted = kernel.ok(adopt());
    assert_eq!(adopted[1..3], ["1 turnFailed Interrupted 9", "1 taskInterrupted"]);
    assert_eq!(kernel.task(1).ledger.spent, tokens(9));
    kernel.ok(KernelInput::Resume);
    kernel.report(kernel.run(1), kernel.begin());
    assert_eq!(kernel.task(1).turn, Turn(2));
}

#[test]
fn tasks_are_woken_only_when_the_session_is_resumed() {
    let mut kernel =
        KernelFixture::with(SessionLimits { live: 1, depth: 2, total: 9, ..SessionLimits::default() }, |_| {});
    kernel.spawn(2, |spec| spec.kind = TaskType::Shell);
    kernel.child(3);
    kernel.child(4);
    kernel.complete(kernel.root);
    let left = kernel.ok(KernelInput::Suspend);
    assert!(left.contains(&"1 mailAdmitted result 2:1".into()));
    assert!(!left.iter().any(|effect| effect.starts_with("start")), "{left:?}");
    assert_eq!((kernel.state(1), kernel.state(3), kernel.state(4)), ("idle", "interrupted", "queued"));
    let resumed = kernel.ok(KernelInput::Resume);
    let started: Vec<_> = resumed.iter().filter(|effect| effect.starts_with("start")).collect();
    assert_eq!(started, ["start 1:2.1", "start 4:1.1"]);
    assert_eq!(kernel.state(3), "queued");
}

#[test]
fn an_agent_that_only_waits_is_resumed_without_a_slot() {
    let mut kernel =
        KernelFixture::with(SessionLimits { live: 1, depth: 4, total: 9, ..SessionLimits::default() }, |_| {});
    kernel.child(2);
    let two = kernel.run(2);
    let turn = kernel.answer_with_started_calls(two, &["a"]);
    kernel.spawn_sync(two, turn, "a", 3);
    kernel.ok(adopt());
    let resumed = kernel.ok(KernelInput::Resume);
    assert!(resumed.contains(&"start 2:1.2".into()) && resumed.contains(&"start 3:1.2".into()), "{resumed:?}");
    assert_eq!(kernel.task(2).phase, TaskPhase::Running(SlotStatus::Lent));
}

#[test]
fn the_new_owner_sets_the_turn_limit_of_the_root() {
    let mut kernel = KernelFixture::new();
    assert_eq!(kernel.task(1).max_turns, None);
    kernel.child(2);
    kernel.ok(adopt());
    assert_eq!((kernel.task(1).max_turns, kernel.task(2).max_turns), (Some(3), None));
}

#[test]
fn an_adopted_session_accepts_new_tasks_again() {
    let mut kernel = KernelFixture::new();
    kernel.ok(KernelInput::Stop { by: CancelBy::User });
    assert_eq!(kernel.ok(adopt()), ["1 sessionAdopted", "1 admissionOpened"]);
    kernel.child(2);
}

#[test]
fn a_fork_stops_the_copied_tasks() {
    let mut kernel = KernelFixture::new();
    kernel.child(2);
    kernel.ok(adopt());
    let forked = kernel.ok(KernelInput::Fork { from: SessionId::new(id(7).uuid()) });
    assert_eq!(forked[..2], ["1 sessionForked", "1 admissionClosed"]);
    assert_eq!((kernel.state(1), kernel.state(2)), ("idle", "cancelled"));
    assert!(kernel.ok(KernelInput::Resume).is_empty());
}

#[test]
fn an_idle_agent_stays_idle_in_a_fork() {
    let mut kernel = KernelFixture::new();
    kernel.spawn(2, |spec| spec.on_complete = CompletionPolicy::Idle);
    kernel.complete(kernel.run(2));
    kernel.child(3);
    kernel.ok(adopt());
    kernel.ok(KernelInput::Fork { from: SessionId::new(id(7).uuid()) });
    assert_eq!((kernel.state(1), kernel.state(2), kernel.state(3)), ("idle", "idle", "cancelled"));
    let woken = kernel.ok(KernelInput::Send(user_mail(id(2), MailDelivery::Steer)));
    assert!(woken.contains(&"2 activationStarted".into()), "{woken:?}");
}

#[test]
fn a_session_opens_once_and_accepts_nothing_before() {
    let mut kernel = KernelFixture::new();
    let again =
        KernelInput::Open { root: id(5), spec: spec(TaskType::Main, None), definition: None, config: session_config() };
    assert_eq!(kernel.refused(again), "the session is already open");
    let mut empty = Kernel::new(SessionLimits::default());
    assert_eq!(empty.decide(Timestamp(1), adopt()), Err(InputRefusal::Closed));
    assert_eq!(empty.decide(Timestamp(1), KernelInput::Stop { by: CancelBy::User }), Err(InputRefusal::Closed));
    assert!(empty.is_quiet() && empty.root().is_none());
    assert_eq!(kernel.kernel.root(), Some(id(1)));
}

#[test]
fn the_first_task_becomes_the_root_even_if_its_spec_says_otherwise() {
    let mut kernel = Kernel::new(SessionLimits::default());
    let open = KernelInput::Open {
        root: id(1),
        spec: spec(TaskType::Agent, Some(id(9))),
        definition: None,
        config: session_config(),
    };
    kernel.decide(Timestamp(1), open).unwrap();
    let root = kernel.task(id(1)).unwrap();
    assert_eq!((root.kind, root.parent, root.depth), (TaskType::Main, None, 0));
    assert_eq!(root.phase, TaskPhase::Idle);
}

#[test]
fn events_that_contradict_the_state_are_errors() {
    let mut kernel = Kernel::new(SessionLimits::default());
    let entry = |event| LogEntry { task: id(1), at: Timestamp(1), event };
    let missing = kernel.apply_event(&entry(Event::TaskRequeued)).unwrap_err();
    assert!(missing.to_string().contains("does not exist"));
    kernel.apply_event(&entry(Event::TaskCreated(Box::new(spec(TaskType::Main, None))))).unwrap();
    let twice = kernel.apply_event(&entry(Event::TaskCreated(Box::new(spec(TaskType::Main, None))))).unwrap_err();
    assert!(twice.to_string().contains("exists"));
    let call = CallId("x".into());
    let impossible = [
        Event::TaskInterrupted,
        Event::MailExpired { mail: MailId(3) },
        Event::CallStarted { call: call.clone() },
        Event::WaitEnded { call, why: WaitEnd::TimedOut },
        Event::TurnFailed {
            turn: Turn(1),
            fault: ModelFault::Auth,
            message: String::new(),
            cost: Cost::ZERO,
            retry: None,
        },
    ];
    for event in impossible {
        let error = kernel.apply_event(&entry(event.clone())).unwrap_err();
        assert!(error.to_string().contains("is idle and cannot take the event"), "{event:?}: {error}");
    }
    kernel.apply_event(&entry(Event::Unknown)).unwrap();
}

/// The root's last turn after another process has adopted the session. `until` runs before that, when the root has been
/// told to wrap up.
fn last_after(until: impl FnOnce(&mut KernelFixture, RunId)) -> Option<LastTurn> {
    let mut kernel = KernelFixture::new();
    let root = kernel.root;
    kernel.report(root, RunUpdate::WrapUp(WrapUpReason::Time));
    until(&mut kernel, root);
    kernel.ok(adopt());
    kernel.task(1).last_turn
}

#[test]
fn a_last_turn_is_cancelled_for_the_next_owner_unless_it_was_answered() {
    assert_eq!(last_after(|_, _| {}), None);
    assert_eq!(last_after(|kernel, root| drop(kernel.report(root, kernel.begin()))), None);
    assert_eq!(last_after(|kernel, _| drop(kernel.ok(KernelInput::Suspend))), None);
    assert_eq!(
        last_after(|kernel, root| kernel.answer_with_text(root, "so far")),
        Some(LastTurn::Taken(WrapUpReason::Time))
    );
    let calls = |kernel: &mut KernelFixture, root| assert_eq!(kernel.answer_with_calls(root, &["a"]), Turn(1));
    assert_eq!(last_after(calls), Some(LastTurn::Taken(WrapUpReason::Time)));
}

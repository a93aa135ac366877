//! Owners come and go.

use bosun_kernel::*;
use protocol::*;

use crate::desk::*;

fn adopt() -> Input {
    Input::Adopt { fence: Fence(2), terms: terms() }
}

#[test]
fn what_ran_is_answered_as_interrupted_and_what_had_not_started_is_kept() {
    let mut desk = Desk::new();
    let root = desk.root;
    let turn = desk.calls(root, &["a", "b", "c"]);
    desk.report(root, Report::CallStarted { turn, call: CallId("a".into()) });
    desk.report(root, Report::CallStarted { turn, call: CallId("c".into()) });
    desk.sync(root, turn, "c", 2);
    assert_eq!(
        desk.ok(adopt()),
        [
            "1 sessionAdopted",
            "1 callAnswered a Interrupted",
            "1 taskInterrupted",
            "stop 1:1.1 Abort",
            "2 taskInterrupted",
            "stop 2:1.1 Abort"
        ]
    );
    assert_eq!((desk.state(1), desk.kernel.is_quiet()), ("interrupted", true));
    let resumed = desk.ok(Input::Resume);
    assert!(resumed.contains(&"start 1:1.2".into()) && resumed.contains(&"start 2:1.2".into()));
    let phases: Vec<_> = desk.task(1).work.calls().map(|(call, phase)| (call.0.as_str(), phase.clone())).collect();
    assert_eq!(phases[..2], [("a", CallPhase::Answered), ("b", CallPhase::Pending)]);
    assert!(matches!(phases[2], ("c", CallPhase::Waiting(_))));
    // The child's result still reaches the call that waited before the owner changed.
    desk.report(desk.run(2), Report::Boundary(Point::Between));
    let ended = desk.completes(desk.run(2));
    assert_eq!(ended.last().unwrap(), "wait over 1:1.2 c Satisfied");
    assert_eq!(desk.refused(Input::Report(root, answered(turn, "b"))), "this run of the task is over");
}

#[test]
fn a_wait_that_ends_without_an_owner_is_found_over() {
    let mut desk = Desk::new();
    desk.spawn(2, |spec| spec.kind = Kind::Shell);
    let root = desk.root;
    let turn = desk.runs(root, &["w"]);
    desk.report(root, wait(turn, "w", &[2], WaitMode::All, None));
    let adopted = desk.ok(adopt());
    assert!(adopted.contains(&"2 taskFinished lost".into()) && adopted.contains(&"1 waitEnded w Satisfied".into()));
    assert!(!adopted.iter().any(|effect| effect.starts_with("wait over")), "nobody is there to hear it");
    desk.ok(Input::Resume);
    let waited = desk.task(1).work.call(&CallId("w".into())).cloned();
    assert_eq!(waited, Some(CallPhase::Waited { on: vec![id(2)], why: WaitEnd::Satisfied }));
    desk.report(desk.run(1), answered(turn, "w"));
}

#[test]
fn a_model_call_under_way_is_booked_and_asked_again() {
    let mut desk = Desk::new();
    desk.report(desk.root, begin(9));
    let adopted = desk.ok(adopt());
    assert_eq!(adopted[1..3], ["1 turnFailed Interrupted 9", "1 taskInterrupted"]);
    assert_eq!(desk.task(1).ledger.spent, tokens(9));
    desk.ok(Input::Resume);
    desk.report(desk.run(1), desk.begin());
    assert_eq!(desk.task(1).turn, Turn(2));
}

#[test]
fn a_dead_owner_wakes_nobody_but_resuming_does() {
    let mut desk = Desk::with(Limits { live: 1, depth: 2, total: 9, ..Limits::default() }, |_| {});
    desk.spawn(2, |spec| spec.kind = Kind::Shell);
    desk.child(3);
    desk.child(4);
    desk.completes(desk.root);
    let left = desk.ok(Input::Suspend);
    assert!(left.contains(&"1 mailAdmitted result 2:1".into()));
    assert!(!left.iter().any(|effect| effect.starts_with("start")), "{left:?}");
    assert_eq!((desk.state(1), desk.state(3), desk.state(4)), ("idle", "interrupted", "queued"));
    let resumed = desk.ok(Input::Resume);
    let started: Vec<_> = resumed.iter().filter(|effect| effect.starts_with("start")).collect();
    assert_eq!(started, ["start 1:2.1", "start 4:1.1"]);
    assert_eq!(desk.state(3), "queued");
}

#[test]
fn an_agent_that_only_waits_goes_on_without_a_slot() {
    let mut desk = Desk::with(Limits { live: 1, depth: 4, total: 9, ..Limits::default() }, |_| {});
    desk.child(2);
    let two = desk.run(2);
    let turn = desk.runs(two, &["a"]);
    desk.sync(two, turn, "a", 3);
    desk.ok(adopt());
    let resumed = desk.ok(Input::Resume);
    assert!(resumed.contains(&"start 2:1.2".into()) && resumed.contains(&"start 3:1.2".into()), "{resumed:?}");
    assert_eq!(desk.task(2).phase, Phase::Running(Footing::Lent));
}

#[test]
fn whoever_adopts_a_session_sets_its_limit_of_turns() {
    let mut desk = Desk::new();
    assert_eq!(desk.task(1).max_turns, None);
    desk.child(2);
    desk.ok(adopt());
    assert_eq!((desk.task(1).max_turns, desk.task(2).max_turns), (Some(3), None));
}

#[test]
fn an_adopted_session_is_open_again() {
    let mut desk = Desk::new();
    desk.ok(Input::Stop { by: CancelBy::User });
    assert_eq!(desk.ok(adopt()), ["1 sessionAdopted", "1 admissionOpened"]);
    desk.child(2);
}

#[test]
fn a_fork_ends_what_it_copied() {
    let mut desk = Desk::new();
    desk.child(2);
    desk.ok(adopt());
    let forked = desk.ok(Input::Fork { from: SessionId::new(id(7).uuid()) });
    assert_eq!(forked[..2], ["1 sessionForked", "1 admissionClosed"]);
    assert_eq!((desk.state(1), desk.state(2)), ("idle", "cancelled"));
    assert!(desk.ok(Input::Resume).is_empty());
}

#[test]
fn an_agent_at_rest_is_at_rest_in_the_copy_too() {
    let mut desk = Desk::new();
    desk.spawn(2, |spec| spec.rest = Rest::Idle);
    desk.completes(desk.run(2));
    desk.child(3);
    desk.ok(adopt());
    desk.ok(Input::Fork { from: SessionId::new(id(7).uuid()) });
    assert_eq!((desk.state(1), desk.state(2), desk.state(3)), ("idle", "idle", "cancelled"));
    let woken = desk.ok(Input::Send(letter(id(2), Delivery::Steer)));
    assert!(woken.contains(&"2 activationStarted".into()), "{woken:?}");
}

#[test]
fn a_session_opens_once_and_nothing_happens_before() {
    let mut desk = Desk::new();
    let again = Input::Open { root: id(5), spec: spec(Kind::Main, None), definition: None, terms: terms() };
    assert_eq!(desk.refused(again), "the session is open already");
    let mut empty = Kernel::new(Limits::default());
    assert_eq!(empty.apply(At(1), adopt()), Err(Refusal::Closed));
    assert_eq!(empty.apply(At(1), Input::Stop { by: CancelBy::User }), Err(Refusal::Closed));
    assert!(empty.is_quiet() && empty.root().is_none());
    assert_eq!(desk.kernel.root(), Some(id(1)));
}

#[test]
fn the_first_task_is_the_root_whatever_it_was_called() {
    let mut kernel = Kernel::new(Limits::default());
    let open = Input::Open { root: id(1), spec: spec(Kind::Agent, Some(id(9))), definition: None, terms: terms() };
    kernel.apply(At(1), open).unwrap();
    let root = kernel.task(id(1)).unwrap();
    assert_eq!((root.kind, root.parent, root.depth), (Kind::Main, None, 0));
    assert_eq!(root.phase, Phase::Idle);
}

#[test]
fn a_log_that_contradicts_itself_is_told_not_believed() {
    let mut kernel = Kernel::new(Limits::default());
    let entry = |event| Entry { task: id(1), at: At(1), event };
    let missing = kernel.evolve(&entry(Event::TaskRequeued)).unwrap_err();
    assert!(missing.to_string().contains("does not exist"));
    kernel.evolve(&entry(Event::TaskCreated(Box::new(spec(Kind::Main, None))))).unwrap();
    let twice = kernel.evolve(&entry(Event::TaskCreated(Box::new(spec(Kind::Main, None))))).unwrap_err();
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
        let defect = kernel.evolve(&entry(event.clone())).unwrap_err();
        assert!(defect.to_string().contains("is idle and cannot take the event"), "{event:?}: {defect}");
    }
    kernel.evolve(&entry(Event::Unknown)).unwrap();
}

/// A root that has come to its last turn, and what is left of that when somebody else takes over.
fn last_after(until: impl FnOnce(&mut Desk, Run)) -> Option<Last> {
    let mut desk = Desk::new();
    let root = desk.root;
    desk.report(root, Report::WrapUp(WrapUp::Time));
    until(&mut desk, root);
    desk.ok(adopt());
    desk.task(1).last
}

#[test]
fn whether_a_turn_is_the_last_is_for_the_next_owner_to_say_unless_it_was_answered() {
    assert_eq!(last_after(|_, _| {}), None);
    assert_eq!(last_after(|desk, root| drop(desk.report(root, desk.begin()))), None);
    assert_eq!(last_after(|desk, _| drop(desk.ok(Input::Suspend))), None);
    assert_eq!(last_after(|desk, root| desk.says(root, "so far")), Some(Last::Taken(WrapUp::Time)));
    let calls = |desk: &mut Desk, root| assert_eq!(desk.calls(root, &["a"]), Turn(1));
    assert_eq!(last_after(calls), Some(Last::Taken(WrapUp::Time)));
}

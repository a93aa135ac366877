//! Calls that wait for other tasks.

use bosun_kernel::*;
use protocol::*;

use crate::fixture::*;

/// A root with two children and a call that waits for both.
fn waiting(mode: WaitMode, until: Option<u64>) -> (KernelFixture, Turn) {
    let mut kernel = KernelFixture::new();
    kernel.child(2);
    kernel.child(3);
    let root = kernel.root;
    let turn = kernel.answer_with_started_calls(root, &["w"]);
    assert_eq!(kernel.report(root, wait(turn, "w", &[2, 3], mode, until)), ["1 waitBegan"]);
    (kernel, turn)
}

fn is_wait_over(effects: &[String]) -> bool {
    effects.contains(&"wait over 1:1.1 w Satisfied".into())
}

#[test]
fn any_needs_one_and_all_needs_all() {
    let (mut any, _) = waiting(WaitMode::Any, None);
    assert!(is_wait_over(&any.complete(any.run(3))));
    let (mut all, _) = waiting(WaitMode::All, None);
    assert!(!is_wait_over(&all.complete(all.run(3))));
    assert!(is_wait_over(&all.complete(all.run(2))));
}

#[test]
fn a_wait_for_ended_tasks_is_over_at_once() {
    let mut kernel = KernelFixture::new();
    kernel.child(2);
    kernel.complete(kernel.run(2));
    let root = kernel.root;
    let turn = kernel.answer_with_started_calls(root, &["w", "n"]);
    assert!(is_wait_over(&kernel.report(root, wait(turn, "w", &[2], WaitMode::All, None))));
    let none = kernel.report(root, wait(turn, "n", &[], WaitMode::Any, None));
    assert_eq!(none, ["1 waitBegan", "1 waitEnded n Satisfied", "wait over 1:1.1 n Satisfied"]);
}

#[test]
fn a_manual_wait_ends_when_its_run_reports_it() {
    let mut kernel = KernelFixture::new();
    let root = kernel.root;
    let turn = kernel.answer_with_started_calls(root, &["w", "x"]);
    assert_eq!(kernel.report(root, wait(turn, "w", &[], WaitMode::Manual, Some(300))), ["1 waitBegan"]);
    let wait_over = |call: &str| RunUpdate::ManualWaitOver { turn, call: CallId(call.into()) };
    assert!(kernel.refused(KernelInput::Report(root, wait_over("x"))).contains('x'), "it does not wait");
    assert!(is_wait_over(&kernel.report(root, wait_over("w"))));
    assert!(kernel.report(root, wait_over("w")).is_empty(), "it is over once");
    assert_eq!(kernel.kernel.next_alarm(), None);
    kernel.report(root, wait(turn, "x", &[], WaitMode::Manual, Some(300)));
    kernel.now = Timestamp(300);
    assert_eq!(kernel.ok(KernelInput::Tick), ["1 waitEnded x TimedOut", "wait over 1:1.1 x TimedOut"]);
    assert!(kernel.report(root, wait_over("x")).is_empty(), "its time was up before");
}

#[test]
fn a_wait_ends_when_its_time_is_up() {
    let (mut kernel, turn) = waiting(WaitMode::All, Some(300));
    let root = kernel.root;
    assert_eq!(kernel.kernel.next_alarm(), Some(Timestamp(300)));
    kernel.now = Timestamp(299);
    assert!(kernel.ok(KernelInput::Tick).is_empty());
    kernel.now = Timestamp(300);
    assert_eq!(kernel.ok(KernelInput::Tick), ["1 waitEnded w TimedOut", "wait over 1:1.1 w TimedOut"]);
    assert_eq!(kernel.kernel.next_alarm(), None);
    kernel.report(root, call_answered(turn, "w"));
}

#[test]
fn a_waiting_call_cannot_be_answered_and_an_unstarted_one_cannot_wait() {
    let (mut kernel, turn) = waiting(WaitMode::All, None);
    let root = kernel.root;
    assert_eq!(
        kernel.refused(KernelInput::Report(root, call_answered(turn, "w"))),
        "the call w is not in a state that allows this"
    );
    let again = wait(turn, "w", &[2], WaitMode::All, None);
    assert_eq!(kernel.refused(KernelInput::Report(root, again)), "the call w is not in a state that allows this");
    let mut kernel = KernelFixture::new();
    let turn = kernel.answer_with_calls(kernel.root, &["p"]);
    let unstarted = wait(turn, "p", &[1], WaitMode::All, None);
    assert_eq!(
        kernel.refused(KernelInput::Report(kernel.root, unstarted)),
        "the call p is not in a state that allows this"
    );
}

#[test]
fn a_task_cannot_wait_for_itself_for_a_task_above_it_or_in_a_cycle() {
    let mut kernel =
        KernelFixture::with(SessionLimits { live: 4, depth: 4, total: 9, ..SessionLimits::default() }, |_| {});
    kernel.child(2);
    kernel.child(3);
    let (two, three) = (kernel.run(2), kernel.run(3));
    let turn = kernel.answer_with_started_calls(two, &["a", "b", "c"]);
    let refused = |kernel: &mut KernelFixture, on: u128| {
        kernel
            .refused(KernelInput::Report(two, wait(turn, "a", &[on], WaitMode::All, None)))
            .contains("cannot wait for")
    };
    assert!(refused(&mut kernel, 2) && refused(&mut kernel, 1));
    kernel.spawn_sync(two, turn, "b", 4);
    let four = kernel.run(4);
    let turn_of_four = kernel.answer_with_started_calls(four, &["x"]);
    kernel.report(four, wait(turn_of_four, "x", &[3], WaitMode::All, None));
    // 3 would wait for 2, which waits for 4, which waits for 3.
    let turn_of_three = kernel.answer_with_started_calls(three, &["y"]);
    let cycle = KernelInput::Report(three, wait(turn_of_three, "y", &[2], WaitMode::All, None));
    assert!(kernel.refused(cycle).contains("cannot wait for"));
    let unknown = KernelInput::Report(three, wait(turn_of_three, "y", &[77], WaitMode::All, None));
    assert!(kernel.refused(unknown).starts_with("there is no task"));
}

#[test]
fn promoting_a_task_ends_the_wait_and_its_result_comes_as_mail() {
    let mut kernel = KernelFixture::new();
    let root = kernel.root;
    let turn = kernel.answer_with_started_calls(root, &["t"]);
    kernel.spawn_sync(root, turn, "t", 2);
    assert_eq!(
        kernel.ok(KernelInput::Promote(id(2))),
        ["2 taskPromoted", "1 waitEnded t Promoted", "wait over 1:1.1 t Promoted"]
    );
    assert!(kernel.refused(KernelInput::Promote(id(2))).starts_with("no tool call is waiting"));
    kernel.report(root, call_answered(turn, "t"));
    let ended = kernel.complete(kernel.run(2));
    assert_eq!(ended.last().unwrap(), "1 mailAdmitted result 2:1");
}

#[test]
fn only_an_awaited_task_can_be_promoted() {
    let (mut kernel, _) = waiting(WaitMode::All, None);
    assert!(
        kernel.refused(KernelInput::Promote(id(2))).starts_with("no tool call is waiting"),
        "it is already in the background"
    );
    let mut kernel = KernelFixture::new();
    let root = kernel.root;
    let turn = kernel.answer_with_started_calls(root, &["t"]);
    kernel.spawn_sync(root, turn, "t", 2);
    kernel.complete(kernel.run(2));
    assert!(kernel.refused(KernelInput::Promote(id(2))).starts_with("no tool call is waiting"), "it has ended");
}

#[test]
fn a_promotion_ends_only_the_wait_of_the_parent() {
    let mut kernel =
        KernelFixture::with(SessionLimits { live: 9, depth: 9, total: 9, ..SessionLimits::default() }, |_| {});
    let root = kernel.root;
    let turn = kernel.answer_with_started_calls(root, &["t"]);
    kernel.spawn_sync(root, turn, "t", 2);
    kernel.child(3);
    let three = kernel.run(3);
    let turn_of_three = kernel.answer_with_started_calls(three, &["w"]);
    kernel.report(three, wait(turn_of_three, "w", &[2], WaitMode::All, None));
    let promoted = kernel.ok(KernelInput::Promote(id(2)));
    assert_eq!(promoted, ["2 taskPromoted", "1 waitEnded t Promoted", "wait over 1:1.1 t Promoted"]);
    let ended = kernel.complete(kernel.run(2));
    assert!(ended.contains(&"wait over 3:1.1 w Satisfied".into()), "{ended:?}");
}

#[test]
fn a_wait_for_a_waiting_task_is_not_always_a_cycle() {
    let mut kernel =
        KernelFixture::with(SessionLimits { live: 9, depth: 9, total: 9, ..SessionLimits::default() }, |_| {});
    for n in 2..6 {
        kernel.child(n);
    }
    let (two, three) = (kernel.run(2), kernel.run(3));
    let turn = kernel.answer_with_started_calls(two, &["a"]);
    kernel.report(two, wait(turn, "a", &[4, 5], WaitMode::All, None));
    let turn = kernel.answer_with_started_calls(three, &["b"]);
    kernel.report(three, wait(turn, "b", &[2], WaitMode::All, None));
}

#[test]
fn only_a_call_of_the_current_turn_can_start_a_synchronous_task() {
    let mut kernel = KernelFixture::new();
    let turn = kernel.answer_with_calls(kernel.root, &["t"]);
    let root = kernel.root;
    let spawn = |by| {
        let spec = TaskSpec { mode: TaskMode::Sync, ..spec(TaskType::Agent, Some(id(1))) };
        KernelInput::Spawn(TaskSpawn {
            id: id(2),
            spec,
            prompt: "go".into(),
            by,
            until: None,
            definition: None,
            redo_reason: None,
        })
    };
    assert!(kernel.refused(spawn(None)).starts_with("no tool call is waiting"));
    let by = |turn| Some((root, turn, CallId("t".into())));
    assert_eq!(kernel.refused(spawn(by(Turn(9)))), "the call t is not in a state that allows this");
    kernel.ok(spawn(by(turn)));
}

#[test]
fn a_cancelled_call_cannot_start_a_background_task() {
    let mut kernel = KernelFixture::new();
    let root = kernel.root;
    let turn = kernel.answer_with_started_calls(root, &["t"]);
    kernel.ok(KernelInput::Send(user_mail(id(1), MailDelivery::Interrupt)));
    let by = Some((root, turn, CallId("t".into())));
    let spawn = TaskSpawn {
        id: id(2),
        spec: spec(TaskType::Shell, Some(id(1))),
        prompt: "go".into(),
        by,
        until: None,
        definition: None,
        redo_reason: None,
    };
    assert_eq!(kernel.refused(KernelInput::Spawn(spawn)), "the call t is not in a state that allows this");
}

/// A session whose root waited for an agent that is now idle.
fn idle_child() -> KernelFixture {
    let mut kernel = KernelFixture::new();
    let root = kernel.root;
    let turn = kernel.answer_with_started_calls(root, &["t"]);
    let spec =
        TaskSpec { mode: TaskMode::Sync, on_complete: CompletionPolicy::Idle, ..spec(TaskType::Agent, Some(id(1))) };
    let by = Some((root, turn, CallId("t".into())));
    kernel.ok(KernelInput::Spawn(TaskSpawn {
        id: id(2),
        spec,
        prompt: "go".into(),
        by,
        until: None,
        definition: None,
        redo_reason: None,
    }));
    let two = kernel.run(2);
    kernel.report(two, RunUpdate::Boundary(BoundaryPoint::BetweenTurns));
    kernel.complete(two);
    kernel
}

#[test]
fn a_woken_agent_sends_its_result_to_its_parent_even_if_the_first_was_awaited() {
    let mut kernel = idle_child();
    assert_eq!(kernel.state(2), "idle");
    let woken = kernel.ok(KernelInput::Send(user_mail(id(2), MailDelivery::Steer)));
    let expected = ["2 mailAdmitted", "2 taskPromoted", "2 taskRequeued", "2 activationStarted", "start 2:2.1"];
    assert_eq!(woken, expected);
    let two = kernel.run(2);
    kernel.report(two, RunUpdate::Boundary(BoundaryPoint::BetweenTurns));
    assert_eq!(kernel.complete(two).last().unwrap(), "1 mailAdmitted result 2:2");
}

#[test]
fn an_idle_child_is_not_stopped_with_the_turn_that_waited_for_it() {
    let mut kernel = idle_child();
    kernel.ok(KernelInput::Interrupt(id(1)));
    assert_eq!((kernel.state(1), kernel.state(2)), ("idle", "idle"));
}

#[test]
fn when_time_is_up_every_open_call_is_answered_in_any_phase() {
    let mut kernel = KernelFixture::new();
    kernel.child(2);
    let root = kernel.root;
    let turn = kernel.answer_with_calls(root, &["a", "b", "s", "w"]);
    for call in ["a", "s", "w"] {
        kernel.report(root, RunUpdate::CallStarted { turn, call: CallId(call.into()) });
    }
    kernel.report(root, call_answered(turn, "a"));
    kernel.report(root, wait(turn, "w", &[2], WaitMode::All, None));
    kernel.spawn_sync(root, turn, "s", 3);
    assert_eq!(
        kernel.refused(KernelInput::Report(root, RunUpdate::CallsOutOfTime { turn: Turn(9) })),
        "this turn is not in progress"
    );
    let dropped = kernel.report(root, RunUpdate::CallsOutOfTime { turn });
    for call in ["b", "s", "w"] {
        assert!(dropped.contains(&format!("1 callAnswered {call} Cancelled")), "{dropped:?}");
    }
    assert!(dropped.contains(&"3 taskFinished cancelled".into()), "the awaited child is stopped");
    assert!(!dropped.iter().any(|effect| effect.starts_with("1 callAnswered a")), "a call has two answers");
    assert_eq!((kernel.state(2), kernel.state(1)), ("running", "running"));
    assert_eq!(kernel.task(1).work, ActivationWork::BetweenTurns);
    assert!(kernel.report(root, RunUpdate::CallsOutOfTime { turn }).is_empty());
}

#[test]
fn a_readers_wait_is_over_when_the_state_shows_what_it_waits_for() {
    let (mut kernel, _turn) = waiting(WaitMode::All, None);
    let is_over = |kernel: &KernelFixture, wait: &ReaderWait| kernel.kernel.is_wait_over(wait).unwrap();
    let all = ReaderWait::All(vec![id(2), id(3)]);
    let (next_turn, finished) = (ReaderWait::Turn { task: id(2), after: Turn(0) }, ReaderWait::Finished(id(2)));
    for open in [&all, &next_turn, &finished] {
        assert!(!is_over(&kernel, open), "{open:?}");
    }
    assert!(is_over(&kernel, &ReaderWait::All(Vec::new())));
    kernel.report(kernel.run(2), kernel.begin());
    assert!(!is_over(&kernel, &next_turn), "the turn is not answered");
    let before = kernel.kernel.fleet_changes();
    kernel.complete(kernel.run(3));
    assert!(kernel.kernel.fleet_changes() > before);
    assert!(is_over(&kernel, &ReaderWait::FleetChange { after: before }));
    assert!(!is_over(&kernel, &all));
    kernel.ok(KernelInput::Cancel { task: id(2), by: CancelBy::User, how: CancelMode::Abort });
    for over in [&all, &next_turn, &finished] {
        assert!(is_over(&kernel, over), "{over:?}");
    }
    assert_eq!(kernel.kernel.is_wait_over(&ReaderWait::All(vec![id(2), id(9)])), Err(InputRefusal::UnknownTask(id(9))));
}

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
    let turn = kernel.runs(root, &["w"]);
    assert_eq!(kernel.report(root, wait(turn, "w", &[2, 3], mode, until)), ["1 waitBegan"]);
    (kernel, turn)
}

fn over(effects: &[String]) -> bool {
    effects.contains(&"wait over 1:1.1 w Satisfied".into())
}

#[test]
fn any_needs_one_and_all_needs_all() {
    let (mut any, _) = waiting(WaitMode::Any, None);
    assert!(over(&any.completes(any.run(3))));
    let (mut all, _) = waiting(WaitMode::All, None);
    assert!(!over(&all.completes(all.run(3))));
    assert!(over(&all.completes(all.run(2))));
}

#[test]
fn a_wait_for_what_has_ended_is_over_at_once() {
    let mut kernel = KernelFixture::new();
    kernel.child(2);
    kernel.completes(kernel.run(2));
    let root = kernel.root;
    let turn = kernel.runs(root, &["w", "n"]);
    assert!(over(&kernel.report(root, wait(turn, "w", &[2], WaitMode::All, None))));
    let none = kernel.report(root, wait(turn, "n", &[], WaitMode::Any, None));
    assert_eq!(none, ["1 waitBegan", "1 waitEnded n Satisfied", "wait over 1:1.1 n Satisfied"]);
}

#[test]
fn a_wait_for_what_no_task_does_ends_when_its_run_says_so() {
    let mut kernel = KernelFixture::new();
    let root = kernel.root;
    let turn = kernel.runs(root, &["w", "x"]);
    assert_eq!(kernel.report(root, wait(turn, "w", &[], WaitMode::Manual, Some(300))), ["1 waitBegan"]);
    let says = |call: &str| RunUpdate::WaitOver { turn, call: CallId(call.into()) };
    assert!(kernel.refused(KernelInput::Report(root, says("x"))).contains('x'), "it does not wait");
    assert!(over(&kernel.report(root, says("w"))));
    assert!(kernel.report(root, says("w")).is_empty(), "it is over once");
    assert_eq!(kernel.kernel.next_alarm(), None);
    kernel.report(root, wait(turn, "x", &[], WaitMode::Manual, Some(300)));
    kernel.now = Timestamp(300);
    assert_eq!(kernel.ok(KernelInput::Tick), ["1 waitEnded x TimedOut", "wait over 1:1.1 x TimedOut"]);
    assert!(kernel.report(root, says("x")).is_empty(), "its time was up before");
}

#[test]
fn a_wait_gives_up_when_its_time_is_up() {
    let (mut kernel, turn) = waiting(WaitMode::All, Some(300));
    let root = kernel.root;
    assert_eq!(kernel.kernel.next_alarm(), Some(Timestamp(300)));
    kernel.now = Timestamp(299);
    assert!(kernel.ok(KernelInput::Tick).is_empty());
    kernel.now = Timestamp(300);
    assert_eq!(kernel.ok(KernelInput::Tick), ["1 waitEnded w TimedOut", "wait over 1:1.1 w TimedOut"]);
    assert_eq!(kernel.kernel.next_alarm(), None);
    kernel.report(root, answered(turn, "w"));
}

#[test]
fn a_waiting_call_cannot_be_answered_and_an_unstarted_one_cannot_wait() {
    let (mut kernel, turn) = waiting(WaitMode::All, None);
    let root = kernel.root;
    assert_eq!(kernel.refused(KernelInput::Report(root, answered(turn, "w"))), "the call w is not open for this");
    let again = wait(turn, "w", &[2], WaitMode::All, None);
    assert_eq!(kernel.refused(KernelInput::Report(root, again)), "the call w is not open for this");
    let mut kernel = KernelFixture::new();
    let turn = kernel.calls(kernel.root, &["p"]);
    let unstarted = wait(turn, "p", &[1], WaitMode::All, None);
    assert_eq!(kernel.refused(KernelInput::Report(kernel.root, unstarted)), "the call p is not open for this");
}

#[test]
fn nobody_waits_for_itself_for_those_above_or_in_a_circle() {
    let mut kernel =
        KernelFixture::with(SessionLimits { live: 4, depth: 4, total: 9, ..SessionLimits::default() }, |_| {});
    kernel.child(2);
    kernel.child(3);
    let (two, three) = (kernel.run(2), kernel.run(3));
    let turn = kernel.runs(two, &["a", "b", "c"]);
    let refused = |kernel: &mut KernelFixture, on: u128| {
        kernel
            .refused(KernelInput::Report(two, wait(turn, "a", &[on], WaitMode::All, None)))
            .contains("cannot wait for")
    };
    assert!(refused(&mut kernel, 2) && refused(&mut kernel, 1));
    kernel.sync(two, turn, "b", 4);
    let four = kernel.run(4);
    let turn_of_four = kernel.runs(four, &["x"]);
    kernel.report(four, wait(turn_of_four, "x", &[3], WaitMode::All, None));
    // 3 would wait for 2, which waits for 4, which waits for 3.
    let turn_of_three = kernel.runs(three, &["y"]);
    let circle = KernelInput::Report(three, wait(turn_of_three, "y", &[2], WaitMode::All, None));
    assert!(kernel.refused(circle).contains("cannot wait for"));
    let unknown = KernelInput::Report(three, wait(turn_of_three, "y", &[77], WaitMode::All, None));
    assert!(kernel.refused(unknown).starts_with("there is no task"));
}

#[test]
fn a_promoted_task_answers_its_waiter_now_and_its_parent_later() {
    let mut kernel = KernelFixture::new();
    let root = kernel.root;
    let turn = kernel.runs(root, &["t"]);
    kernel.sync(root, turn, "t", 2);
    assert_eq!(
        kernel.ok(KernelInput::Promote(id(2))),
        ["2 taskPromoted", "1 waitEnded t Promoted", "wait over 1:1.1 t Promoted"]
    );
    assert!(kernel.refused(KernelInput::Promote(id(2))).starts_with("no tool call is waiting"));
    kernel.report(root, answered(turn, "t"));
    let ended = kernel.completes(kernel.run(2));
    assert_eq!(ended.last().unwrap(), "1 mailAdmitted result 2:1");
}

#[test]
fn only_what_is_waited_for_can_be_sent_to_the_background() {
    let (mut kernel, _) = waiting(WaitMode::All, None);
    assert!(kernel.refused(KernelInput::Promote(id(2))).starts_with("no tool call is waiting"), "it is there already");
    let mut kernel = KernelFixture::new();
    let root = kernel.root;
    let turn = kernel.runs(root, &["t"]);
    kernel.sync(root, turn, "t", 2);
    kernel.completes(kernel.run(2));
    assert!(kernel.refused(KernelInput::Promote(id(2))).starts_with("no tool call is waiting"), "it has ended");
}

#[test]
fn a_promotion_concerns_the_parent_alone() {
    let mut kernel =
        KernelFixture::with(SessionLimits { live: 9, depth: 9, total: 9, ..SessionLimits::default() }, |_| {});
    let root = kernel.root;
    let turn = kernel.runs(root, &["t"]);
    kernel.sync(root, turn, "t", 2);
    kernel.child(3);
    let three = kernel.run(3);
    let turn_of_three = kernel.runs(three, &["w"]);
    kernel.report(three, wait(turn_of_three, "w", &[2], WaitMode::All, None));
    let promoted = kernel.ok(KernelInput::Promote(id(2)));
    assert_eq!(promoted, ["2 taskPromoted", "1 waitEnded t Promoted", "wait over 1:1.1 t Promoted"]);
    let ended = kernel.completes(kernel.run(2));
    assert!(ended.contains(&"wait over 3:1.1 w Satisfied".into()), "{ended:?}");
}

#[test]
fn a_wait_for_what_waits_elsewhere_is_no_circle() {
    let mut kernel =
        KernelFixture::with(SessionLimits { live: 9, depth: 9, total: 9, ..SessionLimits::default() }, |_| {});
    for n in 2..6 {
        kernel.child(n);
    }
    let (two, three) = (kernel.run(2), kernel.run(3));
    let turn = kernel.runs(two, &["a"]);
    kernel.report(two, wait(turn, "a", &[4, 5], WaitMode::All, None));
    let turn = kernel.runs(three, &["b"]);
    kernel.report(three, wait(turn, "b", &[2], WaitMode::All, None));
}

#[test]
fn only_a_call_of_the_turn_can_start_a_synchronous_task() {
    let mut kernel = KernelFixture::new();
    let turn = kernel.calls(kernel.root, &["t"]);
    let root = kernel.root;
    let spawn = |by| {
        let spec = TaskSpec { mode: TaskMode::Sync, ..spec(TaskType::Agent, Some(id(1))) };
        KernelInput::Spawn(TaskSpawn { id: id(2), spec, prompt: "go".into(), by, until: None, definition: None })
    };
    assert!(kernel.refused(spawn(None)).starts_with("no tool call is waiting"));
    let by = |turn| Some((root, turn, CallId("t".into())));
    assert_eq!(kernel.refused(spawn(by(Turn(9)))), "the call t is not open for this");
    kernel.ok(spawn(by(turn)));
}

#[test]
fn a_call_that_was_cancelled_starts_nothing_in_the_background_either() {
    let mut kernel = KernelFixture::new();
    let root = kernel.root;
    let turn = kernel.runs(root, &["t"]);
    kernel.ok(KernelInput::Send(letter(id(1), MailDelivery::Interrupt)));
    let by = Some((root, turn, CallId("t".into())));
    let spawn = TaskSpawn {
        id: id(2),
        spec: spec(TaskType::Shell, Some(id(1))),
        prompt: "go".into(),
        by,
        until: None,
        definition: None,
    };
    assert_eq!(kernel.refused(KernelInput::Spawn(spawn)), "the call t is not open for this");
}

/// A root with an agent that it waited for, and that rests now.
fn rested() -> KernelFixture {
    let mut kernel = KernelFixture::new();
    let root = kernel.root;
    let turn = kernel.runs(root, &["t"]);
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
    }));
    let two = kernel.run(2);
    kernel.report(two, RunUpdate::Boundary(BoundaryPoint::Between));
    kernel.completes(two);
    kernel
}

#[test]
fn a_woken_agent_tells_its_parent_even_if_its_first_result_was_waited_for() {
    let mut kernel = rested();
    assert_eq!(kernel.state(2), "idle");
    let woken = kernel.ok(KernelInput::Send(letter(id(2), MailDelivery::Steer)));
    let expected = ["2 mailAdmitted", "2 taskPromoted", "2 taskRequeued", "2 activationStarted", "start 2:2.1"];
    assert_eq!(woken, expected);
    let two = kernel.run(2);
    kernel.report(two, RunUpdate::Boundary(BoundaryPoint::Between));
    assert_eq!(kernel.completes(two).last().unwrap(), "1 mailAdmitted result 2:2");
}

#[test]
fn a_child_that_rests_outlives_the_turn_that_waited_for_it() {
    let mut kernel = rested();
    kernel.ok(KernelInput::Interrupt(id(1)));
    assert_eq!((kernel.state(1), kernel.state(2)), ("idle", "idle"));
}

#[test]
fn time_that_is_up_ends_every_open_call_at_once_whatever_it_does() {
    let mut kernel = KernelFixture::new();
    kernel.child(2);
    let root = kernel.root;
    let turn = kernel.calls(root, &["a", "b", "s", "w"]);
    for call in ["a", "s", "w"] {
        kernel.report(root, RunUpdate::CallStarted { turn, call: CallId(call.into()) });
    }
    kernel.report(root, answered(turn, "a"));
    kernel.report(root, wait(turn, "w", &[2], WaitMode::All, None));
    kernel.sync(root, turn, "s", 3);
    assert_eq!(
        kernel.refused(KernelInput::Report(root, RunUpdate::CallsDropped { turn: Turn(9) })),
        "no such turn is under way"
    );
    let dropped = kernel.report(root, RunUpdate::CallsDropped { turn });
    for call in ["b", "s", "w"] {
        assert!(dropped.contains(&format!("1 callAnswered {call} Cancelled")), "{dropped:?}");
    }
    assert!(dropped.contains(&"3 taskFinished cancelled".into()), "a child that nobody waits for any more goes on");
    assert!(!dropped.iter().any(|effect| effect.starts_with("1 callAnswered a")), "a call has two answers");
    assert_eq!((kernel.state(2), kernel.state(1)), ("running", "running"));
    assert_eq!(kernel.task(1).work, ActivationWork::Boundary);
    assert!(kernel.report(root, RunUpdate::CallsDropped { turn }).is_empty());
}

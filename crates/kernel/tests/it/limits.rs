//! Limits on depth, number, rate, turns and budgets; and the conditions for `completed`.

use bosun_kernel::*;
use protocol::*;

use crate::fixture::*;

fn spawn(n: u128, parent: u128) -> KernelInput {
    KernelInput::Spawn(TaskSpawn {
        id: id(n),
        spec: spec(TaskType::Agent, Some(id(parent))),
        prompt: "go".into(),
        by: None,
        until: None,
        definition: None,
        redo_reason: None,
    })
}

#[test]
fn depth_is_counted_from_the_root_and_the_first_level_is_one() {
    let mut kernel =
        KernelFixture::with(SessionLimits { live: 9, depth: 1, total: 9, ..SessionLimits::default() }, |_| {});
    kernel.ok(spawn(2, 1));
    assert_eq!(kernel.refused(spawn(3, 2)), "agents cannot be nested more than 1 deep");
    let shell = TaskSpawn {
        id: id(3),
        spec: spec(TaskType::Shell, Some(id(2))),
        prompt: "ls".into(),
        by: None,
        until: None,
        definition: None,
        redo_reason: None,
    };
    kernel.ok(KernelInput::Spawn(shell));
    assert_eq!(kernel.task(3).depth, 2);
}

#[test]
fn the_total_includes_finished_agents() {
    let mut kernel =
        KernelFixture::with(SessionLimits { live: 9, depth: 9, total: 2, ..SessionLimits::default() }, |_| {});
    kernel.spawn(9, |spec| spec.kind = TaskType::Shell);
    kernel.ok(spawn(2, 1));
    kernel.ok(KernelInput::Cancel { task: id(2), by: CancelBy::User, how: CancelMode::Abort });
    kernel.ok(spawn(3, 1));
    assert_eq!(kernel.refused(spawn(4, 1)), "this session has reached its limit of 2 agents");
}

#[test]
fn the_spawn_rate_limits_subagents_but_not_the_root() {
    let mut kernel = KernelFixture::with(
        SessionLimits { live: 9, depth: 9, total: 99, rate: 2, ..SessionLimits::default() },
        |_| {},
    );
    let start = kernel.now.0;
    let refusal =
        "the subagents of a session may together start at most 2 agents within a minute; wait, or do the work yourself";
    for n in 2..5 {
        kernel.ok(spawn(n, 1));
    }
    kernel.ok(spawn(5, 2));
    kernel.now = Timestamp(start + 30_000);
    kernel.ok(spawn(6, 3));
    assert_eq!(kernel.refused(spawn(7, 2)), refusal);
    kernel.ok(spawn(7, 1));
    kernel.now = Timestamp(start + 59_999);
    assert_eq!(kernel.refused(spawn(8, 7)), refusal);
    kernel.now = Timestamp(start + 60_000);
    kernel.ok(spawn(8, 7));
    assert_eq!(kernel.refused(spawn(9, 2)), refusal);
    kernel.now = Timestamp(start + 90_000);
    kernel.ok(spawn(9, 2));
}

#[test]
fn setting_the_clock_back_does_not_block_spawns() {
    let mut kernel = KernelFixture::with(
        SessionLimits { live: 9, depth: 9, total: 99, rate: 1, ..SessionLimits::default() },
        |_| {},
    );
    kernel.ok(spawn(2, 1));
    kernel.now = Timestamp(9_000_000);
    kernel.ok(spawn(3, 2));
    kernel.now = Timestamp(1_000_000);
    kernel.ok(spawn(4, 2));
    assert!(kernel.refused(spawn(5, 2)).starts_with("the subagents of a session may together start at most 1 agents"));
    kernel.now = Timestamp(1_060_000);
    kernel.ok(spawn(5, 2));
}

#[test]
fn ids_are_unique_and_parents_must_exist() {
    let mut kernel = KernelFixture::new();
    kernel.ok(spawn(2, 1));
    assert!(kernel.refused(spawn(2, 1)).ends_with("already exists"));
    assert!(kernel.refused(spawn(3, 8)).starts_with("there is no task"));
}

#[test]
fn a_repeated_name_gets_a_number() {
    let mut kernel = KernelFixture::new();
    for n in 2..5 {
        kernel.child(n);
    }
    kernel.spawn(5, |spec| spec.name = "worker-2".into());
    let names: Vec<_> = (2..6).map(|n| kernel.task(n).name.clone()).collect();
    assert_eq!(names, ["worker", "worker-2", "worker-3", "worker-2-2"]);
}

#[test]
fn a_thousand_children_of_one_name_are_numbered_without_gaps() {
    let mut kernel =
        KernelFixture::with(SessionLimits { live: 2, depth: 2, total: 2_000, ..SessionLimits::default() }, |_| {});
    for n in 2..1_002 {
        kernel.child(n);
    }
    assert_eq!((kernel.task(3).name.as_str(), kernel.task(1_001).name.as_str()), ("worker-2", "worker-1000"));
    let names: std::collections::BTreeSet<_> = (2..1_002).map(|n| kernel.task(n).name.as_str()).collect();
    assert_eq!(names.len(), 1_000);
}

#[test]
fn the_parent_of_a_task_is_its_caller_or_else_the_root() {
    let mut kernel =
        KernelFixture::with(SessionLimits { live: 9, depth: 9, total: 9, ..SessionLimits::default() }, |_| {});
    kernel.child(2);
    kernel.child(3);
    let two = kernel.run(2);
    let turn = kernel.answer_with_started_calls(two, &["a"]);
    let by = Some((two, turn, CallId("a".into())));
    let spec = spec(TaskType::Agent, Some(id(3)));
    kernel.ok(KernelInput::Spawn(TaskSpawn {
        id: id(4),
        spec,
        prompt: "go".into(),
        by,
        until: None,
        definition: None,
        redo_reason: None,
    }));
    kernel.spawn(5, |spec| spec.parent = None);
    assert_eq!((kernel.task(4).parent, kernel.task(5).parent), (Some(id(2)), Some(id(1))));
    assert_eq!(kernel.task(2).children, [id(4)]);
}

#[test]
fn turns_without_an_answer_do_not_count_against_the_limit() {
    let mut kernel = KernelFixture::with(SessionLimits::default(), |spec| spec.max_turns = Some(2));
    let root = kernel.root;
    kernel.answer_with_text(root, "one");
    kernel.report(root, kernel.begin());
    let turn = kernel.task(1).turn;
    let failed = RunUpdate::TurnFailed {
        turn,
        fault: ModelFault::Transient,
        message: "cut".into(),
        charge: FailedCallCharge::Nothing,
        retry: None,
    };
    kernel.report(root, failed.clone());
    assert_eq!(kernel.refused(KernelInput::Report(root, failed)), "this turn is not in progress");
    kernel.answer_with_text(root, "two");
    assert_eq!(kernel.refused(KernelInput::Report(root, kernel.begin())), "the limit of 2 turns is reached");
    kernel.report(root, RunUpdate::Ended { ending: RunEnding::TimedOut(LimitKind::Turns), text: String::new() });
    kernel.ok(KernelInput::Send(user_mail(id(1), MailDelivery::Steer)));
    kernel.answer_with_text(kernel.run(1), "a new activation has its own");
}

#[test]
fn a_task_has_one_turn_at_a_time_and_each_is_answered_once() {
    let mut kernel = KernelFixture::new();
    let root = kernel.root;
    kernel.report(root, kernel.begin());
    assert_eq!(kernel.refused(KernelInput::Report(root, kernel.begin())), "a turn is in progress");
    assert_eq!(
        kernel.refused(KernelInput::Report(root, RunUpdate::Boundary(BoundaryPoint::End))),
        "a turn is in progress"
    );
    assert_eq!(
        kernel.refused(KernelInput::Report(root, RunUpdate::Park(parking(Timestamp(900))))),
        "a turn is in progress"
    );
    assert_eq!(
        kernel.refused(KernelInput::Report(root, turn_answered(Turn(2), vec![]))),
        "this turn is not in progress"
    );
    let call =
        |id: &str| ContentBlock::Call(ToolCallRequest { id: CallId(id.into()), tool: "t".into(), input: "{}".into() });
    let twins = KernelInput::Report(root, turn_answered(Turn(1), vec![call("a"), call("a")]));
    assert_eq!(kernel.refused(twins), "two calls have the id a");
    kernel.report(root, turn_answered(Turn(1), vec![call("a")]));
    let started = |turn| KernelInput::Report(root, RunUpdate::CallStarted { turn, call: CallId("a".into()) });
    assert_eq!(kernel.refused(started(Turn(2))), "the call a is not in a state that allows this");
    kernel.ok(started(Turn(1)));
    assert_eq!(kernel.refused(started(Turn(1))), "the call a is not in a state that allows this");
    assert_eq!(
        kernel.refused(KernelInput::Report(root, call_answered(Turn(2), "a"))),
        "the call a is not in a state that allows this"
    );
    kernel.report(root, call_answered(Turn(1), "a"));
    assert_eq!(
        kernel.refused(KernelInput::Report(root, call_answered(Turn(1), "a"))),
        "the call a is not in a state that allows this"
    );
}

#[test]
fn every_budget_above_a_task_applies_and_is_settled_to_the_real_cost() {
    let budget = |tokens| Budget { tokens: Some(tokens), micros: None };
    let mut kernel =
        KernelFixture::with(SessionLimits { live: 9, depth: 9, total: 9, ..SessionLimits::default() }, |spec| {
            spec.budget = budget(100)
        });
    kernel.spawn(2, |spec| spec.budget = budget(60));
    kernel.child(3);
    let (two, three) = (kernel.run(2), kernel.run(3));
    assert!(kernel.refused(KernelInput::Report(two, begin(61))).contains(&id(2).to_string()));
    kernel.report(two, begin(60));
    assert!(kernel.refused(KernelInput::Report(three, begin(41))).contains(&id(1).to_string()));
    kernel.report(three, begin(40));
    assert_eq!((kernel.task(1).ledger.reserved, kernel.task(1).ledger.spent), (tokens(100), Cost::ZERO));
    // If a provider used more than reserved, the real cost counts, and the next turn is refused.
    let used = |turn, cost| {
        let (stop, usage, model) = (StopReason::End, Usage::default(), "m".into());
        RunUpdate::TurnAnswered { turn, content: vec![], stop, usage, cost: tokens(cost), model }
    };
    kernel.report(two, used(Turn(1), 70));
    kernel.report(three, used(Turn(1), 5));
    assert_eq!((kernel.task(1).ledger.spent, kernel.task(1).ledger.reserved), (tokens(75), Cost::ZERO));
    assert!(kernel.refused(KernelInput::Report(two, begin(1))).ends_with("is used up"));
    kernel.report(three, begin(25));
}

#[test]
fn completed_needs_a_final_message_and_no_open_call() {
    let mut kernel = KernelFixture::new();
    let root = kernel.root;
    let end = || KernelInput::Report(root, RunUpdate::Ended { ending: RunEnding::Completed, text: String::new() });
    assert_eq!(kernel.refused(end()), "there is no final message");
    kernel.answer_with_text(root, " \n");
    assert_eq!(kernel.refused(end()), "there is no final message");
    let turn = kernel.answer_with_calls(root, &["a"]);
    assert_eq!(kernel.refused(end()), "a turn is in progress");
    kernel.report(root, call_answered(turn, "a"));
    assert_eq!(kernel.refused(end()), "there is no final message");
    kernel.report(root, kernel.begin());
    assert_eq!(kernel.refused(end()), "a turn is in progress");
    let turn = kernel.task(1).turn;
    kernel.report(root, turn_answered(turn, vec![ContentBlock::Text { text: "done".into() }]));
    assert_eq!(kernel.ok(end()), ["1 activationEnded completed"]);
}

#[test]
fn every_ending_has_its_own_outcome() {
    let endings = [
        (RunEnding::Failed { kind: FailKind::Exit, message: "1".into() }, "failed"),
        (RunEnding::TimedOut(LimitKind::Time), "timed_out"),
        (RunEnding::BudgetExhausted, "budget_exhausted"),
        (RunEnding::Completed, "completed"),
    ];
    for (ending, state) in endings {
        let mut kernel = KernelFixture::new();
        kernel.spawn(2, |spec| {
            spec.kind = TaskType::Shell;
            spec.on_complete = CompletionPolicy::Idle;
        });
        let two = kernel.run(2);
        kernel.report(two, RunUpdate::Boundary(BoundaryPoint::BetweenTurns));
        assert_eq!(kernel.report(two, RunUpdate::Intent("x".into())), ["2 intentReported"]);
        kernel.report(two, RunUpdate::Ended { ending: ending.clone(), text: String::new() });
        assert_eq!(kernel.state(2), if ending == RunEnding::Completed { "idle" } else { state });
    }
}

//! What may not be: too deep, too many, too dear, too long; and what `completed` means.

use bosun_kernel::*;
use protocol::*;

use crate::desk::*;

fn spawn(n: u128, parent: u128) -> Input {
    Input::Spawn(Spawn {
        id: id(n),
        spec: spec(Kind::Agent, Some(id(parent))),
        prompt: "go".into(),
        by: None,
        until: None,
        definition: None,
    })
}

#[test]
fn depth_is_counted_from_the_root_and_the_first_level_is_one() {
    let mut desk = Desk::with(Limits { live: 9, depth: 1, total: 9, ..Limits::default() }, |_| {});
    desk.ok(spawn(2, 1));
    assert_eq!(desk.refused(spawn(3, 2)), "agents may be nested 1 deep and no deeper");
    let shell = Spawn {
        id: id(3),
        spec: spec(Kind::Shell, Some(id(2))),
        prompt: "ls".into(),
        by: None,
        until: None,
        definition: None,
    };
    desk.ok(Input::Spawn(shell));
    assert_eq!(desk.task(3).depth, 2);
}

#[test]
fn the_total_counts_agents_that_ever_were() {
    let mut desk = Desk::with(Limits { live: 9, depth: 9, total: 2, ..Limits::default() }, |_| {});
    desk.spawn(9, |spec| spec.kind = Kind::Shell);
    desk.ok(spawn(2, 1));
    desk.ok(Input::Cancel { task: id(2), by: CancelBy::User, how: Cancel::Abort });
    desk.ok(spawn(3, 1));
    assert_eq!(desk.refused(spawn(4, 1)), "this session has started 2 agents, which is all it may");
}

#[test]
fn t5_what_subagents_start_within_a_minute_is_counted_and_what_the_root_starts_is_not() {
    let mut desk = Desk::with(Limits { live: 9, depth: 9, total: 99, rate: 2, ..Limits::default() }, |_| {});
    let start = desk.now.0;
    let within = "agents have started 2 others within a minute, which is all they may; wait, or do the work yourself";
    for n in 2..5 {
        desk.ok(spawn(n, 1));
    }
    desk.ok(spawn(5, 2));
    desk.now = At(start + 30_000);
    desk.ok(spawn(6, 3));
    assert_eq!(desk.refused(spawn(7, 2)), within);
    desk.ok(spawn(7, 1));
    desk.now = At(start + 59_999);
    assert_eq!(desk.refused(spawn(8, 7)), within);
    desk.now = At(start + 60_000);
    desk.ok(spawn(8, 7));
    assert_eq!(desk.refused(spawn(9, 2)), within);
    desk.now = At(start + 90_000);
    desk.ok(spawn(9, 2));
}

#[test]
fn a_clock_that_went_back_does_not_keep_agents_from_starting_others() {
    let mut desk = Desk::with(Limits { live: 9, depth: 9, total: 99, rate: 1, ..Limits::default() }, |_| {});
    desk.ok(spawn(2, 1));
    desk.now = At(9_000_000);
    desk.ok(spawn(3, 2));
    desk.now = At(1_000_000);
    desk.ok(spawn(4, 2));
    assert!(desk.refused(spawn(5, 2)).starts_with("agents have started 1 others"));
    desk.now = At(1_060_000);
    desk.ok(spawn(5, 2));
}

#[test]
fn ids_are_taken_once_and_parents_must_exist() {
    let mut desk = Desk::new();
    desk.ok(spawn(2, 1));
    assert!(desk.refused(spawn(2, 1)).ends_with("exists already"));
    assert!(desk.refused(spawn(3, 8)).starts_with("there is no task"));
}

#[test]
fn a_repeated_name_gets_a_number() {
    let mut desk = Desk::new();
    for n in 2..5 {
        desk.child(n);
    }
    desk.spawn(5, |spec| spec.name = "worker-2".into());
    let names: Vec<_> = (2..6).map(|n| desk.task(n).name.clone()).collect();
    assert_eq!(names, ["worker", "worker-2", "worker-3", "worker-2-2"]);
}

#[test]
fn a_thousand_children_of_one_name_are_numbered_without_gaps() {
    let mut desk = Desk::with(Limits { live: 2, depth: 2, total: 2_000, ..Limits::default() }, |_| {});
    for n in 2..1_002 {
        desk.child(n);
    }
    assert_eq!((desk.task(3).name.as_str(), desk.task(1_001).name.as_str()), ("worker-2", "worker-1000"));
    let names: std::collections::BTreeSet<_> = (2..1_002).map(|n| desk.task(n).name.as_str()).collect();
    assert_eq!(names.len(), 1_000);
}

#[test]
fn whoever_starts_a_task_is_its_parent_and_otherwise_the_root_is() {
    let mut desk = Desk::with(Limits { live: 9, depth: 9, total: 9, ..Limits::default() }, |_| {});
    desk.child(2);
    desk.child(3);
    let two = desk.run(2);
    let turn = desk.runs(two, &["a"]);
    let by = Some((two, turn, CallId("a".into())));
    let spec = spec(Kind::Agent, Some(id(3)));
    desk.ok(Input::Spawn(Spawn { id: id(4), spec, prompt: "go".into(), by, until: None, definition: None }));
    desk.spawn(5, |spec| spec.parent = None);
    assert_eq!((desk.task(4).parent, desk.task(5).parent), (Some(id(2)), Some(id(1))));
    assert_eq!(desk.task(2).children, [id(4)]);
}

#[test]
fn turns_are_limited_and_a_try_without_an_answer_is_none() {
    let mut desk = Desk::with(Limits::default(), |spec| spec.max_turns = Some(2));
    let root = desk.root;
    desk.says(root, "one");
    desk.report(root, desk.begin());
    let turn = desk.task(1).turn;
    let failed = Report::TurnFailed {
        turn,
        fault: ModelFault::Transient,
        message: "cut".into(),
        booked: Booked::Nothing,
        retry: None,
    };
    desk.report(root, failed.clone());
    assert_eq!(desk.refused(Input::Report(root, failed)), "no such turn is under way");
    desk.says(root, "two");
    assert_eq!(desk.refused(Input::Report(root, desk.begin())), "the limit of 2 turns is reached");
    desk.report(root, Report::Ended { ending: Ending::TimedOut(Limit::Turns), text: String::new() });
    desk.ok(Input::Send(letter(id(1), Delivery::Steer)));
    desk.says(desk.run(1), "a new activation has its own");
}

#[test]
fn a_turn_is_one_at_a_time_and_answered_once() {
    let mut desk = Desk::new();
    let root = desk.root;
    desk.report(root, desk.begin());
    assert_eq!(desk.refused(Input::Report(root, desk.begin())), "a turn is under way");
    assert_eq!(desk.refused(Input::Report(root, Report::Boundary(Point::End))), "a turn is under way");
    assert_eq!(desk.refused(Input::Report(root, Report::Park(parking(At(900))))), "a turn is under way");
    assert_eq!(desk.refused(Input::Report(root, answer(Turn(2), vec![]))), "no such turn is under way");
    let call = |id: &str| Block::Call(Call { id: CallId(id.into()), tool: "t".into(), input: "{}".into() });
    let twins = Input::Report(root, answer(Turn(1), vec![call("a"), call("a")]));
    assert_eq!(desk.refused(twins), "two calls have the id a");
    desk.report(root, answer(Turn(1), vec![call("a")]));
    let started = |turn| Input::Report(root, Report::CallStarted { turn, call: CallId("a".into()) });
    assert_eq!(desk.refused(started(Turn(2))), "the call a is not open for this");
    desk.ok(started(Turn(1)));
    assert_eq!(desk.refused(started(Turn(1))), "the call a is not open for this");
    assert_eq!(desk.refused(Input::Report(root, answered(Turn(2), "a"))), "the call a is not open for this");
    desk.report(root, answered(Turn(1), "a"));
    assert_eq!(desk.refused(Input::Report(root, answered(Turn(1), "a"))), "the call a is not open for this");
}

#[test]
fn budgets_hold_on_every_level_and_are_settled_with_the_truth() {
    let budget = |tokens| Budget { tokens: Some(tokens), micros: None };
    let mut desk =
        Desk::with(Limits { live: 9, depth: 9, total: 9, ..Limits::default() }, |spec| spec.budget = budget(100));
    desk.spawn(2, |spec| spec.budget = budget(60));
    desk.child(3);
    let (two, three) = (desk.run(2), desk.run(3));
    assert!(desk.refused(Input::Report(two, begin(61))).contains(&id(2).to_string()));
    desk.report(two, begin(60));
    assert!(desk.refused(Input::Report(three, begin(41))).contains(&id(1).to_string()));
    desk.report(three, begin(40));
    assert_eq!((desk.task(1).ledger.reserved, desk.task(1).ledger.spent), (tokens(100), Cost::ZERO));
    // A provider that used more than was set aside is booked as it is, and the next turn is refused.
    let used = |turn, cost| {
        let (stop, usage, model) = (StopReason::End, Usage::default(), "m".into());
        Report::TurnAnswered { turn, content: vec![], stop, usage, cost: tokens(cost), model }
    };
    desk.report(two, used(Turn(1), 70));
    desk.report(three, used(Turn(1), 5));
    assert_eq!((desk.task(1).ledger.spent, desk.task(1).ledger.reserved), (tokens(75), Cost::ZERO));
    assert!(desk.refused(Input::Report(two, begin(1))).ends_with("is used up"));
    desk.report(three, begin(25));
}

#[test]
fn completed_needs_a_final_message_and_no_open_call() {
    let mut desk = Desk::new();
    let root = desk.root;
    let end = || Input::Report(root, Report::Ended { ending: Ending::Completed, text: String::new() });
    assert_eq!(desk.refused(end()), "there is no final message");
    desk.says(root, " \n");
    assert_eq!(desk.refused(end()), "there is no final message");
    let turn = desk.calls(root, &["a"]);
    assert_eq!(desk.refused(end()), "a turn is under way");
    desk.report(root, answered(turn, "a"));
    assert_eq!(desk.refused(end()), "there is no final message");
    desk.report(root, desk.begin());
    assert_eq!(desk.refused(end()), "a turn is under way");
    let turn = desk.task(1).turn;
    desk.report(root, answer(turn, vec![Block::Text { text: "done".into() }]));
    assert_eq!(desk.ok(end()), ["1 activationEnded completed"]);
}

#[test]
fn every_ending_has_its_outcome_and_an_intent_changes_nothing() {
    let endings = [
        (Ending::Failed { kind: FailKind::Exit, message: "1".into() }, "failed"),
        (Ending::TimedOut(Limit::Time), "timed_out"),
        (Ending::BudgetExhausted, "budget_exhausted"),
        (Ending::Completed, "completed"),
    ];
    for (ending, word) in endings {
        let mut desk = Desk::new();
        desk.spawn(2, |spec| {
            spec.kind = Kind::Shell;
            spec.rest = Rest::Idle;
        });
        let two = desk.run(2);
        desk.report(two, Report::Boundary(Point::Between));
        assert_eq!(desk.report(two, Report::Intent("x".into())), ["2 intentReported"]);
        desk.report(two, Report::Ended { ending: ending.clone(), text: String::new() });
        assert_eq!(desk.state(2), if ending == Ending::Completed { "idle" } else { word });
    }
}

//! What may be spent, and what happens when it is.

use bosun_kernel::*;
use protocol::*;

use crate::desk::*;

const PRICE: Price = Price { input: 1_000_000, output: 2_000_000, cache_read: 0, cache_write: 0 };

/// A session whose root may spend so many tokens.
fn desk(tokens: u64) -> Desk {
    let budget = Budget { tokens: Some(tokens), micros: None };
    Desk::with(Limits { live: 99, depth: 9, total: 99, ..Limits::default() }, |spec| spec.budget = budget)
}

fn quote(input: u64, least: u32, most: u32) -> Quote {
    Quote { input, estimated: 0, least, expected: most, most, price: None, spare: Cost::ZERO }
}

fn ask(quote: Quote) -> Report {
    Report::TurnBegun { model: "m".into(), quote }
}

fn used(turn: u32, tokens: u64) -> Report {
    let (content, stop) = (vec![Block::Text { text: "so far".into() }], StopReason::End);
    let cost = Cost { tokens, micros: 0 };
    Report::TurnAnswered { turn: Turn(turn), content, stop, usage: Usage::default(), cost, model: "m".into() }
}

fn ended(text: &str) -> Report {
    Report::Ended { ending: Ending::Completed, text: text.into() }
}

#[test]
fn the_output_is_lowered_to_what_is_left_on_every_level() {
    let mut desk = desk(1_000);
    desk.spawn(2, |spec| spec.budget = Budget { tokens: Some(300), micros: None });
    let granted = |desk: &Desk, n| desk.task(n).ledger.reserved.tokens;
    desk.report(desk.run(2), ask(quote(100, 10, 500)));
    assert_eq!((granted(&desk, 2), granted(&desk, 1)), (300, 300));
    desk.report(desk.root, ask(quote(100, 10, 500)));
    assert_eq!(granted(&desk, 1), 900);
    desk.child(3);
    let held = Refusal::BudgetHeld { task: id(1) }.to_string();
    assert_eq!(desk.refused(Input::Report(desk.run(3), ask(quote(95, 10, 500)))), held);
    desk.report(desk.run(3), ask(Quote { expected: 10, ..quote(90, 10, 500) }));
    assert_eq!(granted(&desk, 1), 1_000);
}

fn refusal(n: u128) -> String {
    Refusal::Budget { task: id(n) }.to_string()
}

#[test]
fn what_a_last_turn_needs_is_not_spent_before_it() {
    let mut desk = desk(1_000);
    let root = desk.root;
    let spare = Cost { tokens: 300, micros: 0 };
    let full = Quote { spare, ..quote(600, 200, 900) };
    assert_eq!(desk.refused(Input::Report(root, ask(full))), refusal(1));
    desk.report(root, ask(Quote { input: 400, ..full }));
    assert_eq!(desk.task(1).ledger.reserved.tokens, 700);
    desk.report(root, used(1, 650));
    assert_eq!(desk.refused(Input::Report(root, ask(Quote { spare, ..quote(100, 1, 900) }))), refusal(1));

    assert_eq!(desk.report(root, Report::WrapUp(WrapUp::Budget)), ["1 wrapUpBegan"]);
    assert_eq!(desk.refused(Input::Report(root, Report::WrapUp(WrapUp::Time))), "the last turn is taken");
    assert_eq!(desk.refused(Input::Report(root, ended("early"))), "there is no final message");
    desk.report(root, ask(Quote { spare, ..quote(100, 1, 900) }));
    assert_eq!(desk.task(1).ledger.reserved.tokens, 350);
    desk.report(root, used(2, 120));
    assert_eq!(desk.refused(Input::Report(root, ask(quote(1, 1, 1)))), "the last turn is taken");
    assert_eq!(desk.report(root, ended("so far")), ["1 activationEnded budget_exhausted"]);
}

#[test]
fn a_last_turn_that_failed_may_be_asked_again_and_the_next_activation_has_its_own() {
    let mut desk = desk(1_000);
    let root = desk.root;
    desk.report(root, Report::WrapUp(WrapUp::Time));
    desk.report(root, ask(quote(10, 1, 10)));
    let (fault, message) = (ModelFault::Transient, "cut".into());
    desk.report(
        root,
        Report::TurnFailed { turn: Turn(1), fault, message, booked: Booked::Used { output: 10 }, retry: None },
    );
    assert_eq!(desk.task(1).ledger.spent.tokens, 20);
    desk.report(root, ask(quote(10, 1, 10)));
    desk.report(root, used(2, 5));
    assert_eq!(desk.report(root, ended("so far")), ["1 activationEnded timed_out"]);
    desk.ok(Input::Send(letter(id(1), Delivery::Steer)));
    desk.report(desk.run(1), Report::Boundary(Point::Between));
    desk.says(desk.run(1), "on");
    assert_eq!(desk.report(desk.run(1), ended("on")), ["1 activationEnded completed"]);
}

#[test]
fn a_try_that_never_began_costs_nothing_and_one_that_did_its_input_and_what_had_arrived() {
    let mut desk = desk(1_000);
    let root = desk.root;
    for (booked, spent) in [(Booked::Nothing, 0), (Booked::Used { output: 4 }, 104), (Booked::Nothing, 104)] {
        desk.report(root, ask(quote(100, 10, 10)));
        let turn = desk.task(1).turn;
        desk.report(
            root,
            Report::TurnFailed { turn, fault: ModelFault::Transient, message: String::new(), booked, retry: None },
        );
        let ledger = desk.task(1).ledger;
        assert_eq!((ledger.spent.tokens, ledger.reserved), (spent, Cost::ZERO));
    }
}

#[test]
fn whoever_s_budget_is_low_is_told_once_before_a_turn() {
    let mut desk = desk(100);
    let child = {
        desk.child(2);
        desk.run(2)
    };
    desk.report(child, ask(quote(70, 0, 0)));
    desk.report(child, used(1, 79));
    desk.report(child, ask(quote(1, 0, 0)));
    desk.report(child, used(2, 1));
    assert_eq!(desk.report(child, ask(quote(1, 0, 0))), ["1 budgetLow", "2 turnBegun"]);
    desk.report(child, used(3, 1));
    assert_eq!(desk.report(child, ask(quote(1, 0, 0))), ["2 turnBegun"]);
}

#[test]
fn a_new_owner_may_raise_the_budget() {
    let mut desk = desk(100);
    desk.report(desk.root, ask(quote(100, 0, 0)));
    desk.report(desk.root, used(1, 100));
    assert_eq!(desk.refused(Input::Report(desk.root, ask(quote(1, 0, 0)))), refusal(1));
    let budget = Budget { tokens: Some(300), micros: None };
    desk.ok(Input::Adopt { fence: Fence(2), terms: Terms { budget, ..terms() } });
    desk.ok(Input::Resume);
    desk.report(desk.run(1), ask(quote(200, 0, 0)));
    assert_eq!(desk.task(1).ledger.budget, budget);
}

#[test]
fn money_is_counted_with_the_dearest_kind_of_input() {
    let budget = Budget { tokens: None, micros: Some(1_000) };
    let mut desk = Desk::with(Limits::default(), |spec| spec.budget = budget);
    desk.report(desk.root, ask(Quote { price: Some(PRICE), ..quote(400, 10, 1_000) }));
    assert_eq!(desk.task(1).ledger.reserved, Cost { tokens: 700, micros: 1_000 });
}

#[test]
fn another_model_than_the_one_that_was_asked_is_told() {
    let differs = |asked: &str, answered: &str| {
        let mut desk = Desk::new();
        desk.report(desk.root, Report::TurnBegun { model: asked.into(), quote: quote(0, 0, 0) });
        let (stop, usage, cost, model) = (StopReason::End, Usage::default(), Cost::ZERO, answered.into());
        let effects =
            desk.report(desk.root, Report::TurnAnswered { turn: Turn(1), content: vec![], stop, usage, cost, model });
        effects.iter().any(|effect| effect.contains("modelDiffered"))
    };
    for (asked, answered) in [
        ("anthropic/claude-x-4-5", "claude-x-4-5"),
        ("anthropic/claude-x-4-5", "claude-x-4-5-20250929"),
        ("openai/gpt-x", "gpt-x-2026-01-01"),
        ("ollama/qwen3", "qwen3:latest"),
        ("local/org/Model-GGUF", "Model-GGUF"),
        ("script/a.yaml", "script/a.yaml"),
    ] {
        assert!(!differs(asked, answered), "{asked} {answered}");
    }
    for (asked, answered) in
        [("openai/gpt-x", "gpt-y"), ("openai/gpt-x-pro", "gpt-x"), ("openai/gpt-x", "gpt-xl"), ("a/b", "")]
    {
        assert!(differs(asked, answered), "{asked} {answered}");
    }
}

#[test]
fn compaction_is_for_between_turns() {
    let mut desk = Desk::new();
    let compact = || Report::Compacted(Compaction { messages: 3, digest: None, cause: CompactionCause::Full });
    assert_eq!(desk.report(desk.root, compact()), ["1 compacted"]);
    desk.report(desk.root, desk.begin());
    assert_eq!(desk.refused(Input::Report(desk.root, compact())), "a turn is under way");
}

#[test]
fn only_the_expected_output_is_set_aside_and_more_while_a_longer_answer_arrives() {
    let mut desk = desk(1_100);
    let many = Quote { expected: 50, ..quote(50, 10, 900) };
    for n in 2..=9 {
        desk.child(n);
        desk.report(desk.run(n), ask(many));
    }
    assert_eq!(desk.task(1).ledger.reserved.tokens, 800);
    let grows = |output| Report::TurnGrows { turn: Turn(1), output };
    assert_eq!(desk.report(desk.run(2), grows(150)), ["2 turnGrew"]);
    assert_eq!(desk.report(desk.run(2), grows(150)), [""; 0]);
    assert_eq!(desk.task(1).ledger.reserved.tokens, 900);
    let held = Refusal::BudgetHeld { task: id(1) }.to_string();
    assert_eq!(desk.refused(Input::Report(desk.run(2), grows(351))), held);
    // The answer may not be longer than was asked for, however much is left.
    for n in 3..=9 {
        desk.report(desk.run(n), used(1, 10));
    }
    desk.report(desk.run(2), grows(9_000));
    assert_eq!(desk.task(2).ledger.reserved.tokens, 50 + 900);
}

#[test]
fn a_question_waits_for_others_rather_than_being_cut_short() {
    let mut desk = desk(300);
    desk.child(2);
    desk.report(desk.run(2), ask(Quote { expected: 100, ..quote(100, 10, 100) }));
    let next = Quote { expected: 80, ..quote(50, 10, 80) };
    let held = Refusal::BudgetHeld { task: id(1) }.to_string();
    assert_eq!(desk.refused(Input::Report(desk.root, ask(next))), held);
    desk.report(desk.run(2), used(1, 150));
    desk.report(desk.root, ask(next));
    assert_eq!(desk.task(1).ledger.reserved.tokens, 130);
}

#[test]
fn a_request_that_is_broken_off_costs_its_input_and_what_had_arrived() {
    let mut desk = desk(1_000);
    let many = Quote { price: Some(PRICE), ..quote(100, 10, 500) };
    desk.report(desk.root, ask(many));
    desk.ok(Input::Streamed { run: desk.root, output: 7 });
    desk.ok(Input::Interrupt(id(1)));
    assert_eq!(desk.task(1).ledger.spent, Cost { tokens: 107, micros: 114 });
    assert_eq!(desk.task(1).ledger.reserved, Cost::ZERO);
}

#[test]
fn a_provider_that_counts_more_is_believed_before_the_next_questions() {
    let mut desk = desk(10_000);
    let first = Quote { estimated: 100, expected: 10, ..quote(100, 10, 10) };
    desk.report(desk.root, ask(first));
    let (content, stop) = (vec![Block::Text { text: "so far".into() }], StopReason::End);
    let usage = Usage { input: 900, output: 10, ..Usage::default() };
    let cost = Cost { tokens: 910, micros: 0 };
    desk.report(desk.root, Report::TurnAnswered { turn: Turn(1), content, stop, usage, cost, model: "m".into() });
    for n in 2..=9 {
        desk.child(n);
        desk.report(desk.run(n), ask(first));
    }
    assert_eq!(desk.task(1).ledger.reserved.tokens, 8 * (900 + 10));
    desk.child(10);
    desk.report(desk.run(10), ask(first));
    desk.child(11);
    let held = Refusal::BudgetHeld { task: id(1) }.to_string();
    assert_eq!(desk.refused(Input::Report(desk.run(11), ask(first))), held);
}

#[test]
fn the_turns_of_a_run_are_those_of_everybody_and_a_prompt_begins_another_run() {
    let mut desk = Desk::with(Limits { live: 9, ..Limits::default() }, |_| {});
    desk.ok(Input::Adopt { fence: Fence(2), terms: Terms { max_turns: Some(2), root_turns: None, ..terms() } });
    desk.ok(Input::Resume);
    desk.child(2);
    desk.says(desk.run(1), "one");
    desk.says(desk.run(2), "two");
    let limit = Refusal::Turns { limit: 2 }.to_string();
    for n in [1, 2] {
        assert_eq!(desk.refused(Input::Report(desk.run(n), ask(quote(1, 1, 1)))), limit);
    }
    desk.report(desk.run(2), Report::WrapUp(WrapUp::Turns));
    desk.says(desk.run(2), "last");
    assert_eq!(desk.report(desk.run(2), ended("last"))[0], "2 activationEnded timed_out");
    desk.ok(Input::Send(letter(id(1), Delivery::Steer)));
    desk.says(desk.run(1), "again");
}

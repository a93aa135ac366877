//! Budgets: reservations, costs, and what happens when a budget is used up.

use bosun_kernel::*;
use protocol::*;

use crate::fixture::*;

const PRICE: Price = Price { input: 1_000_000, output: 2_000_000, cache_read: 0, cache_write: 0 };

/// A session whose root may spend so many tokens.
fn kernel(tokens: u64) -> KernelFixture {
    let budget = Budget { tokens: Some(tokens), micros: None };
    KernelFixture::with(SessionLimits { live: 99, depth: 9, total: 99, ..SessionLimits::default() }, |spec| {
        spec.budget = budget
    })
}

fn quote(input: u64, min_output: u32, max_output: u32) -> TurnQuote {
    TurnQuote {
        input,
        estimated: 0,
        min_output,
        expected_output: max_output,
        max_output,
        price: None,
        last_turn_reserve: Cost::ZERO,
    }
}

fn turn_begun(quote: TurnQuote) -> RunUpdate {
    RunUpdate::TurnBegun { model: "m".into(), quote }
}

fn turn_answered(turn: u32, tokens: u64) -> RunUpdate {
    let (content, stop) = (vec![ContentBlock::Text { text: "so far".into() }], StopReason::End);
    let cost = Cost { tokens, micros: 0 };
    RunUpdate::TurnAnswered { turn: Turn(turn), content, stop, usage: Usage::default(), cost, model: "m".into() }
}

fn ended(text: &str) -> RunUpdate {
    RunUpdate::Ended { ending: RunEnding::Completed, text: text.into() }
}

#[test]
fn the_output_is_limited_by_every_budget_above_the_task() {
    let mut kernel = kernel(1_000);
    kernel.spawn(2, |spec| spec.budget = Budget { tokens: Some(300), micros: None });
    let granted = |kernel: &KernelFixture, n| kernel.task(n).ledger.reserved.tokens;
    kernel.report(kernel.run(2), turn_begun(quote(100, 10, 500)));
    assert_eq!((granted(&kernel, 2), granted(&kernel, 1)), (300, 300));
    kernel.report(kernel.root, turn_begun(quote(100, 10, 500)));
    assert_eq!(granted(&kernel, 1), 900);
    kernel.child(3);
    let held = InputRefusal::BudgetHeld { task: id(1) }.to_string();
    assert_eq!(kernel.refused(KernelInput::Report(kernel.run(3), turn_begun(quote(95, 10, 500)))), held);
    kernel.report(kernel.run(3), turn_begun(TurnQuote { expected_output: 10, ..quote(90, 10, 500) }));
    assert_eq!(granted(&kernel, 1), 1_000);
}

fn refusal(n: u128) -> String {
    InputRefusal::Budget { task: id(n) }.to_string()
}

#[test]
fn the_reserve_for_a_last_turn_is_not_spent_before_it() {
    let mut kernel = kernel(1_000);
    let root = kernel.root;
    let last_turn_reserve = Cost { tokens: 300, micros: 0 };
    let full = TurnQuote { last_turn_reserve, ..quote(600, 200, 900) };
    assert_eq!(kernel.refused(KernelInput::Report(root, turn_begun(full))), refusal(1));
    kernel.report(root, turn_begun(TurnQuote { input: 400, ..full }));
    assert_eq!(kernel.task(1).ledger.reserved.tokens, 700);
    kernel.report(root, turn_answered(1, 650));
    assert_eq!(
        kernel.refused(KernelInput::Report(root, turn_begun(TurnQuote { last_turn_reserve, ..quote(100, 1, 900) }))),
        refusal(1)
    );

    assert_eq!(kernel.report(root, RunUpdate::WrapUp(WrapUpReason::Budget)), ["1 wrapUpBegan"]);
    assert_eq!(
        kernel.refused(KernelInput::Report(root, RunUpdate::WrapUp(WrapUpReason::Time))),
        "the last turn has already been taken"
    );
    assert_eq!(kernel.refused(KernelInput::Report(root, ended("early"))), "there is no final message");
    kernel.report(root, turn_begun(TurnQuote { last_turn_reserve, ..quote(100, 1, 900) }));
    assert_eq!(kernel.task(1).ledger.reserved.tokens, 350);
    kernel.report(root, turn_answered(2, 120));
    assert_eq!(
        kernel.refused(KernelInput::Report(root, turn_begun(quote(1, 1, 1)))),
        "the last turn has already been taken"
    );
    assert_eq!(kernel.report(root, ended("so far")), ["1 activationEnded budget_exhausted"]);
}

#[test]
fn a_failed_last_turn_may_be_repeated_and_the_next_activation_has_its_own() {
    let mut kernel = kernel(1_000);
    let root = kernel.root;
    kernel.report(root, RunUpdate::WrapUp(WrapUpReason::Time));
    kernel.report(root, turn_begun(quote(10, 1, 10)));
    let (fault, message) = (ModelFault::Transient, "cut".into());
    kernel.report(
        root,
        RunUpdate::TurnFailed {
            turn: Turn(1),
            fault,
            message,
            charge: FailedCallCharge::Used { output: 10 },
            retry: None,
        },
    );
    assert_eq!(kernel.task(1).ledger.spent.tokens, 20);
    kernel.report(root, turn_begun(quote(10, 1, 10)));
    kernel.report(root, turn_answered(2, 5));
    assert_eq!(kernel.report(root, ended("so far")), ["1 activationEnded timed_out"]);
    kernel.ok(KernelInput::Send(user_mail(id(1), MailDelivery::Steer)));
    kernel.report(kernel.run(1), RunUpdate::Boundary(BoundaryPoint::BetweenTurns));
    kernel.answer_with_text(kernel.run(1), "on");
    assert_eq!(kernel.report(kernel.run(1), ended("on")), ["1 activationEnded completed"]);
}

#[test]
fn a_failed_request_is_charged_for_its_input_and_arrived_output_or_not_at_all() {
    let mut kernel = kernel(1_000);
    let root = kernel.root;
    for (charge, spent) in
        [(FailedCallCharge::Nothing, 0), (FailedCallCharge::Used { output: 4 }, 104), (FailedCallCharge::Nothing, 104)]
    {
        kernel.report(root, turn_begun(quote(100, 10, 10)));
        let turn = kernel.task(1).turn;
        kernel.report(
            root,
            RunUpdate::TurnFailed { turn, fault: ModelFault::Transient, message: String::new(), charge, retry: None },
        );
        let ledger = kernel.task(1).ledger;
        assert_eq!((ledger.spent.tokens, ledger.reserved), (spent, Cost::ZERO));
    }
}

#[test]
fn a_low_budget_is_reported_once_before_a_turn() {
    let mut kernel = kernel(100);
    let child = {
        kernel.child(2);
        kernel.run(2)
    };
    kernel.report(child, turn_begun(quote(70, 0, 0)));
    kernel.report(child, turn_answered(1, 79));
    kernel.report(child, turn_begun(quote(1, 0, 0)));
    kernel.report(child, turn_answered(2, 1));
    assert_eq!(kernel.report(child, turn_begun(quote(1, 0, 0))), ["1 budgetLow", "2 turnBegun"]);
    kernel.report(child, turn_answered(3, 1));
    assert_eq!(kernel.report(child, turn_begun(quote(1, 0, 0))), ["2 turnBegun"]);
}

#[test]
fn a_new_owner_may_raise_the_budget() {
    let mut kernel = kernel(100);
    kernel.report(kernel.root, turn_begun(quote(100, 0, 0)));
    kernel.report(kernel.root, turn_answered(1, 100));
    assert_eq!(kernel.refused(KernelInput::Report(kernel.root, turn_begun(quote(1, 0, 0)))), refusal(1));
    let budget = Budget { tokens: Some(300), micros: None };
    kernel.ok(KernelInput::Adopt { fence: Fence(2), config: SessionConfig { budget, ..session_config() } });
    kernel.ok(KernelInput::Resume);
    kernel.report(kernel.run(1), turn_begun(quote(200, 0, 0)));
    assert_eq!(kernel.task(1).ledger.budget, budget);
}

#[test]
fn money_is_reserved_at_the_price_of_the_most_expensive_kind_of_input() {
    let budget = Budget { tokens: None, micros: Some(1_000) };
    let mut kernel = KernelFixture::with(SessionLimits::default(), |spec| spec.budget = budget);
    kernel.report(kernel.root, turn_begun(TurnQuote { price: Some(PRICE), ..quote(400, 10, 1_000) }));
    assert_eq!(kernel.task(1).ledger.reserved, Cost { tokens: 700, micros: 1_000 });
}

#[test]
fn an_answer_from_another_model_is_recorded() {
    let differs = |asked: &str, answered: &str| {
        let mut kernel = KernelFixture::new();
        kernel.report(kernel.root, RunUpdate::TurnBegun { model: asked.into(), quote: quote(0, 0, 0) });
        let (stop, usage, cost, model) = (StopReason::End, Usage::default(), Cost::ZERO, answered.into());
        let effects = kernel
            .report(kernel.root, RunUpdate::TurnAnswered { turn: Turn(1), content: vec![], stop, usage, cost, model });
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
fn a_conversation_is_compacted_only_between_turns() {
    let mut kernel = KernelFixture::new();
    let compact =
        || RunUpdate::Compacted(Compaction { messages: 3, digest: None, cause: CompactionCause::ContextFull });
    assert_eq!(kernel.report(kernel.root, compact()), ["1 compacted"]);
    kernel.report(kernel.root, kernel.begin());
    assert_eq!(kernel.refused(KernelInput::Report(kernel.root, compact())), "a turn is in progress");
}

#[test]
fn only_the_expected_output_is_reserved_and_more_while_a_longer_answer_arrives() {
    let mut kernel = kernel(1_100);
    let many = TurnQuote { expected_output: 50, ..quote(50, 10, 900) };
    for n in 2..=9 {
        kernel.child(n);
        kernel.report(kernel.run(n), turn_begun(many));
    }
    assert_eq!(kernel.task(1).ledger.reserved.tokens, 800);
    let raise = |output| RunUpdate::RaiseReservation { turn: Turn(1), output };
    assert_eq!(kernel.report(kernel.run(2), raise(150)), ["2 turnReservationRaised"]);
    assert_eq!(kernel.report(kernel.run(2), raise(150)), [""; 0]);
    assert_eq!(kernel.task(1).ledger.reserved.tokens, 900);
    let held = InputRefusal::BudgetHeld { task: id(1) }.to_string();
    assert_eq!(kernel.refused(KernelInput::Report(kernel.run(2), raise(351))), held);
    // The answer may not be longer than requested, even if more of the budget is left.
    for n in 3..=9 {
        kernel.report(kernel.run(n), turn_answered(1, 10));
    }
    kernel.report(kernel.run(2), raise(9_000));
    assert_eq!(kernel.task(2).ledger.reserved.tokens, 50 + 900);
}

#[test]
fn a_request_waits_for_other_reservations_instead_of_being_shortened() {
    let mut kernel = kernel(300);
    kernel.child(2);
    kernel.report(kernel.run(2), turn_begun(TurnQuote { expected_output: 100, ..quote(100, 10, 100) }));
    let next = TurnQuote { expected_output: 80, ..quote(50, 10, 80) };
    let held = InputRefusal::BudgetHeld { task: id(1) }.to_string();
    assert_eq!(kernel.refused(KernelInput::Report(kernel.root, turn_begun(next))), held);
    kernel.report(kernel.run(2), turn_answered(1, 150));
    kernel.report(kernel.root, turn_begun(next));
    assert_eq!(kernel.task(1).ledger.reserved.tokens, 130);
}

#[test]
fn an_interrupted_request_costs_its_input_and_the_arrived_output() {
    let mut kernel = kernel(1_000);
    let many = TurnQuote { price: Some(PRICE), ..quote(100, 10, 500) };
    kernel.report(kernel.root, turn_begun(many));
    kernel.ok(KernelInput::Streamed { run: kernel.root, output: 7 });
    kernel.ok(KernelInput::Interrupt(id(1)));
    assert_eq!(kernel.task(1).ledger.spent, Cost { tokens: 107, micros: 114 });
    assert_eq!(kernel.task(1).ledger.reserved, Cost::ZERO);
}

#[test]
fn later_reservations_use_the_provider_s_token_count() {
    let mut kernel = kernel(10_000);
    let first = TurnQuote { estimated: 100, expected_output: 10, ..quote(100, 10, 10) };
    kernel.report(kernel.root, turn_begun(first));
    let (content, stop) = (vec![ContentBlock::Text { text: "so far".into() }], StopReason::End);
    let usage = Usage { input: 900, output: 10, ..Usage::default() };
    let cost = Cost { tokens: 910, micros: 0 };
    kernel
        .report(kernel.root, RunUpdate::TurnAnswered { turn: Turn(1), content, stop, usage, cost, model: "m".into() });
    for n in 2..=9 {
        kernel.child(n);
        kernel.report(kernel.run(n), turn_begun(first));
    }
    assert_eq!(kernel.task(1).ledger.reserved.tokens, 8 * (900 + 10));
    kernel.child(10);
    kernel.report(kernel.run(10), turn_begun(first));
    kernel.child(11);
    let held = InputRefusal::BudgetHeld { task: id(1) }.to_string();
    assert_eq!(kernel.refused(KernelInput::Report(kernel.run(11), turn_begun(first))), held);
}

#[test]
fn the_turn_limit_counts_the_turns_of_all_agents_since_the_last_prompt() {
    let mut kernel = KernelFixture::with(SessionLimits { live: 9, ..SessionLimits::default() }, |_| {});
    kernel.ok(KernelInput::Adopt {
        fence: Fence(2),
        config: SessionConfig { max_turns: Some(2), root_turns: None, ..session_config() },
    });
    kernel.ok(KernelInput::Resume);
    kernel.child(2);
    kernel.answer_with_text(kernel.run(1), "one");
    kernel.answer_with_text(kernel.run(2), "two");
    let limit = InputRefusal::Turns { limit: 2 }.to_string();
    for n in [1, 2] {
        assert_eq!(kernel.refused(KernelInput::Report(kernel.run(n), turn_begun(quote(1, 1, 1)))), limit);
    }
    kernel.report(kernel.run(2), RunUpdate::WrapUp(WrapUpReason::Turns));
    kernel.answer_with_text(kernel.run(2), "last");
    assert_eq!(kernel.report(kernel.run(2), ended("last"))[0], "2 activationEnded timed_out");
    kernel.ok(KernelInput::Send(user_mail(id(1), MailDelivery::Steer)));
    kernel.answer_with_text(kernel.run(1), "again");
}

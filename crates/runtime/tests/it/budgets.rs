//! What a session may spend, in tokens, money and time.

use std::sync::Arc;
use std::time::Duration;

use insta::assert_snapshot;
use kernel::{Kernel, SessionLimits};
use model::{Model, ModelFacts, ToolCallPolicy};
use protocol::{Budget, Cost, Event, MailDelivery, Price, TaskOutcome};
use runtime::SessionStart;
use testkit::session::{PlayedSession, Scenario, scenario};

use crate::support::{ScriptWithFacts, TIME_LIMIT, pass_time_limit, relay, rules, script};

/// Reads a file in every turn until its last turn.
const LOOKS: &str = "  - when: { prompt: 'your last answer' }
    answer: [say: this far I came]
    usage: { input: 900, output: 20 }
  - answer:
      - say: I look again.
      - call: { tool: view, input: { path: a.txt } }
    usage: { input: 1000, cache_read: 500, cache_write: 300, output: 200 }
";

const PRICE: Price = Price { input: 3_000_000, output: 15_000_000, cache_read: 300_000, cache_write: 3_750_000 };

fn tokens(tokens: u64) -> Budget {
    Budget { tokens: Some(tokens), micros: None }
}

fn priced(yaml: &str) -> Arc<dyn Model> {
    let facts = ModelFacts { price: Some(PRICE), max_output_tokens: 1_000, ..ModelFacts::UNKNOWN };
    Arc::new(ScriptWithFacts { script: script(&rules(yaml)), facts })
}

/// Folds the log and checks the ledger at every event; returns what was spent.
fn audit(run: &PlayedSession) -> Cost {
    let mut kernel = Kernel::new(SessionLimits::default());
    for envelope in run.events() {
        kernel.apply_event(&envelope.entry).unwrap();
        let Some(root) = kernel.root().and_then(|root| kernel.task(root)) else { continue };
        let booked = root.ledger.spent.plus(root.ledger.reserved);
        assert!(root.ledger.budget.allows(booked), "event {} exceeds the budget: {booked:?}", envelope.seq);
    }
    kernel.root().and_then(|root| kernel.task(root)).unwrap().ledger.spent
}

/// The sum of the costs that the answers of a run report.
fn reported_cost(run: &PlayedSession) -> Cost {
    let costs = run.events().iter().filter_map(|envelope| match &envelope.entry.event {
        Event::TurnAnswered { cost, .. } => Some(*cost),
        _other => None,
    });
    costs.fold(Cost::ZERO, Cost::plus)
}

#[tokio::test]
async fn at_the_limit_there_is_one_last_turn_without_tools() {
    let stage = scenario().model(priced(LOOKS)).file("a.txt", "hello\n").budget(tokens(24_000)).ready();
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("look", MailDelivery::FollowUp).await;
    driver.rest().await;
    let requests = driver.model().requests();
    let run = driver.leave().await;
    assert_eq!(run.outcome(), Some(&TaskOutcome::BudgetExhausted));
    assert_eq!(run.text(), "this far I came");
    let forbidden: Vec<bool> =
        requests.iter().map(|request| request.call_policy == ToolCallPolicy::Forbidden).collect();
    assert!(forbidden.ends_with(&[false, true]) && forbidden.iter().filter(|last| **last).count() == 1);
    assert_eq!(audit(&run), reported_cost(&run));
    assert!(audit(&run).tokens > 16_000, "{:?}", audit(&run));
    assert_snapshot!(run.transcript());
}

#[tokio::test]
async fn a_provider_that_reports_no_usage_does_not_make_a_budget_endless() {
    let silent = LOOKS
        .replace("{ input: 900, output: 20 }", "{ input: 0, output: 0 }")
        .replace("{ input: 1000, cache_read: 500, cache_write: 300, output: 200 }", "{ input: 0, output: 0 }");
    let facts = ModelFacts {
        bucket_key: Some("b".into()),
        price: Some(PRICE),
        max_output_tokens: 1_000,
        ..ModelFacts::UNKNOWN
    };
    let model = Arc::new(ScriptWithFacts { script: script(&rules(&silent)), facts });
    for budget in [tokens(24_000), Budget { tokens: None, micros: Some(100_000) }] {
        let run = scenario().model(model.clone()).file("a.txt", "hello\n").budget(budget).prompt("look").run();
        let run = tokio::time::timeout(Duration::from_secs(20), run).await.unwrap();
        assert_eq!(run.outcome(), Some(&TaskOutcome::BudgetExhausted));
        let (spent, reserved) = (audit(&run), reserved(&run));
        assert_eq!(spent, reported_cost(&run));
        assert!(spent.tokens <= reserved.tokens && spent.tokens > reserved.tokens / 2, "{spent:?} of {reserved:?}");
    }
}

/// The sum of the reservations for the turns of a run.
fn reserved(run: &PlayedSession) -> Cost {
    let costs = run.events().iter().filter_map(|envelope| match &envelope.entry.event {
        Event::TurnBegun { reserved, .. } => Some(*reserved),
        _other => None,
    });
    costs.fold(Cost::ZERO, Cost::plus)
}

#[tokio::test]
async fn a_budget_in_money_works_like_one_in_tokens() {
    let budget = Budget { tokens: None, micros: Some(100_000) };
    let run = scenario().model(priced(LOOKS)).file("a.txt", "hello\n").budget(budget).prompt("look").run().await;
    assert_eq!(run.outcome(), Some(&TaskOutcome::BudgetExhausted));
    let spent = audit(&run);
    assert_eq!(spent, reported_cost(&run));
    assert!(spent.micros > 50_000 && spent.micros <= 100_000, "{spent:?}");
}

#[tokio::test]
async fn a_budget_too_small_for_any_answer_sends_no_request() {
    let stage = scenario().model(priced(LOOKS)).budget(tokens(500)).ready();
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("look", MailDelivery::FollowUp).await;
    driver.rest().await;
    assert!(driver.model().requests().is_empty());
    assert_eq!(driver.leave().await.outcome(), Some(&TaskOutcome::BudgetExhausted));
}

#[tokio::test]
async fn an_answer_is_limited_to_the_remaining_budget() {
    let granted = async |budget| {
        let stage = scenario().model(priced("  - answer: [say: hello]\n")).budget(budget).ready();
        let mut driver = stage.open(SessionStart::New).await;
        driver.send("hi", MailDelivery::FollowUp).await;
        driver.rest().await;
        let granted = driver.model().requests()[0].max_output_tokens;
        let run = driver.leave().await;
        assert_eq!(run.outcome(), Some(&TaskOutcome::Completed));
        let reserved = run.events().iter().find_map(|envelope| match &envelope.entry.event {
            Event::TurnBegun { reserved, .. } => Some(reserved.tokens),
            _other => None,
        });
        (granted.unwrap(), reserved.unwrap())
    };
    let (all, reserved) = granted(tokens(1_000_000)).await;
    assert_eq!(all, 1_000);
    // A last turn would read the same input as this one, and a little more.
    let spare = reserved - 1_000 + 2_000 + 64;
    assert_eq!(granted(tokens(reserved + spare)).await, (1_000, reserved));
    assert_eq!(granted(tokens(reserved + spare - 600)).await, (400, reserved - 600));
}

#[tokio::test]
async fn a_cut_off_answer_costs_what_was_sent_and_received_and_a_refused_one_nothing() {
    let cut = priced("  - answer: [say: half, cut: true]\n");
    let busy = priced("  - fail: { class: transient, message: busy }\n");
    let good = priced("  - answer: [say: whole]\n    usage: { input: 10, output: 2 }\n");
    let facts = cut.facts().clone();
    let model = Arc::new(ScriptWithFacts { script: relay([cut, busy, good]), facts });
    let run = scenario().model(model).budget(tokens(1_000_000)).prompt("go").run().await;
    assert_eq!(run.outcome(), Some(&TaskOutcome::Completed));
    let mut reserved = Vec::new();
    let mut booked = Vec::new();
    for envelope in run.events() {
        match &envelope.entry.event {
            Event::TurnBegun { reserved: cost, .. } => reserved.push(*cost),
            Event::TurnFailed { cost, .. } => booked.push(*cost),
            _other => {}
        }
    }
    let [cut, refused] = booked[..] else { panic!("{booked:?}") };
    assert_eq!(refused, Cost::ZERO);
    // `half` is two tokens of at most a thousand.
    let spared = reserved[0].tokens - cut.tokens;
    assert!((900..1_000).contains(&spared), "{cut:?} of {:?}", reserved[0]);
    assert_eq!(audit(&run), reported_cost(&run).plus(cut));
}

#[tokio::test]
async fn a_session_continues_when_its_budget_is_raised() {
    let low = scenario().model(priced(LOOKS)).file("a.txt", "x\n").budget(tokens(500)).ready();
    let mut driver = low.open(SessionStart::New).await;
    driver.send("look", MailDelivery::FollowUp).await;
    driver.rest().await;
    let id = driver.id();
    driver.leave().await;
    low.set_budget(tokens(40_000));
    let mut driver = low.open(SessionStart::Resume(id)).await;
    driver.send("look now", MailDelivery::FollowUp).await;
    driver.rest().await;
    let run = driver.leave().await;
    assert_eq!((run.outcome(), run.text()), (Some(&TaskOutcome::BudgetExhausted), "this far I came"));
}

/// The part that takes too long.
#[derive(Debug, Clone, Copy)]
enum Slow {
    Answer,
    Call,
}

/// A run whose time is up while it waits for an answer or a call.
async fn run_past_deadline(scene: Scenario, slow: Slow) -> PlayedSession {
    let mut driver = scene.timeout(TIME_LIMIT).ready().open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    match slow {
        Slow::Answer => driver.asked(1).await,
        Slow::Call => drop(driver.until("a call", |event| matches!(event, Event::CallStarted { .. })).await),
    }
    pass_time_limit().await;
    driver.rest().await;
    driver.leave().await
}

#[tokio::test]
async fn time_that_is_up_breaks_a_call_off_and_leaves_one_last_turn() {
    let yaml = "  - when: { prompt: 'your last answer' }
    answer: [say: this far I came]
  - answer: [call: { tool: shell, input: { command: sleep 600 } }]
";
    let scene = scenario().script(&rules(yaml)).allow_all();
    assert_snapshot!(run_past_deadline(scene, Slow::Call).await.transcript());
}

#[tokio::test]
async fn time_that_is_up_breaks_a_question_off_too() {
    let yaml = "  - when: { prompt: 'your last answer' }
    answer: [say: this far I came]
  - answer: [hang: true]
";
    let scene = scenario().script(&rules(yaml));
    assert_snapshot!(run_past_deadline(scene, Slow::Answer).await.transcript());
}

#[tokio::test]
async fn failed_last_turn_is_not_retried_when_the_time_is_up() {
    let yaml = "  - when: { prompt: 'your last answer' }
    fail: { class: transient, message: busy }
  - answer: [hang: true]
";
    let run = run_past_deadline(scenario().script(&rules(yaml)), Slow::Answer).await;
    assert_eq!(run.outcome(), Some(&TaskOutcome::TimedOut { limit: protocol::LimitKind::Time }));
    assert_eq!(run.count(|event| matches!(event, Event::TurnFailed { message, .. } if message == "busy")), 1);
}

#[tokio::test]
async fn a_model_that_makes_calls_in_its_last_turn_gets_no_other() {
    let yaml = "  - answer:
      - say: I cannot stop.
      - call: { tool: view, input: { path: a.txt } }
    usage: { input: 1000, output: 200 }
";
    let run = scenario().model(priced(yaml)).file("a.txt", "x\n").budget(tokens(16_000)).prompt("go").run().await;
    assert_eq!((run.outcome(), run.text()), (Some(&TaskOutcome::BudgetExhausted), "I cannot stop."));
    audit(&run);
}

/// A model with an account, for which runs wait at the governor.
fn governed(yaml: &str) -> Arc<dyn Model> {
    let facts = ModelFacts { bucket_key: Some("demo/account/model".into()), ..ModelFacts::UNKNOWN };
    Arc::new(ScriptWithFacts { script: script(&rules(yaml)), facts })
}

#[tokio::test]
async fn a_governed_model_gets_its_last_turn_when_the_time_is_up() {
    let last = "  - when: { prompt: 'your last answer' }\n    answer: [say: this far I came]\n";
    let call = "  - answer: [call: { tool: shell, input: { command: sleep 600 } }]\n";
    for (slow, script) in [(Slow::Call, call), (Slow::Answer, "  - answer: [hang: true]\n")] {
        let model = governed(&format!("{last}{script}"));
        let run = run_past_deadline(scenario().model(model).allow_all(), slow).await;
        let outcome = Some(&TaskOutcome::TimedOut { limit: protocol::LimitKind::Time });
        assert_eq!((run.outcome(), run.text()), (outcome, "this far I came"));
    }
}

#[tokio::test]
async fn a_time_limit_ends_a_wait_for_a_command() {
    let yaml = "  - when: { prompt: 'your last answer' }
    answer: [say: this far I came]
  - when: { turn: 1 }
    answer: [call: { tool: shell, input: { background: true, description: long, command: sleep 600 } }]
  - answer: [call: { tool: read_shell, input: { name: sleep, wait_secs: 300 } }]
";
    let stage = scenario().script(&rules(yaml)).allow_all().timeout(TIME_LIMIT).ready();
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    for call in ["the command", "the wait for it"] {
        driver.until(call, |event| matches!(event, Event::CallStarted { .. })).await;
    }
    pass_time_limit().await;
    let ended = driver.until("the end", |event| matches!(event, Event::ActivationEnded { .. })).await;
    let Event::ActivationEnded { outcome, text, .. } = ended.entry.event else { panic!() };
    assert_eq!(
        (outcome, text.as_str()),
        (TaskOutcome::TimedOut { limit: protocol::LimitKind::Time }, "this far I came")
    );
    driver.leave().await;
}

#[tokio::test]
async fn an_interrupted_last_turn_does_not_count_once_the_budget_is_raised() {
    for crash in [false, true] {
        let yaml = "  - when: { prompt: 'your last answer' }
    answer: [hang: true]
  - when: { prompt: 'may continue' }
    answer: [say: done]
  - answer: [call: { tool: view, input: { path: a.txt } }]
    usage: { input: 1000, output: 200 }
";
        let stage = scenario().model(priced(yaml)).file("a.txt", "x\n").budget(tokens(16_000)).ready();
        let mut driver = stage.open(SessionStart::New).await;
        driver.send("look", MailDelivery::FollowUp).await;
        driver.until("a last turn", |event| matches!(event, Event::WrapUpBegan { .. })).await;
        driver.until("its question", |event| matches!(event, Event::TurnBegun { .. })).await;
        let id = driver.id();
        if crash {
            driver.crash().await
        } else {
            driver.leave().await
        };
        stage.set_budget(tokens(1_000_000));
        let mut driver = stage.open(SessionStart::Resume(id)).await;
        driver.resume().await;
        driver.rest().await;
        let asked = driver.model().requests();
        assert_eq!(asked.last().map(|request| request.call_policy), Some(ToolCallPolicy::Allowed), "crash: {crash}");
        let run = driver.leave().await;
        assert_eq!((run.outcome(), run.text()), (Some(&TaskOutcome::Completed), "done"), "crash: {crash}");
        audit(&run);
    }
}

#[tokio::test]
async fn an_answer_without_usage_costs_its_reservation() {
    let yaml = "  - when: { prompt: 'your last answer' }
    answer: [say: this far I came]
    usage: { input: 0 }
  - answer: [call: { tool: view, input: { path: a.txt } }]
    usage: { input: 0 }
";
    let stage = scenario().model(priced(yaml)).file("a.txt", "x\n").budget(tokens(40_000)).max_turns(50);
    let run = stage.prompt("go").run().await;
    assert_eq!(run.outcome(), Some(&TaskOutcome::BudgetExhausted));
    assert_eq!(audit(&run), reported_cost(&run));
    let spent =
        store::SessionReader::open(run.stage().home(), run.id()).unwrap().spendings(protocol::Timestamp(0)).unwrap();
    assert!(spent.iter().all(|spent| spent.usage.total() == 0 && spent.lost == spent.cost), "{spent:?}");
    assert_eq!(spent.iter().map(|spent| spent.cost).fold(Cost::ZERO, Cost::plus), reported_cost(&run));
}

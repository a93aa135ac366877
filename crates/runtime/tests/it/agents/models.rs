//! The model that an agent runs with.

use std::sync::Arc;

use model::{Model, ModelFacts};
use protocol::{AgentSpec, Event, ModelPreference, ModelUse, Price, ReasoningEffort, ToolResultStatus};
use runtime::{CostGuard, ExpensiveModelAction, UnpricedModelPolicy};
use serde_json::{Value, json};
use testkit::session::{PlayedSession, Scenario, TestModels, scenario};

use super::played::{answer, calls, played, requests_of, says, with_fields, worker_input};

fn priced(name: &'static str, dollars: u64) -> Arc<dyn Model> {
    let price = Price { input: dollars * 1_000_000, output: dollars * 5_000_000, ..Price::default() };
    let facts = ModelFacts { price: Some(price), max_output_tokens: 200, ..ModelFacts::UNKNOWN };
    Arc::new(played(move |_| says(format!("said by {name}"))).named(name).with_facts(facts))
}

/// A root that starts one agent, and models that are cheaper and more expensive than its own.
fn chooses(more: Value) -> Scenario {
    let price = Price { input: 3_000_000, output: 15_000_000, ..Price::default() };
    let facts = ModelFacts { price: Some(price), max_output_tokens: 200, ..ModelFacts::UNKNOWN };
    let model = played(move |request| match (request.path.as_str(), request.turn) {
        ("/root", 1) => calls([("t", "task", with_fields(worker_input("kid"), more.clone()))]),
        ("/root", _) => says("done"),
        _ => says("said by the session's"),
    });
    let models = TestModels::default().with(priced("costly", 30)).with(priced("small", 1)).with(priced("other", 3));
    let scenario = scenario().model(Arc::new(model.with_facts(facts))).prompt("go");
    scenario.models(Arc::new(models.small("small").other("other")))
}

fn recorded_model(run: &PlayedSession) -> Option<ModelUse> {
    run.events().iter().find_map(|envelope| match &envelope.entry.event {
        Event::TaskCreated(spec) if spec.parent.is_some() => spec.model.clone(),
        _other => None,
    })
}

fn preferring(preference: ModelPreference, effort: Option<ReasoningEffort>) -> AgentSpec {
    AgentSpec {
        name: "taster".into(),
        model_invocable: true,
        model_preference: preference,
        effort,
        ..AgentSpec::default()
    }
}

fn use_of(requested: Option<&str>, effective: &str) -> Option<ModelUse> {
    Some(ModelUse { requested: requested.map(Into::into), effective: effective.into(), why: None })
}

#[tokio::test]
async fn a_model_that_is_too_expensive_is_refused_and_nothing_starts() {
    let guard = CostGuard { percent: Some(200), ..CostGuard::default() };
    let run = chooses(json!({ "model": "costly" })).guard(guard).run().await;
    let result = answer(&run, "t");
    assert_eq!((result.status, run.tasks().len()), (ToolResultStatus::Refused, 1));
    let problem = "costly costs 1000 % of the session's model, but agents may cost at most 200 %; leave `model` out";
    assert!(result.text.starts_with(problem), "{}", result.text);
    let run = chooses(json!({ "model": "small" })).guard(guard).run().await;
    assert!(answer(&run, "t").text.contains("said by small"), "{}", run.transcript());
}

#[tokio::test]
async fn a_model_that_is_too_expensive_is_replaced_and_the_log_says_so() {
    let guard = CostGuard { percent: Some(200), action: ExpensiveModelAction::Downgrade, ..CostGuard::default() };
    let run = chooses(json!({ "model": "costly" })).guard(guard).run().await;
    let ModelUse { requested, effective, why } = recorded_model(&run).unwrap();
    assert_eq!((requested.as_deref(), effective.as_str()), (Some("costly"), "played"));
    assert!(why.unwrap().starts_with("costly costs 1000 %"));
    let result = &answer(&run, "t").text;
    assert!(result.contains("said by the session's") && result.contains("played instead of costly"), "{result}");
}

#[tokio::test]
async fn the_requested_model_is_used() {
    let run = chooses(json!({ "model": "costly" })).run().await;
    assert_eq!(recorded_model(&run), use_of(Some("costly"), "costly"));
    assert!(answer(&run, "t").text.contains("said by costly"));
    // The call comes before the definition, and that before the session.
    let both = || AgentSpec { models: vec!["gone".into(), "other".into()], ..preferring(ModelPreference::Small, None) };
    let run = chooses(json!({ "agent_type": "taster", "model": "costly" })).agent(both()).run().await;
    assert_eq!(recorded_model(&run), use_of(Some("costly"), "costly"));
    let run = chooses(json!({ "agent_type": "taster" })).agent(both()).run().await;
    assert_eq!(recorded_model(&run), use_of(Some("other"), "other"));
    let none = AgentSpec { models: vec!["gone".into()], ..both() };
    let run = chooses(json!({ "agent_type": "taster" })).agent(none).run().await;
    let result = &answer(&run, "t").text;
    assert!(
        result.starts_with("none of the models of `taster` can be used (gone: ") && result.contains("small"),
        "{result}"
    );
    assert_eq!(run.tasks().len(), 1);
}

#[tokio::test]
async fn a_model_preference_is_met_if_there_is_such_a_model() {
    for (preference, name) in [(ModelPreference::Small, "small"), (ModelPreference::Other, "other")] {
        let run = chooses(json!({ "agent_type": "taster" })).agent(preferring(preference, None)).run().await;
        assert_eq!(recorded_model(&run), use_of(Some(name), name), "{preference:?}");
        assert!(answer(&run, "t").text.contains(&format!("said by {name}")));
    }
    let alone = chooses(json!({ "agent_type": "taster" })).models(Arc::new(TestModels::default()));
    let run = alone.agent(preferring(ModelPreference::Small, Some(ReasoningEffort::Low))).run().await;
    assert_eq!(recorded_model(&run), use_of(None, "played"));
    assert_eq!(requests_of(&run, "/root/kid")[0].effort, Some(ReasoningEffort::Low));
    let run = chooses(json!({ "agent_type": "taster", "reasoning_effort": "high", "model": "inherit" }));
    let run = run.agent(preferring(ModelPreference::Small, Some(ReasoningEffort::Low))).run().await;
    assert_eq!(requests_of(&run, "/root/kid")[0].effort, Some(ReasoningEffort::High));
}

#[tokio::test]
async fn a_call_may_not_name_a_file_as_its_model() {
    for file in ["script//etc/passwd", "replay/../secret", "script/x.yaml"] {
        let models = TestModels::default().with(priced("script/x.yaml", 1));
        let run = chooses(json!({ "model": file })).models(Arc::new(models)).run().await;
        let result = answer(&run, "t");
        assert_eq!((result.status, run.tasks().len()), (ToolResultStatus::Refused, 1), "{file}");
        assert!(result.text.starts_with("a call may not name a file as its model"), "{}", result.text);
    }
}

/// A model of a billed provider, with an unknown price.
fn unpriced(name: &'static str) -> Arc<dyn Model> {
    let facts = ModelFacts { is_billed: true, max_output_tokens: 200, ..ModelFacts::UNKNOWN };
    Arc::new(played(move |_| says(format!("said by {name}"))).named(name).with_facts(facts))
}

/// A11.
#[tokio::test]
async fn an_unknown_model_is_refused_with_the_available_ones() {
    let models = || TestModels::default().with(priced("small", 1)).with(priced("ghost", 1)).unheard_of("ghost");
    let run = chooses(json!({ "model": "ghost" })).models(Arc::new(models())).run().await;
    let result = answer(&run, "t");
    assert_eq!((result.status, run.tasks().len()), (ToolResultStatus::Refused, 1));
    let problem = "the model `ghost` cannot be used: its provider has no such model; available: ";
    assert!(result.text.starts_with(problem) && result.text.contains("small"), "{}", result.text);
    // If a definition names an unknown model, its next one is used.
    let both = AgentSpec { models: vec!["ghost".into(), "small".into()], ..preferring(ModelPreference::Same, None) };
    let run = chooses(json!({ "agent_type": "taster" })).models(Arc::new(models())).agent(both).run().await;
    assert_eq!(recorded_model(&run), use_of(Some("small"), "small"));
}

/// A11.
#[tokio::test]
async fn a_model_without_a_known_price_is_too_expensive_unless_that_is_allowed() {
    let guard = CostGuard { percent: Some(200), ..CostGuard::default() };
    let chooses = || chooses(json!({ "model": "odd" })).models(Arc::new(TestModels::default().with(unpriced("odd"))));
    let run = chooses().guard(guard).run().await;
    let result = answer(&run, "t");
    assert_eq!((result.status, run.tasks().len()), (ToolResultStatus::Refused, 1));
    assert!(result.text.starts_with("the price of odd is unknown"), "{}", result.text);
    let run = chooses().guard(CostGuard { action: ExpensiveModelAction::Downgrade, ..guard }).run().await;
    assert!(recorded_model(&run).unwrap().why.unwrap().starts_with("the price of odd is unknown"));
    let run = chooses().guard(CostGuard { unpriced: UnpricedModelPolicy::Allowed, ..guard }).run().await;
    assert!(answer(&run, "t").text.contains("said by odd"), "{}", run.transcript());
    // A server that asks for no key sends no bill.
    let free = played(|_| says("said for free")).named("odd");
    let run = chooses().models(Arc::new(TestModels::default().with(Arc::new(free)))).guard(guard).run().await;
    assert!(answer(&run, "t").text.contains("said for free"), "{}", run.transcript());
}

/// A11.
#[tokio::test]
async fn the_full_name_of_the_model_is_recorded() {
    let models = || TestModels::default().with(priced("maker/opus-5", 3)).alias("opus", "maker/opus-5");
    let run = chooses(json!({ "model": "opus" })).models(Arc::new(models())).run().await;
    assert_eq!(recorded_model(&run), use_of(Some("opus"), "maker/opus-5"));
    assert!(answer(&run, "t").text.contains("said by maker/opus-5"));
    let liked = chooses(json!({ "agent_type": "taster" })).models(Arc::new(models().small("opus")));
    let run = liked.agent(preferring(ModelPreference::Small, None)).run().await;
    assert_eq!(recorded_model(&run), use_of(Some("opus"), "maker/opus-5"));
}

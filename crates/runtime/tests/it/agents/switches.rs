//! Changing the session's model while it works, and agents that the user starts.

use std::sync::Arc;

use model::{Model, ModelFacts};
use protocol::api::{Method, ModelParams, SessionView, StartAgentParams, StartAgentResult};
use protocol::{AgentSpec, Budget, Event, MailDelivery, Price};
use rpc::{CallError, RpcClient};
use runtime::SessionStart;
use serde_json::json;
use testkit::session::{PlayedSession, Scenario, SessionDriver, TestModels, scenario};

use super::played::{calls, played, says, with_fields, worker_input};

fn priced(name: &'static str) -> Arc<dyn Model> {
    let price = Price { input: 1_000_000, output: 1_000_000, ..Price::default() };
    let facts = ModelFacts { price: Some(price), max_output_tokens: 200, ..ModelFacts::UNKNOWN };
    Arc::new(played(move |_| says(format!("said by {name}"))).named(name).with_facts(facts))
}

fn unpriced(name: &'static str) -> Arc<dyn Model> {
    Arc::new(played(move |_| says(format!("said by {name}"))).named(name))
}

fn shelf() -> Arc<TestModels> {
    Arc::new(TestModels::default().with(priced("other")).with(priced("small")).with(unpriced("free")))
}

fn answers() -> Scenario {
    scenario().model(Arc::new(played(|_| says("said by the first")))).models(shelf())
}

async fn client(driver: &SessionDriver) -> RpcClient {
    driver.session().connect().await.unwrap().0
}

async fn set_model(client: &RpcClient, model: &str) -> Result<String, String> {
    match client.call::<ModelParams>(Method::ModelSet, ModelParams::new(model)).await {
        Ok(ModelParams { model, .. }) => Ok(model),
        Err(CallError::Refused(error)) => Err(error.in_one_line()),
        Err(other) => panic!("{other:?}"),
    }
}

/// The models of a task's turns, in order.
fn models_of(run: &PlayedSession, path: &str) -> Vec<String> {
    let task = run.tasks().iter().find(|task| task.path == path).unwrap().id;
    let models = run.events().iter().filter(|envelope| envelope.entry.task == task);
    models
        .filter_map(|envelope| match &envelope.entry.event {
            Event::TurnBegun { model, .. } => Some(model.clone()),
            _other => None,
        })
        .collect()
}

#[tokio::test]
async fn the_next_turn_uses_the_new_model_and_clients_see_it() {
    let mut driver = answers().ready().open(SessionStart::New).await;
    let client = client(&driver).await;
    driver.send("hello", MailDelivery::FollowUp).await;
    driver.rest().await;
    assert_eq!(set_model(&client, "other").await, Ok("other".into()));
    assert_eq!(set_model(&client, "other").await, Ok("other".into()));
    let now: ModelParams = client.call(Method::ModelGet, json!({})).await.unwrap();
    let view: SessionView = client.call(Method::SessionGet, json!({})).await.unwrap();
    assert_eq!((now.model.as_str(), view.model.as_str(), driver.session().model()), ("other", "other", "other".into()));
    driver.send("and now?", MailDelivery::FollowUp).await;
    driver.rest().await;
    let run = driver.leave().await;
    assert_eq!(run.text(), "said by other");
    assert_eq!(models_of(&run, "/root"), ["played", "other"]);
    assert_eq!(run.count(|event| matches!(event, Event::ModelChanged { .. })), 1, "{}", run.transcript());
}

#[tokio::test]
async fn running_agents_follow_the_session_model_unless_they_requested_another() {
    let (model, gate) = played(|request| match (request.path.as_str(), request.turn) {
        ("/root", 1) => calls([
            ("a", "task", with_fields(worker_input("kid"), json!({ "mode": "background" }))),
            ("b", "task", with_fields(worker_input("own"), json!({ "mode": "background", "model": "small" }))),
        ]),
        ("/root/kid", 1) => calls([("c", "list_agents", json!({}))]),
        _ => says("said by the first"),
    })
    .holding(|request| request.path == "/root/kid");
    let mut driver = scenario().model(Arc::new(model)).models(shelf()).ready().open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    let kid = |event: &Event| matches!(event, Event::TaskCreated(spec) if spec.name == "kid");
    let kid = driver.until("the agent", kid).await.entry.task;
    driver.until_status("the root rests", |status| status.root_is_at_rest() && status.background == 1).await;
    // The agent's first answer is held; its second turn uses the new model.
    assert_eq!(set_model(&client(&driver).await, "other").await, Ok("other".into()));
    gate.add_permits(9);
    driver.rest().await;
    let run = driver.leave().await;
    assert_eq!(models_of(&run, "/root/kid"), ["played", "other"], "{}", run.transcript());
    assert_eq!(models_of(&run, "/root/own"), ["small"]);
    let shown = |path: &str| {
        let task = run.tasks().iter().find(|task| task.path == path).unwrap();
        task.model.as_ref().map(|model| model.effective.clone())
    };
    assert_eq!((shown("/root/kid"), shown("/root/own")), (Some("other".into()), Some("small".into())), "{kid}");
}

#[tokio::test]
async fn the_users_choice_overrides_the_model_of_the_roots_definition() {
    let main = AgentSpec { name: "captain".into(), models: vec!["small".into()], ..AgentSpec::default() };
    let stage = answers().ready();
    stage.set_main(Some(main));
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("hello", MailDelivery::FollowUp).await;
    driver.rest().await;
    driver.session().set_model("other").await.unwrap();
    driver.send("hello", MailDelivery::FollowUp).await;
    driver.rest().await;
    let run = driver.leave().await;
    assert_eq!(models_of(&run, "/root"), ["small", "other"]);
}

#[tokio::test]
async fn an_unknown_or_unpriced_model_is_refused_with_the_reason() {
    let driver = answers().ready().open(SessionStart::New).await;
    let reason = set_model(&client(&driver).await, "nobody").await.unwrap_err();
    assert_eq!(
        reason,
        "the model `nobody` cannot be used: no provider has `nobody`; available: played, other, small, free"
    );
    assert_eq!(set_model(&client(&driver).await, "free").await, Ok("free".into()), "there is no budget in dollars");
    driver.leave().await;

    let price = Price { input: 1, output: 1, ..Price::default() };
    let facts = ModelFacts { price: Some(price), max_output_tokens: 200, ..ModelFacts::UNKNOWN };
    let own = Arc::new(played(|_| says("said by the first")).with_facts(facts));
    let budget = Budget { micros: Some(1_000_000), ..Budget::default() };
    let driver = scenario().model(own).models(shelf()).budget(budget).ready().open(SessionStart::New).await;
    let reason = set_model(&client(&driver).await, "free").await.unwrap_err();
    assert!(reason.starts_with("the price of free is unknown, so a budget in dollars cannot be enforced"), "{reason}");
    assert_eq!(driver.session().model(), "played");
    assert_eq!(set_model(&client(&driver).await, "other").await, Ok("other".into()));
    let run = driver.leave().await;
    assert_eq!(run.count(|event| matches!(event, Event::ModelChanged { .. })), 1);
}

#[tokio::test]
async fn a_slash_command_shows_and_changes_the_model() {
    use runtime::slash::SlashOutcome;
    let driver = answers().ready().open(SessionStart::New).await;
    let done = driver.session().dispatch("/model other").await;
    let message = "the model is other, from the next turn on".into();
    assert_eq!(done, SlashOutcome::Done { message, mode: None });
    assert_eq!(driver.session().dispatch("/model").await, SlashOutcome::Text("the model is other".into()));
    driver.leave().await;
}

#[tokio::test]
async fn an_agent_started_by_the_user_has_the_requested_name_description_and_model() {
    let mut driver = answers().ready().open(SessionStart::New).await;
    let client = client(&driver).await;
    let wanted = StartAgentParams {
        name: Some("counter".into()),
        description: Some("counts the files".into()),
        model: Some("small".into()),
        ..StartAgentParams::new("worker", "count them")
    };
    let StartAgentResult { task } = client.call(Method::AgentsStart, wanted).await.unwrap();
    driver.rest().await;
    let unknown = StartAgentParams { model: Some("nobody".into()), ..StartAgentParams::new("worker", "x") };
    let refused = client.call::<StartAgentResult>(Method::AgentsStart, unknown).await;
    assert!(matches!(&refused, Err(CallError::Refused(error)) if error.message.contains("`nobody`")), "{refused:?}");
    let run = driver.leave().await;
    let view = run.tasks().iter().find(|view| view.id == task).unwrap();
    assert_eq!((view.path.as_str(), view.description.as_str()), ("/root/counter", "counts the files"));
    assert_eq!(
        (models_of(&run, "/root/counter"), view.result.as_deref()),
        (vec!["small".into()], Some("said by small"))
    );
}

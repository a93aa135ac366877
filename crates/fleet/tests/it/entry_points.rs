//! Every way to start a fleet starts the same one.

use protocol::api::{FleetParams, FleetResult, InvokeSlashParams, InvokeSlashResult, Method};
use protocol::{Event, FleetConfig, FleetEnd, MailDelivery, PlanAction, SessionMode, Todo, TodoStatus};
use runtime::slash::SlashOutcome;
use runtime::{FleetOutcome, FleetRequest, SessionStart};
use serde_json::json;
use testkit::session::{PlayedSession, SessionDriver};

use crate::support::{rows, todo, with_plan, with_script};
use testkit::session::{UNTIL_GO, until_file};

/// A root that plans three todos and reviews them, and writes a plan first if the session is in plan mode. The worker of
/// `dough` says that it is done before its check passes.
const BAKERY: &str = r#"
  - when: { agent: main, answered: { tool: write_plan } }
    answer: [call: { tool: exit_plan_mode, input: { summary: Bake, recommended: autopilot_fleet } }]
  - when: { agent: main, answered: { tool: exit_plan_mode } }
    answer: [say: I wait for the fleet.]
  - when: { agent: main, answered: { tool: sql } }
    answer: [say: Three todos.]
  - when: { agent: main, answered: { tool: task_complete } }
    answer: [say: It is baked.]
  - when: { agent: main, turn: 1, contains: plan it }
    answer: [call: { tool: write_plan, input: { text: Make dough and sauce. } }]
  - when: { agent: main, prompt: A fleet is deployed }
    answer:
      - call:
          tool: sql
          input:
            query: >-
              INSERT INTO todos (id, title, agent_type, check_command) VALUES
              ('dough', 'Make dough', 'worker', 'test -f dough'), ('sauce', 'Make sauce', 'worker', NULL),
              ('bake', 'Bake it', 'worker', NULL);
              INSERT INTO todo_deps VALUES ('bake', 'dough'), ('bake', 'sauce')
  - when: { agent: main, prompt: "3 done, 0 blocked" }
    answer: [say: It is baked.]
  - when: { agent: main, tools: task_complete }
    answer: [call: { tool: task_complete, input: { summary: It is baked, status: done } }]
  - when: { path: /root/dough, turn: 2 }
    answer: [call: { tool: create, input: { path: dough, content: done } }]
  - when: { agent: worker }
    answer: [say: "${path} is ready."]
"#;

/// What a fleet leaves: each todo with its state, the order of the claims, and how it ended.
#[derive(Debug, PartialEq, Eq)]
struct FleetTraces {
    todos: Vec<TodoTraces>,
    claims: Vec<String>,
    ends: Vec<FleetEnd>,
}

/// The last state of a todo.
#[derive(Debug, PartialEq, Eq)]
struct TodoTraces {
    id: String,
    title: String,
    status: TodoStatus,
    attempts: u32,
    reason: Option<String>,
    result: Option<String>,
}

impl FleetTraces {
    fn of(run: &PlayedSession) -> FleetTraces {
        let tasks = run.tasks();
        let result = |task: Option<String>| tasks.iter().find(|view| Some(view.id.to_string()) == task)?.result.clone();
        let todo = |row: store::TodoRow| {
            let Todo { id, title, status, reason, .. } = row.todo;
            TodoTraces { id: id.0, title, status, attempts: row.attempts, reason, result: result(row.task) }
        };
        let events = || run.events().iter().map(|envelope| &envelope.entry.event);
        FleetTraces {
            todos: rows(run).into_iter().map(todo).collect(),
            claims: events()
                .filter_map(|event| match event {
                    Event::TodoClaimed { todo, .. } => Some(todo.0.clone()),
                    _other => None,
                })
                .collect(),
            ends: events()
                .filter_map(|event| match event {
                    Event::FleetEnded { end, .. } => Some(*end),
                    _other => None,
                })
                .collect(),
        }
    }
}

enum EntryPoint {
    Session,
    Slash,
    InvokedSlash,
    Method,
    ApprovedPlan,
}

impl EntryPoint {
    async fn start(&self, driver: &SessionDriver) {
        match self {
            EntryPoint::Session => {
                driver.fleet(FleetRequest::new(FleetConfig::for_goal("bake"))).await;
            }
            EntryPoint::Slash => {
                let started = driver.session().dispatch("/fleet bake").await;
                assert_eq!(started, SlashOutcome::FleetStarted("Fleet deployed: bake".into()));
            }
            EntryPoint::InvokedSlash => {
                let params = InvokeSlashParams { name: "fleet".into(), input: "bake".into() };
                let (client, _notifications) = driver.session().connect().await.unwrap();
                let invoked: InvokeSlashResult = client.call(Method::CommandsInvoke, params).await.unwrap();
                let message = "Fleet deployed: bake".into();
                assert_eq!(invoked, InvokeSlashResult::FleetStarted { message });
            }
            EntryPoint::Method => {
                let params = FleetParams::new(Some("bake"));
                let (client, _notifications) = driver.session().connect().await.unwrap();
                let started: FleetResult = client.call(Method::SessionFleetStart, params).await.unwrap();
                assert!(started.started && Method::SessionFleetStart.spec().about.starts_with("Experimental"));
            }
            EntryPoint::ApprovedPlan => {
                driver.session().set_mode(SessionMode::Plan).await.unwrap();
                driver.send("plan it", MailDelivery::FollowUp).await;
            }
        }
    }
}

async fn bake(entry: EntryPoint) -> FleetTraces {
    let scenario = with_script(BAKERY).plan_exit(PlanAction::AutopilotFleet);
    let mut driver = scenario.ready().open(SessionStart::New).await;
    entry.start(&driver).await;
    driver.rest().await;
    let outcome = driver.session().latest_fleet().and_then(|fleet| fleet.outcome());
    let run = driver.leave().await;
    assert_eq!(outcome, Some(FleetOutcome::Ended(FleetEnd::Done)), "{}", run.transcript());
    assert_eq!(run.text(), "It is baked.", "{}", run.transcript());
    FleetTraces::of(&run)
}

#[tokio::test]
async fn every_entry_point_leaves_equal_todos_claims_and_results() {
    let expected = bake(EntryPoint::Session).await;
    let ready = |id: &str, title: &str| {
        let (id, title, result) = (id.to_owned(), title.to_owned(), Some(format!("/root/{id} is ready.")));
        TodoTraces { id, title, status: TodoStatus::Done, attempts: 1, reason: None, result }
    };
    assert_eq!(expected.todos, [ready("dough", "Make dough"), ready("sauce", "Make sauce"), ready("bake", "Bake it")]);
    assert_eq!(expected.claims, ["dough", "sauce", "bake"]);
    for entry in [EntryPoint::Slash, EntryPoint::InvokedSlash, EntryPoint::Method, EntryPoint::ApprovedPlan] {
        assert_eq!(bake(entry).await, expected);
    }
}

/// Kills the owner once `wanted` is committed, and has the next one resume the session, and its fleet if it has begun.
async fn approve_and_crash(what: &str, wanted: fn(&Event) -> bool) -> PlayedSession {
    let stage = with_script(BAKERY).plan_exit(PlanAction::AutopilotFleet).ready();
    let mut driver = stage.open(SessionStart::New).await;
    EntryPoint::ApprovedPlan.start(&driver).await;
    driver.until(what, wanted).await;
    let killed = driver.crash().await;
    let has_begun = killed.count(|event| matches!(event, Event::FleetBegan(_))) > 0;
    let mut driver = stage.open(SessionStart::Resume(killed.id())).await;
    driver.resume().await;
    if has_begun {
        driver.resume_fleet().await;
    }
    driver.rest().await;
    driver.leave().await
}

#[tokio::test]
async fn a_kill_between_the_approval_of_a_plan_and_its_fleet_loses_neither() {
    let decided = |event: &Event| matches!(event, Event::AskDecided { .. });
    let began = |event: &Event| matches!(event, Event::FleetBegan(_));
    for (what, wanted) in [("the approval", decided as fn(&Event) -> bool), ("the fleet", began)] {
        let run = approve_and_crash(what, wanted).await;
        assert_eq!(run.count(began), 1, "{what}: {}", run.transcript());
        let done = run.count(|event| matches!(event, Event::FleetEnded { end: FleetEnd::Done, .. }));
        assert_eq!((done, run.text()), (1, "It is baked."), "{what}: {}", run.transcript());
    }
}

/// A worker that waits for a file called `go`.
fn waiting_worker() -> String {
    format!(
        "
  - when: {{ turn: 1 }}
    answer: [call: {{ tool: shell, input: {{ command: \"touch began; {UNTIL_GO}\" }} }}]
  - answer: [say: done]
"
    )
}

#[tokio::test]
async fn a_session_is_not_quiet_until_its_fleet_has_ended() {
    let stage = with_script(&waiting_worker()).ready();
    let mut driver = stage.open(SessionStart::New).await;
    let fleet = driver.fleet(with_plan([todo("a", &[]), todo("b", &["a"])])).await;
    until_file(&stage.path("began")).await;
    let status = driver.session().status().borrow().clone();
    assert!(status.fleet && !status.quiet, "{status:?}");
    std::fs::write(stage.path("go"), "").unwrap();
    driver.rest().await;
    assert_eq!(fleet.outcome(), Some(FleetOutcome::Ended(FleetEnd::Done)));
    assert!(!driver.session().status().borrow().fleet);
    driver.leave().await;
}

#[tokio::test]
async fn an_unfinished_fleet_is_continued_without_a_prompt_and_refuses_another_request() {
    let stage = with_script(&waiting_worker()).ready();
    let driver = stage.open(SessionStart::New).await;
    let id = driver.id();
    driver.fleet(with_plan([todo("a", &[])])).await;
    until_file(&stage.path("began")).await;
    let refused = driver.session().dispatch("/fleet more").await.refusal().unwrap().in_one_line();
    assert!(refused.starts_with("/fleet: a fleet is already working on the todos of this session"), "{refused}");
    driver.crash().await;
    std::fs::write(stage.path("go"), "").unwrap();
    let mut driver = stage.open(SessionStart::Resume(id)).await;
    driver.resume().await;
    let refused = driver.session().dispatch("/fleet more").await.refusal().unwrap().in_one_line();
    assert!(refused.contains(&format!("resume it with `bosun fleet resume {id}`")), "{refused}");
    let continued = driver.session().dispatch("/fleet").await;
    assert_eq!(continued, SlashOutcome::FleetStarted("Fleet deployed".into()));
    driver.rest().await;
    let outcome = driver.session().latest_fleet().and_then(|fleet| fleet.outcome());
    assert_eq!(outcome, Some(FleetOutcome::Ended(FleetEnd::Done)));
    let run = driver.leave().await;
    assert_eq!(run.count(|event| matches!(event, Event::FleetBegan(_))), 1);
}

#[tokio::test]
async fn options_that_a_fleet_cannot_have_are_refused_with_the_reason() {
    let driver = with_script("  - answer: [say: done]\n").ready().open(SessionStart::New).await;
    let (client, _notifications) = driver.session().connect().await.unwrap();
    for (params, reason) in [
        (json!({ "prompt": "bake", "merge": true }), "start the fleet with isolation"),
        (json!({ "prompt": "bake", "isolated": true }), "workers cannot have their own checkouts: "),
    ] {
        let refused = client.call::<FleetResult>(Method::SessionFleetStart, params).await;
        let refusal = refused.unwrap_err().to_string();
        assert!(refusal.contains(reason), "{refusal}");
    }
    let status = driver.session().status().borrow().clone();
    assert!(status.quiet && !status.fleet, "{status:?}");
    let run = driver.leave().await;
    assert_eq!(run.count(|event| matches!(event, Event::FleetBegan(_))), 0);
}

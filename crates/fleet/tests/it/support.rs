//! Fleets and their plans, and what they leave, for all tests.

use protocol::{Event, FleetConfig, Todo, TodoStatus};
use runtime::{FleetOutcome, FleetRequest};
use store::{SessionReader, TodoRow};
use testkit::session::{PlayedSession, Scenario, SessionDriver, rules, scenario};

/// Default settings: one retry, and no review of the result.
pub(crate) fn default_config() -> FleetConfig {
    FleetConfig { agent: Some("worker".into()), rounds: 0, ..FleetConfig::for_goal("all of it") }
}

/// A fleet with this plan.
pub(crate) fn with_plan(todos: impl IntoIterator<Item = Todo>) -> FleetRequest {
    FleetRequest { todos: todos.into_iter().collect(), ..FleetRequest::new(default_config()) }
}

/// A fleet whose main agent plans, and reviews the result this often.
pub(crate) fn without_plan(rounds: u32) -> FleetRequest {
    FleetRequest::new(FleetConfig { rounds, ..default_config() })
}

pub(crate) fn todo(id: &str, depends_on: &[&str]) -> Todo {
    Todo {
        depends_on: depends_on.iter().map(|id| (*id).into()).collect(),
        description: Some(format!("what {id} is")),
        ..Todo::new(id, format!("Do {id}"))
    }
}

pub(crate) fn checked(id: &str, check: &str) -> Todo {
    Todo { check: Some(check.into()), ..todo(id, &[]) }
}

/// A scenario whose model answers by these rules, with all permissions.
pub(crate) fn with_script(script: &str) -> Scenario {
    scenario().script(&rules(script)).allow_all()
}

/// Plays a fleet to its end.
pub(crate) async fn play(scenario: Scenario, request: FleetRequest) -> (FleetOutcome, PlayedSession) {
    let driver = scenario.ready().open(runtime::SessionStart::New).await;
    let mut fleet = driver.fleet(request).await;
    let outcome = driver.fleet_ended(&mut fleet).await;
    (outcome, driver.leave().await)
}

pub(crate) fn rows(run: &PlayedSession) -> Vec<TodoRow> {
    SessionReader::open(run.stage().home(), run.id()).unwrap().todos().unwrap()
}

/// Every todo with its status.
pub(crate) fn statuses(run: &PlayedSession) -> Vec<(String, TodoStatus)> {
    rows(run).into_iter().map(|row| (row.todo.id.0, row.todo.status)).collect()
}

/// The status of a todo in an open session.
pub(crate) fn status(driver: &SessionDriver, id: &str) -> TodoStatus {
    let reader = SessionReader::open(driver.stage().home(), driver.id()).unwrap();
    reader.todo(&id.into()).unwrap().unwrap().todo.status
}

/// The reason for a todo's status.
pub(crate) fn reason(run: &PlayedSession, id: &str) -> String {
    rows(run).into_iter().find(|row| row.todo.id.0 == id).and_then(|row| row.todo.reason).unwrap_or_default()
}

/// The steps of todos in order: claimed `+a`, done `-a`, returned `~a`, blocked `!a`.
pub(crate) fn todo_steps(run: &PlayedSession) -> Vec<String> {
    let step = |event: &Event| match event {
        Event::TodoClaimed { todo, .. } => Some(format!("+{todo}")),
        Event::TodoDone { todo, .. } => Some(format!("-{todo}")),
        Event::TodoReturned { todo, .. } => Some(format!("~{todo}")),
        Event::TodoBlocked { todo, .. } => Some(format!("!{todo}")),
        _other => None,
    };
    run.events().iter().filter_map(|envelope| step(&envelope.entry.event)).collect()
}

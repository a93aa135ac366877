//! A fleet works through todos: the model plans, the runtime decides.

mod ends;
mod limits;
mod merging;
mod owners;
mod plans;
mod work;

use protocol::{Event, FleetConfig, Todo, TodoStatus};
use runtime::{FleetOutcome, FleetRequest};
use store::{SessionReader, TodoRow};
use testkit::session::{PlayedSession, Scenario, SessionDriver, scenario};

use crate::support::rules;

/// Terms with nothing special in them: one more try, and no look at the result.
fn terms() -> FleetConfig {
    FleetConfig {
        goal: "all of it".into(),
        agent: Some("worker".into()),
        parallel: None,
        retries: 1,
        rounds: 0,
        isolated: false,
        dirty: false,
        merge: false,
        check: None,
        plan: None,
    }
}

/// A fleet that works by these todos.
fn given(todos: impl IntoIterator<Item = Todo>) -> FleetRequest {
    FleetRequest { terms: terms(), todos: todos.into_iter().collect() }
}

/// A fleet whose main agent plans, and looks at the result so often.
fn planned(rounds: u32) -> FleetRequest {
    FleetRequest { terms: FleetConfig { rounds, ..terms() }, todos: Vec::new() }
}

fn todo(id: &str, depends_on: &[&str]) -> Todo {
    Todo {
        depends_on: depends_on.iter().map(|id| (*id).into()).collect(),
        description: Some(format!("what {id} is")),
        ..Todo::new(id, format!("Do {id}"))
    }
}

fn checked(id: &str, check: &str) -> Todo {
    Todo { check: Some(check.into()), ..todo(id, &[]) }
}

/// A scenario whose model answers by these rules, and may do everything.
fn by(script: &str) -> Scenario {
    scenario().script(&rules(script)).allow_all()
}

/// Plays a fleet to its end.
async fn play(scenario: Scenario, order: FleetRequest) -> (FleetOutcome, PlayedSession) {
    let mut driver = scenario.ready().open(runtime::SessionStart::New).await;
    let mut fleet = driver.fleet(order).await;
    let outcome = driver.fleet_ended(&mut fleet).await;
    (outcome, driver.leave().await)
}

fn rows(run: &PlayedSession) -> Vec<TodoRow> {
    SessionReader::open(run.stage().home(), run.id()).unwrap().todos().unwrap()
}

/// Every todo with how far it is.
fn statuses(run: &PlayedSession) -> Vec<(String, TodoStatus)> {
    rows(run).into_iter().map(|row| (row.todo.id.0, row.todo.status)).collect()
}

/// How far a todo is in a session that is open.
fn status(driver: &SessionDriver, id: &str) -> TodoStatus {
    let reader = SessionReader::open(driver.stage().home(), driver.id()).unwrap();
    reader.todo(&id.into()).unwrap().unwrap().todo.status
}

/// Why a todo is where it is.
fn reason(run: &PlayedSession, id: &str) -> String {
    rows(run).into_iter().find(|row| row.todo.id.0 == id).and_then(|row| row.todo.reason).unwrap_or_default()
}

/// The order in which todos were claimed and done: `+a` and `-a`.
fn course(run: &PlayedSession) -> Vec<String> {
    let step = |event: &Event| match event {
        Event::TodoClaimed { todo, .. } => Some(format!("+{todo}")),
        Event::TodoDone { todo, .. } => Some(format!("-{todo}")),
        Event::TodoReturned { todo, .. } => Some(format!("~{todo}")),
        Event::TodoBlocked { todo, .. } => Some(format!("!{todo}")),
        _other => None,
    };
    run.events().iter().filter_map(|envelope| step(&envelope.entry.event)).collect()
}

/// What a task's model was asked, as the texts of its first message.
fn prompts(run: &PlayedSession, path: &str) -> Vec<String> {
    let first = |request: &model::ModelRequest| match request.messages.first() {
        Some(model::ModelMessage::User { parts }) => parts
            .iter()
            .filter_map(|part| match part {
                model::MessagePart::Text(text) => Some(text.clone()),
                model::MessagePart::Image(_) => None,
            })
            .collect::<String>(),
        _other => String::new(),
    };
    let requests = run.stage().model(run.id()).requests();
    requests.iter().filter(|request| request.path == path && request.turn == 1).map(first).collect()
}

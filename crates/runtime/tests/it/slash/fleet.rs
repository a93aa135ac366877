//! A fleet started by a prompt, whose root follows the instructions.

use protocol::{Event, TaskState, TodoStatus};
use runtime::SessionStart;
use store::SessionReader;
use testkit::session::{SessionDriver, scenario};

use super::shown_text;
use crate::support::rules;

/// A root that follows the instructions: it reads the table, writes todos, asks which are ready, starts two agents at
/// once, waits, continues with the third todo, and checks the result.
const ROOT: &str = "
  - when: { path: /root, turn: 1, prompt: '(?s)You lead a fleet.*User request: bake' }
    answer: [call: { tool: sql, input: { query: \"SELECT id, title, status FROM todos WHERE status <> 'done'\" } }]
  - when: { path: /root, turn: 2 }
    answer: [call: { tool: sql, input: { query: \"INSERT INTO todos (id, title, check_command) VALUES ('dough', 'Make dough', 'false'), ('sauce', 'Make sauce', NULL), ('bake', 'Bake it', NULL); INSERT INTO todo_deps VALUES ('bake', 'dough'), ('bake', 'sauce')\" } }]
";

const READY: &str = "SELECT id FROM todos t WHERE status = 'pending' AND NOT EXISTS (SELECT 1 FROM todo_deps JOIN todos d ON d.id = depends_on WHERE todo_id = t.id AND d.status <> 'done')";

fn script(workers: &str) -> String {
    let ready = |turn: u32| {
        format!(
            "  - when: {{ path: /root, turn: {turn} }}\n    answer: [call: {{ tool: sql, input: {{ query: \"{READY}\" }} }}]\n"
        )
    };
    let task = |name: &str, mode: &str| {
        format!(
            "      - call: {{ tool: task, input: {{ agent_type: worker, name: {name}, description: {name}, prompt: 'your todo is {name}', mode: {mode} }} }}\n"
        )
    };
    let begin = "      - call: { tool: sql, input: { query: \"UPDATE todos SET status = 'in_progress' WHERE id IN ('dough', 'sauce')\" } }\n";
    rules(&format!(
        "{ROOT}{}  - when: {{ path: /root, turn: 4 }}\n    answer:\n{begin}{}{}  - when: {{ path: /root, turn: 5 }}\n    answer: [call: {{ tool: wait, input: {{ mode: all }} }}]\n{}  - when: {{ path: /root, turn: 7 }}\n    answer:\n{}  - when: {{ path: /root, turn: 8.. }}\n    answer: [say: It is baked.]\n{workers}",
        ready(3),
        task("dough", "background"),
        task("sauce", "background"),
        ready(6),
        task("bake", "sync"),
    ))
}

/// Workers that report in the table.
const HONEST: &str = "
  - when: { agent: worker, turn: 1, prompt: 'your todo is (\\w+)' }
    answer: [call: { tool: sql, input: { query: \"UPDATE todos SET status = 'done' WHERE id = '${1}'\" } }]
  - when: { agent: worker }
    answer: [say: Done.]
";

async fn deploy(workers: &str) -> SessionDriver {
    let mut driver = scenario().script(&script(workers)).ready().open(SessionStart::New).await;
    driver.session().request_fleet(Some("bake")).await.unwrap();
    driver.rest().await;
    driver
}

fn statuses(driver: &SessionDriver) -> Vec<(String, TodoStatus)> {
    let reader = SessionReader::open(driver.session().home(), driver.id()).unwrap();
    reader.todos().unwrap().into_iter().map(|row| (row.todo.id.0, row.todo.status)).collect()
}

#[tokio::test]
async fn a_fleet_writes_todos_starts_ready_ones_at_once_and_ends_when_all_are_done() {
    let driver = deploy(HONEST).await;
    let done = |id: &str| (id.to_owned(), TodoStatus::Done);
    assert_eq!(statuses(&driver), [done("dough"), done("sauce"), done("bake")]);
    let todos = shown_text(&driver, "/todos").await;
    assert!(todos.starts_with("3 of 3 are done\n") && todos.contains("bake: Bake it (after dough, sauce)"), "{todos}");
    let states: Vec<TaskState> = driver.tasks().into_iter().map(|task| task.state).collect();
    assert_eq!(states, [TaskState::Idle, TaskState::Idle, TaskState::Idle, TaskState::Idle]);
    let run = driver.leave().await;
    assert_eq!(run.text(), "It is baked.");
    let created = |name: &str| {
        let is_it = |event: &Event| matches!(event, Event::TaskCreated(spec) if spec.name == name);
        run.events().iter().position(|envelope| is_it(&envelope.entry.event)).unwrap()
    };
    let ended = |event: &Event| matches!(event, Event::ActivationEnded { .. });
    let first_end = run.events().iter().position(|envelope| ended(&envelope.entry.event)).unwrap();
    assert!(created("dough") < first_end && created("sauce") < first_end && first_end < created("bake"));
}

#[tokio::test]
async fn a_worker_that_reports_done_is_believed_although_its_check_would_fail() {
    // The check of `dough` is `false`, but is not run: the runtime does not drive a fleet that a prompt starts.
    let driver = deploy(HONEST).await;
    assert_eq!(statuses(&driver)[0], ("dough".to_owned(), TodoStatus::Done));
    assert!(shown_text(&driver, "/todos").await.contains("done        dough: Make dough"));
    driver.leave().await;
}

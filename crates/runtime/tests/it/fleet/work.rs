//! Workers do what is due.

use protocol::{AgentSpec, FleetEnd, Todo, TodoStatus};
use runtime::FleetOutcome;

use super::{by, checked, course, given, play, prompts, reason, rows, statuses, todo};

const DONE: FleetOutcome = FleetOutcome::Ended(FleetEnd::Done);
const BLOCKED: FleetOutcome = FleetOutcome::Ended(FleetEnd::Blocked);

#[tokio::test]
async fn dependencies_are_respected_and_their_results_are_told() {
    let plan = [todo("top", &["left", "right"]), todo("left", &["base"]), todo("right", &["base"]), todo("base", &[])];
    let (outcome, run) = play(by("  - answer: [say: \"${path} did it\"]\n"), given(plan)).await;
    assert_eq!(outcome, DONE, "{}", run.transcript());
    assert!(statuses(&run).iter().all(|(_, status)| *status == TodoStatus::Done));
    let course = course(&run);
    let at = |step: &str| course.iter().position(|other| other == step).unwrap();
    assert!(at("-base") < at("+left") && at("-base") < at("+right"), "{course:?}");
    assert!(at("-left") < at("+top") && at("-right") < at("+top"), "{course:?}");
    let told = &prompts(&run, "/root/top")[0];
    for words in ["Todo `top`: Do top", "what top is", "> Result of left:\n> /root/left did it", "> /root/right did it"]
    {
        assert!(told.contains(words), "{words:?} in {told}");
    }
    assert!(!told.contains("base brought"), "{told}");
    assert_eq!(run.tasks().len(), 5);
    assert!(run.stage().model(run.id()).requests().iter().all(|asked| asked.path != "/root"), "nobody asks the root");
}

#[tokio::test]
async fn workers_overlap() {
    let script = "
  - when: { turn: 1, path: /root/one }
    answer: [call: { tool: shell, input: { command: \"touch one; until [ -e two ]; do sleep 0.01; done\" } }]
  - when: { turn: 1, path: /root/two }
    answer: [call: { tool: shell, input: { command: \"touch two; until [ -e one ]; do sleep 0.01; done\" } }]
  - answer: [say: met]
";
    let (outcome, run) = play(by(script), given([todo("one", &[]), todo("two", &[])])).await;
    assert_eq!((outcome, course(&run)[..2].to_vec()), (DONE, vec!["+one".to_owned(), "+two".to_owned()]));
}

#[tokio::test]
async fn no_more_are_at_work_than_may_be() {
    let mut order = given((0..6).map(|n| todo(&format!("t{n}"), &[])));
    order.terms.parallel = Some(2);
    let (outcome, run) = play(by("  - answer: [say: done]\n"), order).await;
    assert_eq!(outcome, DONE);
    let mut held = 0_i32;
    for step in course(&run) {
        held += if step.starts_with('+') { 1 } else { -1 };
        assert!((0..=2).contains(&held), "{:?}", course(&run));
    }
}

#[tokio::test]
async fn a_failure_is_tried_again_with_what_went_wrong() {
    // The first worker leaves the wrong thing, however often it is told; the second one brings the right one.
    let script = "
  - when: { turn: 1, contains: An earlier attempt failed }
    answer: [call: { tool: create, input: { path: out.txt, content: right } }]
  - answer: [say: it is there]
";
    let (outcome, run) = play(by(script), given([checked("write", "echo looking; grep right out.txt")])).await;
    assert_eq!(outcome, DONE, "{}", run.transcript());
    assert_eq!(course(&run), ["+write", "~write", "+write", "-write"]);
    let told = &prompts(&run, "/root/write-2")[0];
    assert!(told.contains("> - `echo looking; grep right out.txt` must exit with code 0"), "{told}");
    assert!(told.contains("> > looking"), "{told}");
    assert_eq!((rows(&run)[0].attempts, reason(&run, "write")), (2, String::new()));
}

#[tokio::test]
async fn a_worker_that_lies_ends_blocked_with_what_the_check_printed() {
    let script = "
  - when: { path: \"/root/.*\", turn: 1 }
    answer: [call: { tool: sql, input: { query: \"UPDATE todos SET status = 'done'\" } }]
  - answer: [say: All tests pass.]
";
    let plan = [checked("lie", "echo 2 tests failed; exit 1"), todo("after", &["lie"]), todo("beside", &[])];
    let (outcome, run) = play(by(script), given(plan)).await;
    assert_eq!(outcome, BLOCKED);
    let expected = [("lie", TodoStatus::Blocked), ("after", TodoStatus::Blocked), ("beside", TodoStatus::Done)];
    assert_eq!(statuses(&run), expected.map(|(id, status)| (id.to_owned(), status)), "{}", run.transcript());
    assert!(reason(&run, "lie").contains("> 2 tests failed"), "{}", reason(&run, "lie"));
    assert_eq!(reason(&run, "after"), "it depends on lie, which is blocked");
    assert_eq!(run.tasks().len(), 4, "two tries, one beside, and nobody for what comes after");
}

#[tokio::test]
async fn a_worker_cannot_soften_what_its_todo_must_satisfy() {
    let script = "
  - when: { path: \"/root/.*\", turn: 1 }
    answer: [call: { tool: sql, input: { query: \"UPDATE todos SET check_command = 'true'\" } }]
  - answer: [say: All tests pass.]
";
    let (outcome, run) = play(by(script), given([checked("lie", "false")])).await;
    assert_eq!(outcome, BLOCKED, "{}", run.transcript());
    assert_eq!(course(&run), ["+lie", "~lie", "+lie", "!lie"]);
    assert!(reason(&run, "lie").contains("`false` must exit with code 0"), "{}", reason(&run, "lie"));
}

#[tokio::test]
async fn what_a_worker_writes_is_done_only_as_far_as_the_worker_could_do_it() {
    let script = "
  - when: { agent: looker, turn: 1 }
    answer: [call: { tool: sql, input: { query: \"INSERT INTO todos (id, title, agent_type, check_command) VALUES ('wider', 'x', 'worker', NULL), ('runs', 'x', 'looker', 'touch witness'), ('same', 'x', 'looker', NULL)\" } }]
  - answer: [say: done]
";
    let tools = Some(vec!["view".into(), "sql".into()]);
    let looker = AgentSpec { name: "looker".into(), model_invocable: true, tools, ..AgentSpec::default() };
    let plan = [Todo { agent_type: Some("looker".into()), ..todo("look", &[]) }];
    let (outcome, run) = play(by(script).agent(looker), given(plan)).await;
    assert_eq!(outcome, BLOCKED, "{}", run.transcript());
    let [wider, runs] = ["wider", "runs"].map(|id| reason(&run, id));
    assert!(wider.contains("a `looker` agent wrote this todo, but may not start `worker`"), "{wider}");
    assert!(runs.contains("a `looker` agent wrote the check `touch witness`, but may not run it"), "{runs}");
    assert!(course(&run).contains(&"-same".to_owned()), "{:?}", course(&run));
    assert!(!run.stage().path("witness").exists());
}

#[tokio::test]
async fn what_a_todo_asks_for_is_what_its_worker_gets() {
    let schema = r#"{ "type": "object", "required": ["lines"] }"#;
    let plan = [Todo {
        agent_type: Some("reader".into()),
        expects: Some(schema.into()),
        files: vec!["src/**".into()],
        ..todo("count", &[])
    }];
    let script = "
  - when: { agent: reader, turn: 1 }
    answer: [say: many]
  - when: { agent: reader }
    answer: [say: '{\"lines\": 3}']
";
    let (outcome, run) = play(by(script), given(plan)).await;
    assert_eq!(outcome, DONE, "{}", run.transcript());
    assert!(prompts(&run, "/root/count")[0].contains("Its files: src/**"));
    assert_eq!(run.tasks()[1].result.as_deref(), Some("{\"lines\": 3}"));
}

#[tokio::test]
async fn the_check_that_a_plan_file_has_for_all_is_a_command_like_any_other() {
    let asks = by("  - answer: [say: done]\n").mode(protocol::PermissionMode::Default);
    let mut driver = asks.ready().open(runtime::SessionStart::New).await;
    let mut order = given([todo("a", &[])]);
    (order.terms.plan, order.terms.check) = (Some("plan.yaml".into()), Some("touch witness".into()));
    let refused = driver.session_mut().start_fleet(order, runtime::FleetServices::default()).await;
    let error = refused.unwrap_err().to_string();
    assert!(error.contains("the fleet: its check `touch witness` is not permitted"), "{error}");
    driver.leave().await;
}

#[tokio::test]
async fn the_check_of_a_todo_is_a_command_like_any_other() {
    let asks = by("  - answer: [say: done]\n").mode(protocol::PermissionMode::Default);
    let mut driver = asks.ready().open(runtime::SessionStart::New).await;
    let refused =
        driver.session_mut().start_fleet(given([checked("a", "touch witness")]), runtime::FleetServices::default());
    let error = refused.await.unwrap_err().to_string();
    assert!(error.contains("a: its check `touch witness` is not permitted") && error.contains("--allow"), "{error}");
    let run = driver.leave().await;
    assert_eq!((run.file("witness"), rows(&run).len()), (None, 0));
}

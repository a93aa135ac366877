//! Workers and the todos that they do.

use protocol::{AgentSpec, FleetEnd, Todo, TodoStatus};
use runtime::FleetOutcome;

use crate::support::{checked, play, reason, rows, statuses, todo, todo_steps, with_plan, with_script};

const DONE: FleetOutcome = FleetOutcome::Ended(FleetEnd::Done);
const BLOCKED: FleetOutcome = FleetOutcome::Ended(FleetEnd::Blocked);

#[tokio::test]
async fn dependencies_are_respected_and_their_results_are_in_the_prompt() {
    let plan = [todo("top", &["left", "right"]), todo("left", &["base"]), todo("right", &["base"]), todo("base", &[])];
    let (outcome, run) = play(with_script("  - answer: [say: \"${path} did it\"]\n"), with_plan(plan)).await;
    assert_eq!(outcome, DONE, "{}", run.transcript());
    assert!(statuses(&run).iter().all(|(_, status)| *status == TodoStatus::Done));
    let course = todo_steps(&run);
    let position = |step: &str| course.iter().position(|other| other == step).unwrap();
    assert!(position("-base") < position("+left") && position("-base") < position("+right"), "{course:?}");
    assert!(position("-left") < position("+top") && position("-right") < position("+top"), "{course:?}");
    let prompt = &run.prompts("/root/top")[0];
    for part in ["Todo `top`: Do top", "what top is", "> Result of left:\n> /root/left did it", "> /root/right did it"]
    {
        assert!(prompt.contains(part), "{part:?} in {prompt}");
    }
    assert!(!prompt.contains("base brought"), "{prompt}");
    assert_eq!(run.tasks().len(), 5);
    assert!(
        run.stage().model(run.id()).requests().iter().all(|asked| asked.path != "/root"),
        "the root gets no request"
    );
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
    let (outcome, run) = play(with_script(script), with_plan([todo("one", &[]), todo("two", &[])])).await;
    assert_eq!((outcome, todo_steps(&run)[..2].to_vec()), (DONE, vec!["+one".to_owned(), "+two".to_owned()]));
}

#[tokio::test]
async fn no_more_workers_run_than_allowed() {
    let mut request = with_plan((0..6).map(|n| todo(&format!("t{n}"), &[])));
    request.config.parallel = Some(2);
    let (outcome, run) = play(with_script("  - answer: [say: done]\n"), request).await;
    assert_eq!(outcome, DONE);
    let mut running = 0_i32;
    for step in todo_steps(&run) {
        running += if step.starts_with('+') { 1 } else { -1 };
        assert!((0..=2).contains(&running), "{:?}", todo_steps(&run));
    }
}

#[tokio::test]
async fn a_failed_todo_is_tried_again_with_the_failure_in_the_prompt() {
    // The first worker never creates the file; the second one does.
    let script = "
  - when: { turn: 1, contains: An earlier attempt failed }
    answer: [call: { tool: create, input: { path: out.txt, content: right } }]
  - answer: [say: it is there]
";
    let (outcome, run) =
        play(with_script(script), with_plan([checked("write", "echo looking; grep right out.txt")])).await;
    assert_eq!(outcome, DONE, "{}", run.transcript());
    assert_eq!(todo_steps(&run), ["+write", "~write", "+write", "-write"]);
    let prompt = &run.prompts("/root/write-2")[0];
    assert!(prompt.contains("> - `echo looking; grep right out.txt` must exit with code 0"), "{prompt}");
    assert!(prompt.contains("> > looking"), "{prompt}");
    assert_eq!((rows(&run)[0].attempts, reason(&run, "write")), (2, String::new()));
}

#[tokio::test]
async fn a_false_report_leaves_a_todo_blocked_with_the_output_of_the_check() {
    let script = "
  - when: { path: \"/root/.*\", turn: 1 }
    answer: [call: { tool: sql, input: { query: \"UPDATE todos SET status = 'done'\" } }]
  - answer: [say: All tests pass.]
";
    let plan = [checked("lie", "echo 2 tests failed; exit 1"), todo("after", &["lie"]), todo("beside", &[])];
    let (outcome, run) = play(with_script(script), with_plan(plan)).await;
    assert_eq!(outcome, BLOCKED);
    let expected = [("lie", TodoStatus::Blocked), ("after", TodoStatus::Blocked), ("beside", TodoStatus::Done)];
    assert_eq!(statuses(&run), expected.map(|(id, status)| (id.to_owned(), status)), "{}", run.transcript());
    assert!(reason(&run, "lie").contains("> 2 tests failed"), "{}", reason(&run, "lie"));
    assert_eq!(reason(&run, "after"), "it depends on lie, which is blocked");
    assert_eq!(run.tasks().len(), 4, "two attempts, one for `beside`, none for `after`");
}

#[tokio::test]
async fn a_worker_cannot_weaken_the_check_of_its_todo() {
    let script = "
  - when: { path: \"/root/.*\", turn: 1 }
    answer: [call: { tool: sql, input: { query: \"UPDATE todos SET check_command = 'true'\" } }]
  - answer: [say: All tests pass.]
";
    let (outcome, run) = play(with_script(script), with_plan([checked("lie", "false")])).await;
    assert_eq!(outcome, BLOCKED, "{}", run.transcript());
    assert_eq!(todo_steps(&run), ["+lie", "~lie", "+lie", "!lie"]);
    assert!(reason(&run, "lie").contains("`false` must exit with code 0"), "{}", reason(&run, "lie"));
}

#[tokio::test]
async fn todos_written_by_a_worker_are_limited_to_its_rights() {
    let script = "
  - when: { agent: looker, turn: 1 }
    answer: [call: { tool: sql, input: { query: \"INSERT INTO todos (id, title, agent_type, check_command) VALUES ('wider', 'x', 'worker', NULL), ('runs', 'x', 'looker', 'touch witness'), ('same', 'x', 'looker', NULL)\" } }]
  - answer: [say: done]
";
    let tools = Some(vec!["view".into(), "sql".into()]);
    let looker = AgentSpec { name: "looker".into(), model_invocable: true, tools, ..AgentSpec::default() };
    let plan = [Todo { agent_type: Some("looker".into()), ..todo("look", &[]) }];
    let (outcome, run) = play(with_script(script).agent(looker), with_plan(plan)).await;
    assert_eq!(outcome, BLOCKED, "{}", run.transcript());
    let [wider, runs] = ["wider", "runs"].map(|id| reason(&run, id));
    assert!(wider.contains("a `looker` agent wrote this todo, but may not start `worker`"), "{wider}");
    assert!(runs.contains("a `looker` agent wrote the check `touch witness`, but may not run it"), "{runs}");
    assert!(todo_steps(&run).contains(&"-same".to_owned()), "{:?}", todo_steps(&run));
    assert!(!run.stage().path("witness").exists());
}

#[tokio::test]
async fn a_worker_gets_the_agent_type_files_and_schema_of_its_todo() {
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
    let (outcome, run) = play(with_script(script), with_plan(plan)).await;
    assert_eq!(outcome, DONE, "{}", run.transcript());
    assert!(run.prompts("/root/count")[0].contains("Its files: src/**"));
    assert_eq!(run.tasks()[1].result.as_deref(), Some("{\"lines\": 3}"));
}

#[tokio::test]
async fn the_check_of_a_plan_file_needs_permission() {
    let asks = with_script("  - answer: [say: done]\n").mode(protocol::PermissionMode::Default);
    let driver = asks.ready().open(runtime::SessionStart::New).await;
    let mut request = with_plan([todo("a", &[])]);
    (request.config.plan, request.config.check) = (Some("plan.yaml".into()), Some("touch witness".into()));
    let refused = driver.session().start_fleet(request).await;
    let error = refused.unwrap_err().to_string();
    assert!(error.contains("the fleet: its check `touch witness` is not permitted"), "{error}");
    driver.leave().await;
}

#[tokio::test]
async fn the_check_of_a_todo_needs_permission() {
    let asks = with_script("  - answer: [say: done]\n").mode(protocol::PermissionMode::Default);
    let driver = asks.ready().open(runtime::SessionStart::New).await;
    let refused = driver.session().start_fleet(with_plan([checked("a", "touch witness")]));
    let error = refused.await.unwrap_err().to_string();
    assert!(error.contains("a: its check `touch witness` is not permitted") && error.contains("--allow"), "{error}");
    let run = driver.leave().await;
    assert_eq!((run.file("witness"), rows(&run).len()), (None, 0));
}

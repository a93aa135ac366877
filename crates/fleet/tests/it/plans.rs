//! The main agent plans, fixes its plan, and reviews the result.

use protocol::{Event, FleetEnd, MailBody, Principal, TodoStatus};
use runtime::{FleetError, FleetOutcome, SessionStart};

use crate::support::{play, reason, statuses, todo, with_plan, with_script, without_plan};

const DONE: FleetOutcome = FleetOutcome::Ended(FleetEnd::Done);

#[tokio::test]
async fn a_goal_becomes_a_plan_that_is_worked_through_and_reviewed() {
    let script = "
  - when: { agent: main, turn: 1 }
    answer:
      - call: { tool: sql, input: { query: \"INSERT INTO todos (id, title) VALUES ('a', 'First'), ('b', 'Then'); INSERT INTO todo_deps VALUES ('b', 'a')\" } }
  - when: { agent: main, turn: 2 }
    answer: [say: Two steps.]
  - when: { agent: main, prompt: \"2 done, 0 blocked\" }
    answer: [say: The goal is met.]
  - when: { agent: worker }
    answer: [say: \"${path} is done\"]
";
    let (outcome, run) = play(with_script(script), without_plan(3)).await;
    assert_eq!(outcome, DONE, "{}", run.transcript());
    assert_eq!(statuses(&run), [("a".to_owned(), TodoStatus::Done), ("b".to_owned(), TodoStatus::Done)]);
    let first = &run.prompts("/root")[0];
    assert!(first.starts_with("[runtime] A fleet is deployed"), "{first}");
    let end = "Agent types: worker, reader; worker unless a todo says otherwise.\n\nUser request: all of it";
    assert!(first.ends_with(end), "{first}");
    let shown = |event: &Event| match event {
        Event::MailAdmitted { body: MailBody::Text { display, .. }, .. } => display.clone(),
        _other => None,
    };
    let shown: Vec<String> = run.events().iter().filter_map(|envelope| shown(&envelope.entry.event)).collect();
    assert_eq!(shown, ["Fleet deployed: all of it"]);
    assert_eq!(run.text(), "The goal is met.");
    let reviews = run.count(|event| matches!(event, Event::MailAdmitted { from: Principal::Runtime, .. }));
    assert_eq!(reviews, 1, "nothing new was planned, so there is nothing new to review");
}

#[tokio::test]
async fn an_unusable_plan_is_sent_back() {
    let script = "
  - when: { agent: main, turn: 1 }
    answer: [say: I have no plan.]
  - when: { agent: main, turn: 2, prompt: \"1\\\\. there are no todos\" }
    answer: [call: { tool: sql, input: { query: \"INSERT INTO todos (id, title, agent_type) VALUES ('a', 'First', 'wizard')\" } }]
  - when: { agent: main, turn: 3 }
    answer: [say: Now there is one.]
  - when: { agent: main, turn: 4, prompt: \"1\\\\. a: there is no agent type `wizard`; available: worker, reader\" }
    answer: [call: { tool: sql, input: { query: \"UPDATE todos SET agent_type = NULL\" } }]
  - answer: [say: done]
";
    let (outcome, run) = play(with_script(script), without_plan(0)).await;
    assert_eq!(outcome, DONE, "{}", run.transcript());
}

#[tokio::test]
async fn a_plan_is_sent_back_only_a_few_times() {
    let (outcome, run) = play(with_script("  - answer: [say: I have no plan.]\n"), without_plan(3)).await;
    assert_eq!(outcome, FleetOutcome::Unplanned("1. there are no todos".into()));
    assert_eq!(run.stage().model(run.id()).requests().len(), 3);
    let ends = run.count(|event| matches!(event, Event::FleetEnded { end: FleetEnd::Stopped, .. }));
    assert_eq!(ends, 1);
}

#[tokio::test]
async fn a_main_agent_that_fails_is_not_asked_again() {
    let script = "  - fail: { class: terminal, message: no such model }\n";
    let (outcome, run) = play(with_script(script), without_plan(3)).await;
    let FleetOutcome::Unplanned(reason) = outcome else { panic!("{outcome:?}") };
    assert!(reason.contains("no such model"), "{reason}");
    assert_eq!(run.stage().model(run.id()).requests().len(), 1);
}

#[tokio::test]
async fn the_main_agent_fixes_blocked_todos_and_the_fleet_continues() {
    let script = "
  - when: { agent: main, turn: 1 }
    answer: [call: { tool: sql, input: { query: \"INSERT INTO todos (id, title, check_command) VALUES ('a', 'First', 'test -e out.txt'), ('b', 'Then', NULL); INSERT INTO todo_deps VALUES ('b', 'a')\" } }]
  - when: { agent: main, turn: 2 }
    answer: [say: Two steps.]
  - when: { agent: main, turn: 3, prompt: \"0 done, 2 blocked.*\\n.*\\n> a \\\\(blocked\\\\)\" }
    answer: [call: { tool: sql, input: { query: \"UPDATE todos SET status = 'pending', description = 'write out.txt' WHERE id = 'a'\" } }]
  - when: { agent: main, turn: 4 }
    answer: [say: Try again.]
  - when: { agent: main, turn: 5, prompt: \"2 done\" }
    answer: [say: Now it is done.]
  - when: { path: \"/root/a.*\", turn: 1, prompt: write out.txt }
    answer: [call: { tool: create, input: { path: out.txt, content: x } }]
  - when: { agent: worker }
    answer: [say: I did my best.]
";
    let mut request = without_plan(3);
    request.config.retries = 0;
    let (outcome, run) = play(with_script(script), request).await;
    assert_eq!(outcome, DONE, "{}", run.transcript());
    assert_eq!(run.text(), "Now it is done.");
    let prompt = run.prompts("/root/a-2").remove(0);
    assert!(prompt.contains("An earlier attempt failed:"), "{prompt}");
}

#[tokio::test]
async fn the_number_of_reviews_is_limited() {
    // The main agent plans the same impossible todo again and again.
    let script = "
  - when: { answered: { tool: sql } }
    answer: [say: again]
  - when: { agent: main, prompt: \"The fleet has done what it could\" }
    answer: [call: { tool: sql, input: { query: \"UPDATE todos SET status = 'pending'\" } }]
  - when: { agent: main, turn: 1 }
    answer: [call: { tool: sql, input: { query: \"INSERT INTO todos (id, title, check_command) VALUES ('a', 'First', 'false')\" } }]
  - answer: [say: done]
";
    let mut request = without_plan(2);
    request.config.retries = 0;
    let (outcome, run) = play(with_script(script), request).await;
    assert_eq!(outcome, FleetOutcome::Ended(FleetEnd::Blocked), "{}", run.transcript());
    let claims = run.count(|event| matches!(event, Event::TodoClaimed { .. }));
    assert_eq!((claims, reason(&run, "a").contains("`false` must exit with code 0")), (3, true));
}

#[tokio::test]
async fn a_plan_from_the_user_is_checked_before_the_fleet_starts() {
    let driver = with_script("  - answer: [say: done]\n").ready().open(SessionStart::New).await;
    let mut wrong = vec![todo("a", &["b"]), todo("b", &["a"])];
    let refused = async |todos| {
        let refused = driver.session().start_fleet(with_plan(todos)).await;
        refused.map(|_fleet| ()).unwrap_err()
    };
    let error = refused(wrong.clone()).await;
    assert!(error.to_string().contains("a → b → a"), "{error}");
    wrong[0].depends_on = vec!["nobody".into()];
    wrong[1].model = Some("no/such".into());
    wrong.push(todo("b", &[]));
    let FleetError::Plan(problems) = refused(wrong).await else { panic!("another error") };
    assert!(problems[0].starts_with("a: it depends on `nobody`"), "{problems:?}");
    assert!(problems[1].starts_with("b: the model `no/such` cannot be used"), "{problems:?}");
    assert_eq!(problems[2], "b: two todos have this id");
    let run = driver.leave().await;
    assert_eq!(run.count(|event| matches!(event, Event::FleetBegan(_) | Event::TodosChanged { .. })), 0);
}

//! Plan mode and autopilot.

use protocol::api::DecideParams;
use protocol::{
    AskDecision, AskId, AutopilotStop, CancelBy, Event, MailDelivery, PermissionMode, PlanAction, SessionMode,
    TaskOutcome,
};
use runtime::SessionStart;
use testkit::session::{PlayedSession, Scenario, SessionDriver, scenario};

use crate::support::{TIME_LIMIT, pass_time_limit, rules, turns};

/// A model that writes a plan, asks to leave plan mode, and then tries to write a file.
fn planner() -> Scenario {
    let script = rules(
        r#"
  - when: { turn: 1 }
    answer:
      - call: { tool: write_plan, input: { text: "1. Write a.txt\n" } }
  - when: { turn: 2 }
    answer:
      - call: { tool: exit_plan_mode, input: { summary: Write one file, recommended: autopilot } }
  - when: { answered: { tool: exit_plan_mode, matches: "says: (.*)" } }
    answer:
      - say: "You said ${1}."
  - when: { answered: { tool: exit_plan_mode } }
    answer:
      - call: { tool: create, input: { path: a.txt, content: done } }
  - when: { tools: task_complete, answered: { tool: create } }
    answer:
      - call: { tool: task_complete, input: { summary: It is written, status: done } }
  - answer: [say: "${answer}"]
"#,
    );
    scenario().script(&script).allow_all().session_mode(SessionMode::Plan)
}

async fn asked(driver: &mut SessionDriver) -> AskId {
    driver.send("plan it", MailDelivery::FollowUp).await;
    let asked = driver.until("a plan", |event| matches!(event, Event::AskOpened(_))).await;
    let Event::AskOpened(ask) = asked.entry.event else { panic!("it asks") };
    ask.id
}

fn stops(run: &PlayedSession) -> Vec<(AutopilotStop, u32)> {
    let stop = |event: &Event| match event {
        Event::AutopilotStopped { why, continues } => Some((why.clone(), *continues)),
        _other => None,
    };
    run.events().iter().filter_map(|envelope| stop(&envelope.entry.event)).collect()
}

fn modes(run: &PlayedSession) -> Vec<SessionMode> {
    let mode = |event: &Event| match event {
        Event::ModeChanged { mode, .. } => Some(*mode),
        _other => None,
    };
    run.events().iter().filter_map(|envelope| mode(&envelope.entry.event)).collect()
}

#[tokio::test]
async fn without_a_user_there_is_a_plan_and_nothing_else() {
    let run = planner().prompt("plan it").run().await;
    assert_eq!(run.file("a.txt"), None, "{}", run.transcript());
    assert_eq!(modes(&run), [SessionMode::Plan, SessionMode::Interactive]);
    let plan = client::read_plan(run.stage().home(), run.id()).unwrap();
    assert_eq!(plan.as_deref(), Some("1. Write a.txt\n"));
    assert!(run.text().contains("(mode: plan)"), "{}", run.text());
}

#[tokio::test]
async fn an_approved_plan_is_carried_out() {
    for (action, instruction) in
        [(PlanAction::Interactive, "Carry it out now."), (PlanAction::Autopilot, "report with `task_complete`")]
    {
        let stage = planner().ask_wait(None).ready();
        let mut driver = stage.open(SessionStart::New).await;
        let ask = asked(&mut driver).await;
        driver.session().decide(DecideParams { ask, decision: AskDecision::Proceed { action } }).await.unwrap();
        driver.rest().await;
        let run = driver.leave().await;
        assert_eq!(run.file("a.txt").as_deref(), Some("done"), "{action}");
        assert!(run.transcript().contains(instruction), "{}", run.transcript());
        let on_autopilot = action != PlanAction::Interactive;
        assert_eq!(stops(&run).len(), usize::from(on_autopilot), "{:?}", stops(&run));
    }
}

#[tokio::test]
async fn the_users_comment_on_a_plan_reaches_the_model_in_plan_mode() {
    let stage = planner().ask_wait(None).ready();
    let mut driver = stage.open(SessionStart::New).await;
    let ask = asked(&mut driver).await;
    driver
        .session()
        .decide(DecideParams { ask, decision: AskDecision::Deny { message: "two files".into() } })
        .await
        .unwrap();
    driver.rest().await;
    let run = driver.leave().await;
    assert_eq!((run.text(), modes(&run)), ("You said two files.", vec![SessionMode::Plan]));
}

#[tokio::test]
async fn without_a_user_the_default_plan_action_is_taken_at_once() {
    let run = planner().plan_exit(PlanAction::Autopilot).prompt("plan it").run().await;
    assert_eq!(run.file("a.txt").as_deref(), Some("done"));
    assert_eq!(modes(&run), [SessionMode::Plan, SessionMode::Autopilot]);
    assert_eq!(stops(&run), [(AutopilotStop::Complete { summary: "It is written".into() }, 0)]);
}

#[tokio::test]
async fn children_of_a_planner_change_nothing_either() {
    let script = rules(
        r#"
  - when: { agent: worker, turn: 1 }
    answer:
      - call: { tool: create, input: { path: b.txt, content: x } }
      - call: { tool: shell, input: { command: touch c.txt } }
  - when: { agent: worker }
    answer: [say: "child: ${answer}"]
  - when: { turn: 1 }
    answer:
      - call: { tool: task, input: { description: d, prompt: write, agent_type: worker, name: w, mode: sync } }
  - answer: [say: over]
"#,
    );
    let scenario = scenario().script(&script).allow_all().session_mode(SessionMode::Plan);
    let run = scenario.prompt("go").run().await;
    assert_eq!((run.file("b.txt"), run.file("c.txt")), (None, None), "{}", run.transcript());
    assert!(run.transcript().contains("(mode: plan)"), "{}", run.transcript());
}

#[tokio::test]
async fn the_plan_and_mode_of_a_session_survive_its_owner() {
    let stage = planner().mode(PermissionMode::AllowAll).ask_wait(None).ready();
    let mut driver = stage.open(SessionStart::New).await;
    let (ask, id) = (asked(&mut driver).await, driver.id());
    driver.crash().await;
    let mut driver = stage.open(SessionStart::Resume(id)).await;
    driver.resume().await;
    let decision = AskDecision::Proceed { action: PlanAction::Interactive };
    driver.session().decide(DecideParams { ask, decision }).await.unwrap();
    driver.rest().await;
    assert_eq!(driver.leave().await.file("a.txt").as_deref(), Some("done"));
}

#[tokio::test]
async fn mode_and_plan_are_kept_by_a_fork() {
    let stage = planner().ask_wait(None).ready();
    let mut driver = stage.open(SessionStart::New).await;
    asked(&mut driver).await;
    let id = driver.id();
    driver.leave().await;
    let driver = stage.open(SessionStart::Fork(id)).await;
    // The mode is set again when the session is opened, but the log records it once.
    assert_eq!(driver.session().mode().await.unwrap(), SessionMode::Plan);
    assert_eq!(driver.session().plan().unwrap().as_deref(), Some("1. Write a.txt\n"));
    driver.session().set_mode(SessionMode::Autopilot).await.unwrap();
    assert_eq!(driver.session().view().unwrap().mode, SessionMode::Autopilot);
    driver.leave().await;
}

/// A model on autopilot.
fn pilot(script: &str, continues: u32) -> Scenario {
    let limits = kernel::SessionLimits { max_continues: continues, ..kernel::SessionLimits::default() };
    scenario().script(script).allow_all().limits(limits).session_mode(SessionMode::Autopilot)
}

const FORGETFUL: &str = r#"
  - when: { turn: 3 }
    answer:
      - call: { tool: task_complete, input: { summary: All three, status: done } }
  - when: { answered: { tool: task_complete } }
    answer: [say: Done.]
  - answer:
      - say: "Step ${turn}."
"#;

#[tokio::test]
async fn autopilot_continues_until_the_objective_is_reported_as_met() {
    let run = pilot(&rules(FORGETFUL), 5).prompt("do it").run().await;
    assert_eq!(stops(&run), [(AutopilotStop::Complete { summary: "All three".into() }, 2)]);
    assert_eq!(run.text(), "Done.");
    assert_eq!(run.count(|event| matches!(event, Event::AutopilotContinued { .. })), 2);
}

#[tokio::test]
async fn a_model_that_never_reports_stops_at_the_limit() {
    let script = rules(
        r#"
  - when: { answered: { tool: create } }
    answer: [say: More to come.]
  - answer:
      - call: { tool: create, input: { path: "f${turn}.txt", content: x } }
"#,
    );
    let run = pilot(&script, 3).prompt("do it").run().await;
    assert_eq!(stops(&run), [(AutopilotStop::Limit, 3)]);
}

#[tokio::test]
async fn new_list_items_count_as_a_change() {
    let script = rules(
        r#"
  - when: { answered: { tool: TaskCreate } }
    answer: [say: More to come.]
  - answer:
      - call: { tool: TaskCreate, input: { subject: "part ${turn}", description: x } }
"#,
    );
    let run = pilot(&script, 4).prompt("do it").run().await;
    assert_eq!(stops(&run), [(AutopilotStop::Limit, 4)], "{}", run.transcript());
}

#[tokio::test]
async fn a_model_that_repeats_itself_is_stopped_when_nothing_changes() {
    let run = pilot(
        &turns("    - - say: I continue.\n").replace("agents:\n  main:\n    - -", "rules:\n  - answer:\n     -"),
        9,
    )
    .prompt("do it")
    .run()
    .await;
    assert_eq!(stops(&run), [(AutopilotStop::NoChange, 2)], "{}", run.transcript());
}

fn turn_count(run: &PlayedSession) -> usize {
    run.count(|event| matches!(event, Event::TurnAnswered { .. }))
}

/// A2: after its report, a model gets only one more turn.
#[tokio::test]
async fn a_report_on_the_objective_ends_the_run() {
    let script =
        rules("  - answer:\n      - call: { tool: task_complete, input: { summary: All of it, status: done } }\n");
    let run = pilot(&script, 9).prompt("do it").run().await;
    assert_eq!(stops(&run), [(AutopilotStop::Complete { summary: "All of it".into() }, 0)], "{}", run.transcript());
    assert_eq!((turn_count(&run), run.text(), run.outcome()), (2, "All of it", Some(&TaskOutcome::Completed)));
}

/// A2: a model that never stops calling is stopped.
#[tokio::test]
async fn calls_that_repeat_with_the_same_answers_count_as_no_change() {
    for calls in [
        "      - call: { tool: view, input: { path: . } }\n",
        "      - call: { tool: view, input: { path: . } }\n      - call: { tool: glob, input: { pattern: '*' } }\n",
    ] {
        let run = pilot(&rules(&format!("  - answer:\n{calls}")), 9).prompt("do it").run().await;
        assert_eq!(stops(&run), [(AutopilotStop::NoChange, 0)], "{}", run.transcript());
        assert!(turn_count(&run) <= 10, "{} turns", turn_count(&run));
        assert_eq!(run.outcome(), Some(&TaskOutcome::Completed));
    }
}

/// A2: a model that makes a new call each time is stopped too.
#[tokio::test]
async fn autopilot_ends_at_its_turn_limit() {
    let script = rules("  - answer:\n      - call: { tool: shell, input: { command: 'echo ${turn}' } }\n");
    let limits = kernel::SessionLimits { max_autopilot_turns: 12, ..kernel::SessionLimits::default() };
    let run = scenario().script(&script).allow_all().limits(limits).session_mode(SessionMode::Autopilot);
    let run = run.prompt("do it").run().await;
    assert_eq!(stops(&run), [(AutopilotStop::Limit, 0)], "{}", run.transcript());
    assert_eq!(turn_count(&run), 13, "the last one has no tools");
}

#[tokio::test]
async fn repeated_commands_count_as_no_change() {
    let script = rules(
        r#"
  - when: { answered: { tool: shell } }
    answer: [say: Still waiting.]
  - answer:
      - call: { tool: shell, input: { command: "true" } }
"#,
    );
    let run = pilot(&script, 9).prompt("do it").run().await;
    assert_eq!(stops(&run).last(), Some(&(AutopilotStop::NoChange, 2)), "{}", run.transcript());
}

#[tokio::test]
async fn a_blocked_root_is_not_told_to_continue() {
    let script = turns(
        "
    - - call: { tool: task_complete, input: { summary: half, status: blocked, reason: no key } }
    - - say: I need a key.
",
    );
    let run = pilot(&script, 5).prompt("do it").run().await;
    let why = AutopilotStop::Blocked { summary: "half".into(), reason: "no key".into() };
    assert_eq!((stops(&run), run.text()), (vec![(why, 0)], "I need a key."));
}

#[tokio::test]
async fn waiting_for_agents_does_not_count_as_continuing() {
    let script = rules(
        r#"
  - when: { agent: worker }
    answer:
      - wait: 300ms
      - say: found it
  - when: { turn: 1 }
    answer:
      - call: { tool: task, input: { description: d, prompt: look, agent_type: worker, name: w, mode: background } }
  - when: { turn: 2 }
    answer: [say: I wait for w.]
  - when: { turn: 3, prompt: found it }
    answer:
      - call: { tool: task_complete, input: { summary: w found it, status: done } }
  - answer: [say: Done.]
"#,
    );
    let run = pilot(&script, 5).prompt("do it").run().await;
    assert_eq!(stops(&run), [(AutopilotStop::Complete { summary: "w found it".into() }, 0)], "{}", run.transcript());
}

#[tokio::test]
async fn a_root_that_reports_before_its_agents_end_still_gets_their_results() {
    let script = rules(
        r#"
  - when: { agent: worker }
    answer:
      - wait: 300ms
      - say: late
  - when: { turn: 1 }
    answer:
      - call: { tool: task, input: { description: d, prompt: look, agent_type: worker, name: w, mode: background } }
      - call: { tool: task_complete, input: { summary: enough, status: done } }
  - when: { prompt: late }
    answer: [say: Heard.]
  - answer: [say: Done.]
"#,
    );
    let run = pilot(&script, 5).prompt("do it").run().await;
    assert_eq!(stops(&run), [(AutopilotStop::Complete { summary: "enough".into() }, 0)]);
    assert_eq!(run.text(), "Heard.");
}

#[tokio::test]
async fn an_interrupt_by_the_user_ends_autopilot() {
    let script = rules("  - answer:\n      - say: working\n      - hang: true\n");
    let stage = pilot(&script, 5).ready();
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("do it", MailDelivery::FollowUp).await;
    driver.asked(1).await;
    driver.interrupt().await;
    driver.rest().await;
    assert_eq!(stops(&driver.leave().await), [(AutopilotStop::Aborted { by: CancelBy::User }, 0)]);
}

#[tokio::test]
async fn the_number_of_continuations_survives_a_crash() {
    let script = rules(
        r#"
  - when: { turn: 2 }
    answer:
      - say: working
      - hang: true
  - answer: [say: "Step ${turn}."]
"#,
    );
    let stage = pilot(&script, 1).ready();
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("do it", MailDelivery::FollowUp).await;
    driver.until("a continuation", |event| matches!(event, Event::AutopilotContinued { .. })).await;
    driver.asked(2).await;
    let id = driver.id();
    driver.crash().await;
    let mut driver = stage.open(SessionStart::Resume(id)).await;
    // Nothing happens until the session is resumed.
    assert!(!driver.session().status().borrow().continuation_due);
    driver.resume().await;
    driver.asked(1).await;
    driver.interrupt().await;
    driver.rest().await;
    let run = driver.leave().await;
    assert_eq!(stops(&run), [(AutopilotStop::Aborted { by: CancelBy::User }, 1)]);
    assert_eq!(run.count(|event| matches!(event, Event::AutopilotContinued { .. })), 1);
}

#[tokio::test]
async fn an_objective_puts_a_session_on_autopilot() {
    let stage = scenario().script(&rules(FORGETFUL)).ready();
    let mut driver = stage.open(SessionStart::New).await;
    driver.session().set_objective("do it").await.unwrap();
    driver.until("the end", |event| matches!(event, Event::AutopilotStopped { .. })).await;
    driver.rest().await;
    assert_eq!(stops(&driver.leave().await).len(), 1);
}

#[tokio::test]
async fn disabling_questions_does_not_start_autopilot() {
    let run = scenario().script(&rules(FORGETFUL)).no_ask_user().prompt("do it").run().await;
    assert_eq!(run.text(), "Step 1.");
    assert_eq!(run.count(|event| matches!(event, Event::AutopilotContinued { .. })), 0);
    assert_eq!(modes(&run), []);
}

#[tokio::test]
async fn autopilot_does_not_continue_after_the_time_limit() {
    let last = "  - when: { prompt: 'your last answer' }\n    answer: [say: this far I came]\n";
    let script = rules(&format!("{last}  - answer:\n      - say: working\n      - hang: true\n"));
    let mut driver = pilot(&script, 5).timeout(TIME_LIMIT).ready().open(SessionStart::New).await;
    driver.send("do it", MailDelivery::FollowUp).await;
    driver.asked(1).await;
    pass_time_limit().await;
    driver.rest().await;
    let run = driver.leave().await;
    assert_eq!(stops(&run), [(AutopilotStop::Failed, 0)], "{}", run.transcript());
}

#[tokio::test]
async fn requests_keep_their_prefix_when_the_mode_changes() {
    let stage = scenario().script(&rules("  - answer: [say: \"Turn ${turn}.\"]\n")).ready();
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("one", MailDelivery::FollowUp).await;
    driver.rest().await;
    driver.session().set_mode(SessionMode::Plan).await.unwrap();
    driver.send("two", MailDelivery::FollowUp).await;
    driver.rest().await;
    let requests = driver.model().requests();
    let [first, second] = &requests[..] else { panic!("{}", requests.len()) };
    assert_eq!(first.system, second.system);
    assert!(second.messages.starts_with(&first.messages));
    let names = |request: &model::ModelRequest| request.tools.iter().map(|tool| tool.name.clone()).collect::<Vec<_>>();
    let (before, after) = (names(first), names(second));
    assert_eq!(after[before.len()..], ["write_plan", "exit_plan_mode"]);
    driver.leave().await;
}

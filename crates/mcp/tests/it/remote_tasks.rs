//! Calls that become tasks of a session: tasks of servers, and calls that move to the background.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use bosun_mcp::{DefinedMcpServer, McpServers, McpServersConfig};
use protocol::api::{CommandOutcome, DecideParams, SessionCommand, StopTaskParams, TaskView};
use protocol::{
    AskDecision, CancelMode, Event, McpTaskForm, McpTaskStatus, Principal, TaskMode, TaskState, ToolResultStatus,
};
use serde_json::{Value, json};
use testkit::mcp::ScriptedMcpProgram;
use testkit::session::{Scenario, SessionDriver, SessionStart, scenario};

use crate::servers::{program, run_calls, servers, url};

/// The forms of tasks, with the revisions that have them.
const FORMS: [(&str, McpTaskForm); 2] = [("session", McpTaskForm::Session), ("stateless", McpTaskForm::Extension)];

/// A model that calls a tool of the server, and says what it was told last.
fn calls(tool: &str, input: Value) -> String {
    let call = json!({ "id": "c0", "tool": tool, "input": input });
    let rules = json!([
        { "when": { "turn": 1 }, "answer": [{ "call": call }] },
        { "answer": [{ "say": "noted" }] },
    ]);
    json!({ "version": 1, "about": "Calls a tool", "rules": rules }).to_string()
}

fn with_servers(script: &str, servers: Arc<McpServers>) -> Scenario {
    scenario().script(script).allow_all().tool_catalog(servers)
}

fn open_gate(server: &ScriptedMcpProgram) {
    fs::write(server.folder().join("open"), "").unwrap();
}

/// The task below the root.
fn mcp_task(driver: &SessionDriver) -> TaskView {
    driver.tasks().into_iter().find(|task| task.mcp.is_some()).unwrap()
}

/// How often the model's latest request contains a text.
fn told(driver: &SessionDriver, text: &str) -> usize {
    let requests = driver.model().requests();
    format!("{:?}", requests.last().unwrap().messages).matches(text).count()
}

async fn until_polled(driver: &mut SessionDriver) {
    let polled = |event: &Event| matches!(event, Event::McpTaskReported { report } if report.polled_at.is_some());
    driver.until("a report of the server's task", polled).await;
}

async fn start(server_calls: &str, servers: Arc<McpServers>, background_after: Duration) -> SessionDriver {
    let stage = with_servers(server_calls, servers).background_after(background_after).ready();
    let driver = stage.open(SessionStart::New).await;
    driver.send("go", protocol::MailDelivery::Steer).await;
    driver
}

#[tokio::test]
async fn every_end_of_a_servers_task_answers_its_call() {
    for (revision, form) in FORMS {
        let server = ScriptedMcpProgram::new(json!({ "revision": revision }));
        open_gate(&server);
        let tools = ["gate", "fails", "drops", "asks", "flaky"];
        let all: Vec<(String, Value)> = tools.map(|tool| (format!("mcp__calc__{tool}"), json!({ "a": 1 }))).into();
        let all: Vec<(&str, Value)> = all.iter().map(|(tool, input)| (tool.as_str(), input.clone())).collect();
        let (run, answers) = run_calls(servers(program(&server)), &all).await;
        let texts: Vec<&str> = answers.iter().map(|answer| answer.text.as_str()).collect();
        assert_eq!((answers[0].status, texts[0]), (ToolResultStatus::Done, "the gate is open"), "{revision}");
        let failed = match form {
            McpTaskForm::Session => "it broke",
            McpTaskForm::Extension => "the tool fails of the MCP server `calc` failed without details",
        };
        assert_eq!((answers[1].status, texts[1]), (ToolResultStatus::Refused, failed), "{revision}");
        assert!(texts[2].ends_with("cancelled the task `task-3`: no room"), "{}", texts[2]);
        assert_eq!(texts[3], r#"{"action": "cancel"}"#, "{revision}: no user answers in this session");
        let tasks: Vec<&TaskView> = run.tasks().iter().filter(|task| task.mcp.is_some()).collect();
        let states: Vec<&str> = tasks.iter().map(|task| task.state.as_str()).collect();
        assert_eq!(states, ["completed", "failed", "cancelled", "completed", "completed"], "{revision}");
        let report = tasks[0].mcp.as_deref().unwrap();
        let remote = report.spec.remote.as_ref().unwrap();
        assert_eq!((remote.form, &*remote.id, report.status), (form, "task-1", McpTaskStatus::Completed));
        assert_eq!((tasks[0].prompt.as_deref(), tasks[0].description.as_str()), (Some(r#"{"a":1}"#), "calc.gate"));
        assert!(report.progress.is_some() && report.polled_at.is_some(), "{report:?}");
        assert_eq!(server.heard("tasks/cancel").len(), 0, "{revision}: nothing was stopped");
    }
}

#[tokio::test]
async fn a_task_that_takes_long_moves_to_the_background_and_its_result_is_delivered_once() {
    for (revision, _form) in FORMS {
        let server = ScriptedMcpProgram::new(json!({ "revision": revision }));
        let catalog = servers(program(&server));
        let mut driver = start(&calls("mcp__calc__gate", json!({})), catalog, Duration::from_millis(50)).await;
        driver.asked(2).await;
        assert_eq!(told(&driver, "moved to the background as /root/gate"), 1, "{revision}");
        until_polled(&mut driver).await;
        let task = mcp_task(&driver);
        assert_eq!((task.mode, &task.state), (TaskMode::Background, &TaskState::Running));
        let intent = task.intent.unwrap();
        assert!(intent.starts_with("working: the gate is closed"), "{intent}");
        let send = SessionCommand::Send(
            serde_json::from_value(json!({ "task": task.id, "text": "faster", "delivery": "steer" })).unwrap(),
        );
        let CommandOutcome::Refused { message, .. } = driver.command(&send).await else { panic!("it took a message") };
        assert!(message.contains("is an MCP task and cannot receive messages; start a new one"), "{message}");
        open_gate(&server);
        driver
            .until("the result", |event| matches!(event, Event::MailAdmitted { from: Principal::Task { .. }, .. }))
            .await;
        driver.rest().await;
        assert_eq!(told(&driver, "the gate is open"), 1, "{revision}");
        assert_eq!(mcp_task(&driver).state.as_str(), "completed");
        driver.leave().await;
    }
}

#[tokio::test]
async fn a_stream_tells_the_end_of_a_task_before_it_is_polled_and_a_lost_one_is_a_warning() {
    let server = ScriptedMcpProgram::new(json!({ "revision": "stateless" })).serve();
    let script = calls("mcp__calc__pushed", json!({}));
    let mut driver = start(&script, servers(url(&server, Vec::new())), Duration::from_secs(600)).await;
    driver.until("the task", |event| matches!(event, Event::WaitBegan { .. })).await;
    open_gate(server.program());
    driver.rest().await;
    assert_eq!((told(&driver, "the gate is open"), server.program().heard("tasks/get").len()), (1, 1));
    driver.leave().await;

    let server = ScriptedMcpProgram::new(json!({ "revision": "stateless" })).serve();
    let script = calls("mcp__calc__unheard", json!({}));
    let mut driver = start(&script, servers(url(&server, Vec::new())), Duration::from_secs(600)).await;
    let warned = |event: &Event| match event {
        Event::McpTaskReported { report } => report.warning.as_deref() == Some("stream lost, polling"),
        _other => false,
    };
    driver.until("the warning", warned).await;
    open_gate(server.program());
    driver.rest().await;
    assert_eq!(told(&driver, "the gate is open"), 1);
    driver.leave().await;
}

#[tokio::test]
async fn a_call_that_takes_long_moves_to_the_background_and_answers_later() {
    let server = ScriptedMcpProgram::new(json!({}));
    let catalog = servers(program(&server));
    let mut driver = start(&calls("mcp__calc__gated", json!({})), catalog, Duration::from_millis(50)).await;
    driver.asked(2).await;
    assert_eq!(told(&driver, "moved to the background as /root/gated"), 1);
    open_gate(&server);
    driver.asked(3).await;
    driver.rest().await;
    assert_eq!(told(&driver, "it was opened"), 1);
    let task = mcp_task(&driver);
    assert_eq!((task.kind.name(), task.state.as_str()), ("mcp-call", "completed"));
    assert_eq!(server.heard("tools/call").len(), 1);
    driver.leave().await;
}

#[tokio::test]
async fn a_call_in_the_background_is_lost_with_its_owner_and_its_agent_is_told_once() {
    let server = ScriptedMcpProgram::new(json!({}));
    let catalog = servers(program(&server));
    let driver = start(&calls("mcp__calc__gated", json!({})), catalog, Duration::ZERO).await;
    driver.asked(2).await;
    let stage = driver.stage().clone();
    let id = driver.crash().await.id();
    let mut driver = stage.open(SessionStart::Resume(id)).await;
    driver.resume().await;
    driver.rest().await;
    assert_eq!(mcp_task(&driver).state.as_str(), "lost");
    assert_eq!(told(&driver, "/root/gated (mcp-call, "), 1);
    driver.leave().await;
}

#[tokio::test]
async fn a_task_that_a_server_makes_of_a_call_in_the_background_is_followed_by_the_next_owner() {
    for (revision, _form) in FORMS {
        let server = ScriptedMcpProgram::new(json!({ "revision": revision })).serve();
        let catalog = servers(url(&server, Vec::new()));
        let mut driver = start(&calls("mcp__calc__late_task", json!({})), catalog, Duration::ZERO).await;
        driver.asked(2).await;
        assert_eq!(mcp_task(&driver).kind.name(), "mcp-call", "{revision}");
        fs::write(server.program().folder().join("begin"), "").unwrap();
        let is_created =
            |event: &Event| matches!(event, Event::McpTaskReported { report } if report.spec.remote.is_some());
        driver.until("the server's task", is_created).await;
        assert_eq!(mcp_task(&driver).kind.name(), "mcp-task", "{revision}");
        let stage = driver.stage().clone();
        let id = driver.crash().await.id();
        let mut driver = stage.open(SessionStart::Resume(id)).await;
        driver.resume().await;
        until_polled(&mut driver).await;
        open_gate(server.program());
        driver
            .until("the result", |event| matches!(event, Event::MailAdmitted { from: Principal::Task { .. }, .. }))
            .await;
        driver.rest().await;
        assert_eq!(told(&driver, "the gate is open"), 1, "{revision}");
        assert_eq!(mcp_task(&driver).state.as_str(), "completed");
        assert_eq!(server.program().heard("tools/call").len(), 1, "{revision}");
        driver.leave().await;
    }
}

#[tokio::test]
async fn the_next_owner_goes_on_polling_and_the_waiting_call_gets_the_result() {
    for (revision, _form) in FORMS {
        let server = ScriptedMcpProgram::new(json!({ "revision": revision })).serve();
        let catalog = servers(url(&server, Vec::new()));
        let mut driver = start(&calls("mcp__calc__gate", json!({})), catalog, Duration::from_secs(600)).await;
        until_polled(&mut driver).await;
        let stage = driver.stage().clone();
        let id = driver.crash().await.id();
        let mut driver = stage.open(SessionStart::Resume(id)).await;
        driver.resume().await;
        until_polled(&mut driver).await;
        open_gate(server.program());
        driver.rest().await;
        assert_eq!(told(&driver, "the gate is open"), 1, "{revision}");
        let log = server.program();
        assert_eq!((log.heard("tools/call").len(), log.heard("tasks/cancel").len()), (1, 0), "{revision}");
        driver.leave().await;
    }
}

#[tokio::test]
async fn a_program_that_was_started_again_has_lost_its_tasks() {
    let server = ScriptedMcpProgram::new(json!({ "revision": "stateless" }));
    let catalog = servers(program(&server));
    let mut driver = start(&calls("mcp__calc__dies", json!({})), catalog, Duration::from_secs(600)).await;
    driver.rest().await;
    assert_eq!(told(&driver, "lost the task `task-1`: there is no such task"), 1);
    assert_eq!(mcp_task(&driver).state.as_str(), "lost");
    assert_eq!(server.pids().len(), 2);
    driver.leave().await;
}

#[tokio::test]
async fn a_task_that_is_stopped_is_cancelled_at_its_server() {
    for (revision, _form) in FORMS {
        let server = ScriptedMcpProgram::new(json!({ "revision": revision }));
        let catalog = servers(program(&server));
        let mut driver = start(&calls("mcp__calc__never", json!({})), catalog, Duration::from_secs(600)).await;
        until_polled(&mut driver).await;
        let task = mcp_task(&driver).id;
        driver.command(&SessionCommand::StopTask(StopTaskParams { task, how: CancelMode::Abort })).await;
        driver.rest().await;
        assert_eq!(mcp_task(&driver).state.as_str(), "cancelled");
        driver.leave().await;
        assert_eq!(server.heard("tasks/cancel").len(), 1, "{revision}");
    }
}

#[tokio::test]
async fn the_task_of_a_session_that_is_left_goes_on_at_its_server() {
    let server = ScriptedMcpProgram::new(json!({})).serve();
    let catalog = servers(url(&server, Vec::new()));
    let mut driver = start(&calls("mcp__calc__never", json!({})), catalog, Duration::from_secs(600)).await;
    until_polled(&mut driver).await;
    driver.leave().await;
    assert_eq!(server.program().heard("tasks/cancel").len(), 0);
}

#[tokio::test]
async fn a_servers_question_is_asked_once_and_answered_by_the_next_owner() {
    for (revision, _form) in FORMS {
        let server = ScriptedMcpProgram::new(json!({ "revision": revision })).serve();
        let script = calls("mcp__calc__asks", json!({}));
        let stage = with_servers(&script, servers(url(&server, Vec::new()))).ask_wait(None).ready();
        let mut driver = stage.open(SessionStart::New).await;
        driver.send("go", protocol::MailDelivery::Steer).await;
        let opened = driver.until("a question", |event| matches!(event, Event::AskOpened(_))).await;
        let Event::AskOpened(ask) = opened.entry.event else { unreachable!() };
        let id = driver.crash().await.id();
        let mut driver = stage.open(SessionStart::Resume(id)).await;
        driver.resume().await;
        let decision = AskDecision::Reply { text: "Ann".into() };
        driver.command(&SessionCommand::Decide(DecideParams { ask: ask.id, decision })).await;
        driver.rest().await;
        assert_eq!(told(&driver, r#"\"name\": \"Ann\""#), 1, "{revision}");
        let played = driver.leave().await;
        let opened = played.events().iter().filter(|entry| matches!(entry.entry.event, Event::AskOpened(_)));
        assert_eq!(opened.count(), 1, "{revision}");
    }
}

#[tokio::test]
async fn an_agent_that_starts_no_background_work_waits_for_the_task() {
    let server = ScriptedMcpProgram::new(json!({}));
    let task = json!({ "description": "d", "prompt": "call it", "agent_type": "worker", "name": "one" });
    let rules = json!([
        { "when": { "agent": "worker", "turn": 1 },
          "answer": [{ "call": { "id": "c0", "tool": "mcp__calc__task", "input": {} } }] },
        { "when": { "agent": "worker" }, "answer": [{ "say": "${answer}" }] },
        { "when": { "turn": 1 }, "answer": [{ "call": { "id": "t0", "tool": "task", "input": task } }] },
        { "answer": [{ "say": "${answer}" }] },
    ]);
    let script = json!({ "version": 1, "about": "Delegates", "rules": rules }).to_string();
    let catalog = servers(program(&server));
    let run = with_servers(&script, catalog).background_after(Duration::ZERO).prompt("go").run().await;
    assert!(run.text().contains("the task is done"), "{}", run.transcript());
    let below = run.tasks().iter().find(|task| task.mcp.is_some()).unwrap();
    assert_eq!((below.path.as_str(), below.mode), ("/root/one/task", TaskMode::Sync));
}

/// The session has a server of the same name.
#[tokio::test]
async fn a_task_is_followed_at_the_server_of_its_agent_also_by_the_next_owner() {
    let [of_session, of_agent] = [(), ()].map(|()| ScriptedMcpProgram::new(json!({})).serve());
    let own = DefinedMcpServer { agent: Some("worker".into()), ..url(&of_agent, Vec::new()).into() };
    let shared = url(&of_session, Vec::new()).into();
    let config = McpServersConfig { servers: vec![shared, own], ..McpServersConfig::default() };
    let task = json!({ "description": "d", "prompt": "call it", "agent_type": "worker", "name": "one" });
    let rules = json!([
        { "when": { "agent": "worker", "turn": 1 },
          "answer": [{ "call": { "id": "c0", "tool": "mcp__calc__gate", "input": {} } }] },
        { "when": { "agent": "worker" }, "answer": [{ "say": "${answer}" }] },
        { "when": { "turn": 1 }, "answer": [{ "call": { "id": "t0", "tool": "task", "input": task } }] },
        { "answer": [{ "say": "${answer}" }] },
    ]);
    let script = json!({ "version": 1, "about": "Delegates", "rules": rules }).to_string();
    let mut driver = start(&script, Arc::new(McpServers::new(config)), Duration::from_secs(600)).await;
    until_polled(&mut driver).await;
    let stage = driver.stage().clone();
    let id = driver.crash().await.id();
    let mut driver = stage.open(SessionStart::Resume(id)).await;
    driver.resume().await;
    until_polled(&mut driver).await;
    open_gate(of_agent.program());
    driver.rest().await;
    assert!(told(&driver, "the gate is open") > 0);
    assert_eq!(of_session.program().heard("tasks/get").len(), 0);
    driver.leave().await;
}

#[tokio::test]
async fn progress_of_a_running_call_is_shown_until_the_call_is_answered() {
    let server = ScriptedMcpProgram::new(json!({}));
    let script = calls("mcp__calc__progress", json!({}));
    let mut driver = start(&script, servers(program(&server)), Duration::from_secs(600)).await;
    driver.until("progress", |event| matches!(event, Event::CallProgressed { .. })).await;
    let shown =
        |driver: &SessionDriver| driver.tasks().into_iter().find(|task| task.parent.is_none()).unwrap().progress;
    let progress = shown(&driver).unwrap();
    assert!(progress.starts_with("calc.progress: ") && progress.contains(": step "), "{progress}");
    driver.command(&SessionCommand::Interrupt).await;
    driver.rest().await;
    assert_eq!(shown(&driver), None);
    driver.leave().await;
}

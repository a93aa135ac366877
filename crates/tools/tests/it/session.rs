//! Tools that only pass requests on, and malformed input.

use bosun_tools::{ToolError, ToolPlace, builtin_tools, shared_list_tools};
use serde_json::json;

use crate::fixture::Agent;

#[tokio::test]
async fn a_call_runs_where_its_resources_are() {
    let place = |name: &str, input: &str| {
        builtin_tools().iter().find(|tool| tool.spec().name == name).map(|tool| tool.place(input))
    };
    for (tool, input) in [("view", r#"{"path":"a"}"#), ("shell", r#"{"command":"ls"}"#), ("sql", "not JSON")] {
        assert_eq!(place(tool, input), Some(ToolPlace::Workplace), "{tool} {input}");
    }
    for (tool, input) in [("sql", r#"{"query":"select 1"}"#), ("shell", r#"{"command":"ls","background":true}"#)] {
        assert_eq!(place(tool, input), Some(ToolPlace::Session), "{tool} {input}");
    }
    let mut away = Agent::new();
    away.cx.session = None;
    let failed = away.raw("sql", r#"{"query":"select 1"}"#).await;
    assert!(matches!(&failed, Err(ToolError::Failed(why)) if why.to_string().contains("needs the session")));
}

#[tokio::test]
async fn sql_and_intent_are_passed_on() {
    let agent = Agent::new();
    assert_eq!(agent.done("sql", json!({ "query": "select 1", "description": "One" })).await, "ran select 1");
    assert!(agent.refused("sql", json!({ "query": " \n" })).await.contains("empty"));
    agent.done("report_intent", json!({ "intent": "\n  Fixing the parser\nand more" })).await;
    agent.done("report_intent", json!({ "intent": "é".repeat(1000) })).await;
    assert!(agent.refused("report_intent", json!({ "intent": "" })).await.contains("empty"));
    let heard = agent.above.heard.lock().unwrap();
    assert_eq!(heard[0], "Fixing the parser");
    assert!(heard[1].len() <= 200);
}

#[tokio::test]
async fn background_commands_are_passed_on() {
    let agent = Agent::new();
    let started = agent.done("shell", json!({ "command": "serve\n# x", "background": true })).await;
    assert!(started.contains("`server`"));
    assert_eq!(*agent.above.heard.lock().unwrap(), ["start serve\n# x (serve)"]);
    assert_eq!(agent.done("read_shell", json!({ "name": "server" })).await, "[server runs]\nline\n");
    assert_eq!(agent.refused("read_shell", json!({ "name": "server", "wait_secs": 5 })).await, "5s");
    assert_eq!(agent.done("stop_shell", json!({ "name": "server" })).await, "[server stopped]\n");
    assert_eq!(agent.raw("list_shells", "").await.unwrap().text.as_str(), "server [running] the site");
}

#[tokio::test]
async fn list_tools_accept_the_usual_arguments() {
    let agent = Agent::new();
    let made = agent.done("TaskCreate", json!({ "subject": "s", "description": "d", "activeForm": "doing" })).await;
    assert!(made.contains(r#"active_form: Some("doing")"#), "{made}");
    let edit = json!({ "taskId": "#3", "status": "in_progress", "addBlocks": ["4"], "owner": "", "metadata": {} });
    let edited = agent.done("TaskUpdate", edit).await;
    assert!(edited.starts_with("3: ") && edited.contains("add_blocks: [ItemId(4)]"), "{edited}");
    assert_eq!(agent.done("TaskGet", json!({ "taskId": "a" })).await, "get a NoWait");
    assert_eq!(agent.done("TaskGet", json!({ "taskId": "3", "wait": true })).await, "get 3 For(600s)");
    assert_eq!(agent.done("TaskOutput", json!({ "task_id": "a", "timeout": 1500 })).await, "output a For(1.5s)");
    assert_eq!(agent.done("TaskOutput", json!({ "task_id": "a", "block": false })).await, "output a NoWait");
    let longest = agent.done("TaskOutput", json!({ "task_id": "a", "timeout": u64::MAX })).await;
    assert_eq!(longest, "output a For(86400s)", "no wait is endless");
    assert_eq!(agent.done("TaskStop", json!({ "task_id": "a" })).await, "stop a");
    assert_eq!(agent.raw("TaskList", "").await.unwrap().text.as_str(), "list");
    assert_eq!(agent.refused("TaskUpdate", json!({ "taskId": "x" })).await, "Task not found: x");
    assert!(
        agent
            .refused("TaskCreate", json!({ "subject": "s", "description": "d", "metadata": [1] }))
            .await
            .contains("metadata")
    );
}

#[tokio::test]
async fn waiting_for_a_background_command_ends_with_the_call() {
    let agent = Agent::new();
    agent.cx.cancel.cancel();
    assert!(agent.refused("read_shell", json!({ "name": "server", "wait_secs": 600 })).await.contains("cancelled"));
}

#[tokio::test]
async fn malformed_input_is_refused_by_every_tool() {
    let agent = Agent::new();
    let deep = format!("{{\"x\":{}", "[".repeat(50_000));
    let huge = format!("{{\"path\":\"{}\"}}", "x".repeat(9 << 20));
    let inputs = ["{", "[]", "null", "text", "{\"nobody\": 1}", "{\"path\": 1}{", "\"", "\0", &deep, &huge];
    for tool in builtin_tools().into_iter().chain(shared_list_tools()) {
        let name = tool.spec().name.as_ref();
        for input in inputs {
            let start: String = input.chars().take(30).collect();
            match agent.raw(name, input).await {
                Err(ToolError::Refused(text)) => assert!(text.len() < 1000, "{name} {start}: {text}"),
                other => panic!("{name} {start}: {other:?}"),
            }
        }
    }
    assert!(agent.tree().is_empty());
}

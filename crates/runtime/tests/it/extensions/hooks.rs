//! Hooks that the client program answers.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use hooks::ClientHookCaller;
use protocol::{Event, HookAction, HookDialect, HookEvent, HookFailure, HookSpec, RuleEffect, ToolResultStatus};
use runtime::ClientExtensions;
use serde_json::{Value, json};
use testkit::session::{PlayedSession, scenario};

use super::RecordingTool;
use crate::support::rules;

/// A program that gives fixed answers and records the hooks' inputs.
#[derive(Debug, Default)]
struct Program {
    answers: HashMap<String, Value>,
    inputs: Mutex<Vec<Value>>,
}

impl ClientHookCaller for Program {
    fn call<'a>(
        &'a self,
        id: &'a str,
        payload: Value,
    ) -> Pin<Box<dyn Future<Output = Result<String, String>> + Send + 'a>> {
        self.inputs.lock().unwrap().push(payload);
        Box::pin(async move {
            match self.answers.get(id) {
                Some(answer) => Ok(answer.to_string()),
                None => std::future::pending().await,
            }
        })
    }
}

fn on(event: HookEvent, id: &str, dialect: HookDialect) -> HookSpec {
    HookSpec {
        event,
        matcher: None,
        action: HookAction::Client { id: id.into() },
        timeout_ms: 20_000,
        failure: HookFailure::Open,
        dialect,
        source: "the program".into(),
        programs: Vec::new(),
    }
}

const CALLS: &str = "
  - when: { turn: 1 }
    answer: [call: { id: c, tool: lookup, input: {} }]
  - answer: [say: 'heard ${answer}']
";

/// Runs a call with these hooks; returns the session and how often the tool ran.
async fn run_call(hooks: Vec<HookSpec>, driver: Option<Arc<Program>>) -> (PlayedSession, usize) {
    let guest = RecordingTool::named("lookup");
    let driver = driver.map(|driver| driver as Arc<dyn ClientHookCaller>);
    let extensions = ClientExtensions { hooks, hook_driver: driver, ..guest.as_extensions() };
    let run = scenario().script(&rules(CALLS)).extensions(extensions).allow_all().prompt("go").run().await;
    let ran = guest.called().len();
    (run, ran)
}

fn status(run: &PlayedSession) -> ToolResultStatus {
    let answered = run.events().iter().find_map(|envelope| match &envelope.entry.event {
        Event::CallAnswered { answer, .. } => Some(answer.status),
        _other => None,
    });
    answered.unwrap()
}

fn answering(id: &str, answer: Value) -> Option<Arc<Program>> {
    Some(Arc::new(Program { answers: HashMap::from([(id.to_owned(), answer)]), ..Program::default() }))
}

#[tokio::test]
async fn a_client_hook_blocks_a_call_in_either_dialect() {
    let snake = json!({ "hookSpecificOutput": {
        "hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "not today"
    } });
    let camel = json!({ "permissionDecision": "deny", "permissionDecisionReason": "not today" });
    for (dialect, answer, key) in [(HookDialect::Snake, snake, "tool_name"), (HookDialect::Camel, camel, "toolName")] {
        let program = answering("h", answer);
        let (run, ran) = run_call(vec![on(HookEvent::PreToolUse, "h", dialect)], program.clone()).await;
        assert_eq!((status(&run), ran), (ToolResultStatus::Denied, 0));
        assert!(run.text().contains("not today"), "{}", run.text());
        let inputs = program.unwrap().inputs.lock().unwrap().clone();
        assert_eq!((inputs.len(), inputs[0][key].as_str()), (1, Some("lookup")));
    }
}

#[tokio::test]
async fn a_client_hook_adds_context_for_the_model() {
    let added = json!({ "hookSpecificOutput": {
        "hookEventName": "UserPromptSubmit", "additionalContext": "the tide is high"
    } });
    let hook = on(HookEvent::UserPromptSubmitted, "h", HookDialect::Snake);
    let (run, _ran) = run_call(vec![hook], answering("h", added)).await;
    let first = &run.stage().model(run.id()).requests()[0].messages;
    assert!(format!("{first:?}").contains("the tide is high"), "{first:?}");
}

#[tokio::test]
async fn a_late_or_absent_client_hook_follows_its_failure_policy() {
    let late = |failure| HookSpec { timeout_ms: 20, failure, ..on(HookEvent::PreToolUse, "late", HookDialect::Snake) };
    let silent = || Some(Arc::new(Program::default()));
    let (run, ran) = run_call(vec![late(HookFailure::Open)], silent()).await;
    assert_eq!((status(&run), ran), (ToolResultStatus::Done, 1));
    let (run, ran) = run_call(vec![late(HookFailure::Closed)], silent()).await;
    assert_eq!((status(&run), ran), (ToolResultStatus::Denied, 0));
    assert!(run.text().contains("the hook of the program failed"), "{}", run.text());

    let (run, ran) = run_call(vec![late(HookFailure::Open)], None).await;
    assert_eq!((status(&run), ran), (ToolResultStatus::Done, 1));
    let (run, ran) = run_call(vec![late(HookFailure::Closed)], None).await;
    assert_eq!((status(&run), ran), (ToolResultStatus::Denied, 0));
}

/// A hook of the client may allow what the client would be asked about, but not what a rule denies or asks about.
#[tokio::test]
async fn a_client_hook_allows_a_call_in_place_of_the_client() {
    let before = json!({ "hookSpecificOutput": { "hookEventName": "PreToolUse", "permissionDecision": "allow" } });
    let asked = json!({ "hookSpecificOutput": {
        "hookEventName": "PermissionRequest", "decision": { "behavior": "allow" }
    } });
    for (event, answer) in [(HookEvent::PreToolUse, before), (HookEvent::PermissionRequest, asked)] {
        for (rule, expected) in [
            (None, ToolResultStatus::Done),
            (Some(RuleEffect::Ask), ToolResultStatus::Denied),
            (Some(RuleEffect::Deny), ToolResultStatus::Denied),
        ] {
            let guest = RecordingTool::named("lookup");
            let hooks = vec![on(event, "h", HookDialect::Snake)];
            let driver = answering("h", answer.clone()).map(|driver| driver as Arc<dyn ClientHookCaller>);
            let extensions = ClientExtensions { hooks, hook_driver: driver, ..guest.as_extensions() };
            let scenario = scenario().script(&rules(CALLS)).extensions(extensions).prompt("go");
            let scenario = match rule {
                Some(effect) => scenario.rule(effect, "lookup"),
                None => scenario,
            };
            let run = scenario.run().await;
            assert_eq!(status(&run), expected, "{event:?} {rule:?}");
        }
    }
}

/// A hook in a file belongs to the project or the user, who is asked anyway.
#[tokio::test]
async fn a_hook_that_is_a_program_cannot_allow_a_call() {
    let command = r#"echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}'"#;
    let action = HookAction::Command { command: command.into(), cwd: None, env: Default::default() };
    let hook = HookSpec { action, ..on(HookEvent::PreToolUse, "", HookDialect::Snake) };
    let guest = RecordingTool::named("lookup");
    let scenario = scenario().script(&rules(CALLS)).extensions(guest.as_extensions()).hook(hook);
    assert_eq!(status(&scenario.prompt("go").run().await), ToolResultStatus::Denied);
}

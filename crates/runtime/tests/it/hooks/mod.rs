//! Hooks in a session: their inputs, the effects of their outputs, and the pairing of starts and stops.

mod calls;
mod ends;
mod everywhere;
mod pairs;
mod sessions;

use std::collections::BTreeMap;

use protocol::{AgentSpec, HookAction, HookDialect, HookEvent, HookFailure, HookSpec, SpawnPolicy};
use serde_json::Value;
use testkit::session::SessionFixture;

/// A camel-case hook that runs this command.
pub(crate) fn command_hook(event: HookEvent, command: &str) -> HookSpec {
    HookSpec {
        event,
        matcher: None,
        action: HookAction::Command { command: command.into(), cwd: None, env: BTreeMap::new() },
        timeout_ms: 20_000,
        failure: HookFailure::Open,
        dialect: HookDialect::Camel,
        source: "test.json:1".into(),
        programs: Vec::new(),
    }
}

/// A command that appends the hook's input to the file `told`, one line each, and then runs `then`.
fn record_input_then(then: &str) -> String {
    format!("told=$(cat); printf '%s\\n' \"$told\" >> told; {then}")
}

/// The recorded inputs of hooks, in order.
fn hook_inputs(stage: &SessionFixture) -> Vec<Value> {
    let lines = stage.file("told").unwrap_or_default();
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The recorded inputs of hooks on this event.
fn hook_inputs_of(stage: &SessionFixture, event: &str) -> Vec<Value> {
    hook_inputs(stage).into_iter().filter(|told| told["bosun"]["event"] == event).collect()
}

/// An agent with all tools, and with hooks of its own.
fn agent(name: &str, hooks: Vec<HookSpec>) -> AgentSpec {
    AgentSpec {
        name: name.into(),
        description: "does things".into(),
        spawns: SpawnPolicy::Any,
        model_invocable: true,
        hooks,
        ..AgentSpec::default()
    }
}

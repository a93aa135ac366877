//! Hooks in a session: what they are told, what becomes of what they say, and that starts and stops pair.

mod calls;
mod ends;
mod everywhere;
mod pairs;
mod sessions;

use std::collections::BTreeMap;

use protocol::{AgentSpec, HookAction, HookDialect, HookEvent, HookFailure, HookSpec, SpawnPolicy};
use serde_json::Value;
use testkit::session::SessionFixture;

/// A hook of the first family that runs this.
pub(crate) fn on(event: HookEvent, command: &str) -> HookSpec {
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

/// Writes what a hook is told to `told`, a line each, and then does this.
fn noting(then: &str) -> String {
    format!("told=$(cat); printf '%s\\n' \"$told\" >> told; {then}")
}

/// What hooks that note it were told, in order.
fn told(stage: &SessionFixture) -> Vec<Value> {
    let lines = stage.file("told").unwrap_or_default();
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// What they were told of such an event.
fn told_of(stage: &SessionFixture, event: &str) -> Vec<Value> {
    told(stage).into_iter().filter(|told| told["bosun"]["event"] == event).collect()
}

/// An agent that may do everything, with hooks of its own.
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

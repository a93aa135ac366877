//! Helpers shared by these tests.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hooks::{HookAgent, HookContext, HookEventData, HookRunner, HookRunnerConfig, HookSet, HookVerdict, ToolUse};
use host::Guardian;
use protocol::{
    Activation, Attempt, CallId, HookAction, HookDialect, HookEvent, HookFailure, HookSpec, PermissionMode, SessionId,
    TaskId, Timestamp,
};

pub(crate) fn guardian() -> Guardian {
    Guardian::new(PathBuf::from(env!("CARGO_BIN_EXE_bosun-hooks-guardian")))
}

pub(crate) fn runner(guardian: Guardian, folder: &Path) -> HookRunner {
    let env = [("PATH", "/usr/bin:/bin"), ("TOKEN", "t0p"), ("PRIVATE", "pr1")];
    let env = env.map(|(name, value)| (name.into(), value.into())).to_vec();
    let (cwd, project_root) = (folder.to_owned(), folder.to_owned());
    HookRunner::new(HookRunnerConfig {
        guardian,
        env: Arc::new(env),
        cwd,
        project_root,
        route: net::NetworkRoute::default(),
        client_hooks: None,
    })
}

pub(crate) fn command(event: HookEvent, command: &str) -> HookSpec {
    let action = HookAction::Command { command: command.into(), cwd: None, env: BTreeMap::new() };
    hook(event, action)
}

pub(crate) fn hook(event: HookEvent, action: HookAction) -> HookSpec {
    HookSpec {
        event,
        matcher: None,
        action,
        timeout_ms: 20_000,
        failure: HookFailure::Open,
        dialect: HookDialect::Snake,
        source: "test.json:1".into(),
        programs: Vec::new(),
    }
}

pub(crate) fn hook_context() -> HookContext {
    HookContext {
        session: SessionId::new("00000000000000000000000000000001".parse().unwrap()),
        cwd: "/nowhere/of/any/machine".into(),
        transcript: "/transcript.jsonl".into(),
        mode: PermissionMode::Default,
        occurred_at: Timestamp(1_800_000_000_000),
        agent: TaskId::new("00000000000000000000000000000002".parse().unwrap()),
        parent: Some(TaskId::new("00000000000000000000000000000003".parse().unwrap())),
        definition: "explore".into(),
        name: "finder".into(),
        description: "finds".into(),
        path: "/root/finder".into(),
        depth: 1,
        activation: Activation(2),
        attempt: Attempt(3),
        sequence: 44,
    }
}

pub(crate) fn call(tool: &str, input: &str) -> HookEventData {
    HookEventData::PreTool(ToolUse { id: CallId("c1".into()), tool: tool.into(), input: input.into() })
}

pub(crate) async fn run_hooks(runner: &HookRunner, specs: Vec<HookSpec>, data: &HookEventData) -> HookVerdict {
    let hooks = HookSet::new(specs);
    let event = data.event(false);
    runner.run_hooks(&hooks.matching(event, data, &agent_of("explore")), data, &hook_context()).await
}

/// An agent of this definition.
pub(crate) fn agent_of(kind: &str) -> HookAgent<'_> {
    HookAgent { definition: kind, name: "one" }
}

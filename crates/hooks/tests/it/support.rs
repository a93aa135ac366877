//! What these tests share.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hooks::{About, Agent, Hooks, Occasion, Runner, ToolUse, Verdict, Ways};
use host::Guardian;
use protocol::{
    Activation, At, Attempt, CallId, HookAction, HookDialect, HookEvent, HookFailure, HookSpec, PermissionMode,
    SessionId, TaskId,
};

pub(crate) fn guardian() -> Guardian {
    Guardian::new(PathBuf::from(env!("CARGO_BIN_EXE_bosun-hooks-guardian")))
}

pub(crate) fn runner(guardian: Guardian, folder: &Path) -> Runner {
    let env = [("PATH", "/usr/bin:/bin"), ("TOKEN", "t0p"), ("PRIVATE", "pr1")];
    let env = env.map(|(name, value)| (name.into(), value.into())).to_vec();
    let (cwd, top) = (folder.to_owned(), folder.to_owned());
    Runner::new(Ways { guardian, env: Arc::new(env), cwd, top, route: net::Route::default(), driver: None })
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

pub(crate) fn about() -> About {
    About {
        session: SessionId::new("00000000000000000000000000000001".parse().unwrap()),
        cwd: "/nowhere/of/any/machine".into(),
        transcript: "/transcript.jsonl".into(),
        mode: PermissionMode::Default,
        at: At(1_800_000_000_000),
        agent: TaskId::new("00000000000000000000000000000002".parse().unwrap()),
        parent: Some(TaskId::new("00000000000000000000000000000003".parse().unwrap())),
        kind: "explore".into(),
        name: "finder".into(),
        description: "finds".into(),
        path: "/root/finder".into(),
        depth: 1,
        activation: Activation(2),
        attempt: Attempt(3),
        sequence: 44,
    }
}

pub(crate) fn call(tool: &str, input: &str) -> Occasion {
    Occasion::PreTool(ToolUse { id: CallId("c1".into()), tool: tool.into(), input: input.into() })
}

pub(crate) async fn tell(runner: &Runner, specs: Vec<HookSpec>, occasion: &Occasion) -> Verdict {
    let hooks = Hooks::new(specs);
    let event = occasion.event(false);
    runner.tell(&hooks.on(event, occasion, &named("explore")), occasion, &about()).await
}

/// An agent of this definition.
pub(crate) fn named(kind: &str) -> Agent<'_> {
    Agent { kind, name: "one" }
}

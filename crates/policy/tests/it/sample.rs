//! Policies and requests for tests.

use std::path::PathBuf;

use bosun_policy::{AgentRole, FilesystemFacts, PermissionRequest, Policy, RequestedAct, Rule, RuleSource, Verdict};
use protocol::{PermissionMode, RuleEffect};

/// The project folder in every test.
pub(crate) const TOP: &str = "/work/app";

/// A policy of rules such as `deny shell(rm)`.
pub(crate) fn policy(mode: PermissionMode, rules: &[&str]) -> Policy {
    Policy {
        mode,
        rules: rules.iter().map(|text| rule(text)).collect(),
        project_dir: TOP.into(),
        user_home: Some("/home/ann".into()),
        control_paths: vec!["/home/ann/.bosun".into(), "/work/app/.bosun".into(), "/work/app/.mcp.json".into()],
        ..Policy::default()
    }
}

/// A rule with its effect before it.
pub(crate) fn rule(text: &str) -> Rule {
    let (effect, rule) = text.split_once(' ').unwrap();
    let effect = match effect {
        "allow" => RuleEffect::Allow,
        "ask" => RuleEffect::Ask,
        "deny" => RuleEffect::Deny,
        other => panic!("no effect: {other}"),
    };
    Rule::parse(effect, rule, RuleSource::Flag).unwrap()
}

/// A shell command that starts in the project folder.
pub(crate) fn shell(command: &str) -> PermissionRequest {
    request(
        "shell",
        RequestedAct::Shell { command: command.into(), cwd: TOP.into(), facts: FilesystemFacts::default() },
    )
}

pub(crate) fn edit(path: impl Into<PathBuf>) -> PermissionRequest {
    request("edit", RequestedAct::Edit(path.into()))
}

pub(crate) fn read(path: impl Into<PathBuf>) -> PermissionRequest {
    request("view", RequestedAct::Read(path.into()))
}

pub(crate) fn fetch(address: &str) -> PermissionRequest {
    request("web_fetch", RequestedAct::Fetch(address.into()))
}

pub(crate) fn request(tool: &str, act: RequestedAct) -> PermissionRequest {
    PermissionRequest { tool: tool.into(), acts: vec![act] }
}

/// The verdict on a request of an agent that has every tool.
pub(crate) fn check(policy: &Policy, request: &PermissionRequest) -> Verdict {
    policy.check(&AgentRole::default(), request)
}

/// Only its effect.
pub(crate) fn effect(policy: &Policy, request: &PermissionRequest) -> RuleEffect {
    check(policy, request).effect
}

//! Policies and requests for tests.

use std::path::PathBuf;

use bosun_policy::{Act, Policy, Request, Role, Rule, Seen, Source, Verdict};
use protocol::{PermissionMode, RuleEffect};

/// The project's top in every test.
pub(crate) const TOP: &str = "/work/app";

/// A policy of rules such as `deny shell(rm)`.
pub(crate) fn policy(mode: PermissionMode, rules: &[&str]) -> Policy {
    Policy {
        mode,
        rules: rules.iter().map(|text| rule(text)).collect(),
        top: TOP.into(),
        user: Some("/home/ann".into()),
        controls: vec!["/home/ann/.bosun".into(), "/work/app/.bosun".into(), "/work/app/.mcp.json".into()],
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
    Rule::parse(effect, rule, Source::Flag).unwrap()
}

/// A shell command that starts in the top.
pub(crate) fn shell(command: &str) -> Request {
    request("shell", Act::Shell { command: command.into(), cwd: TOP.into(), seen: Seen::default() })
}

pub(crate) fn edit(path: impl Into<PathBuf>) -> Request {
    request("edit", Act::Edit(path.into()))
}

pub(crate) fn read(path: impl Into<PathBuf>) -> Request {
    request("view", Act::Read(path.into()))
}

pub(crate) fn fetch(address: &str) -> Request {
    request("web_fetch", Act::Fetch(address.into()))
}

pub(crate) fn request(tool: &str, act: Act) -> Request {
    Request { tool: tool.into(), acts: vec![act] }
}

/// The verdict on a request of an agent that has every tool.
pub(crate) fn check(policy: &Policy, request: &Request) -> Verdict {
    policy.check(&Role::default(), request)
}

/// Only its effect.
pub(crate) fn effect(policy: &Policy, request: &Request) -> RuleEffect {
    check(policy, request).effect
}

//! Translates the client's command line and settings into the options of its session.

use std::num::NonZeroU32;
use std::path::PathBuf;

use protocol::{PermissionMode, RuleEffect, SessionMode, SessionOptions, SettingsFileScope, Usd, parse_usd};
use serde_json::Value;
use server::OpenRefusal;

use super::args::ClaudeArgs;
use super::client_setup::ClientSetup;
use super::initialize::InitializeRequest;
use super::mode::ClaudePermissionMode;
use super::open_request::{managed_policy, read_settings, refusal};
use super::{agents, rules};
use crate::effort::bosun_effort;
use crate::managed;

/// The options of the client's session.
pub(super) fn session_options(
    args: &ClaudeArgs,
    initialize: &InitializeRequest,
    setup: &ClientSetup,
) -> Result<SessionOptions, OpenRefusal> {
    let managed = managed_policy(args, initialize)?;
    let mode = ClaudePermissionMode::parse(args.permission_mode.as_deref().unwrap_or_default()).unwrap_or_default();
    if managed.forbids_bypass && mode == ClaudePermissionMode::Bypass {
        return Err(managed::refusal("managed settings forbid the permission mode bypassPermissions".into()));
    }
    let (servers, tools) = (setup.servers.connected(), setup.servers.tool_names());
    let servers: Vec<&str> = servers.iter().map(String::as_str).collect();
    let agents =
        agents::agents_option(&initialize.request["agents"], &servers, &tools).map_err(|why| refusal(why, ""))?;
    let (permission, mode) = modes(mode);
    let mut options = SessionOptions {
        model: args.model.as_deref().and_then(qualified_model).map(str::to_owned),
        max_turns: args.max_turns.as_deref().map(parse_turns).transpose()?,
        max_budget_usd: args.max_budget_usd.as_deref().map(parse_budget).transpose()?,
        effort: args.effort.as_deref().and_then(bosun_effort),
        permission,
        mode,
        agent: args.agent.clone(),
        add_dirs: args.add_dirs.iter().map(PathBuf::from).collect(),
        plugin_dirs: args.plugin_dirs.iter().map(PathBuf::from).collect(),
        agents_source: args.agents.clone().filter(|_| agents.is_none()),
        agents,
        setting_sources: args.setting_sources.as_deref().map(parse_sources).transpose()?,
        only_these_mcp_servers: args.strict_mcp_config,
        ..SessionOptions::default()
    };
    setup.configs.apply(&mut options);
    add_rules(&mut options, RuleEffect::Allow, &args.allowed)?;
    add_rules(&mut options, RuleEffect::Deny, &args.disallowed)?;
    add_rules(&mut options, RuleEffect::Deny, &managed.deny)?;
    add_rules(&mut options, RuleEffect::Ask, &managed.ask)?;
    if let Some(wanted) = &args.tools {
        options.deny.extend(rules::excluded_tools(wanted));
    }
    if let Some(settings) = &args.settings {
        let settings = read_settings(settings, "--settings")?;
        managed::expect_no_sandbox(&settings)?;
        add_settings(&mut options, &settings)?;
    }
    Ok(options)
}

/// A model name with a provider. `None` for a bare name such as `sonnet`, which means the configured model.
pub(super) fn qualified_model(name: &str) -> Option<&str> {
    name.contains('/').then_some(name)
}

fn modes(mode: ClaudePermissionMode) -> (Option<PermissionMode>, Option<SessionMode>) {
    match mode {
        ClaudePermissionMode::Default | ClaudePermissionMode::DontAsk => (Some(PermissionMode::Default), None),
        ClaudePermissionMode::AcceptEdits => (Some(PermissionMode::AcceptEdits), None),
        ClaudePermissionMode::Bypass => (Some(PermissionMode::AllowAll), None),
        ClaudePermissionMode::Plan => (None, Some(SessionMode::Plan)),
    }
}

fn parse_turns(text: &str) -> Result<NonZeroU32, OpenRefusal> {
    text.parse().map_err(|_not_one| refusal(format!("--max-turns is not a whole number above 0: {text}"), ""))
}

fn parse_budget(text: &str) -> Result<Usd, OpenRefusal> {
    match parse_usd(text) {
        Ok(0) => Err(refusal("--max-budget-usd is 0".into(), "leave it out for no limit")),
        Ok(micros) => Ok(Usd(micros)),
        Err(why) => Err(refusal(format!("--max-budget-usd: {why}"), "")),
    }
}

/// Reads a list of settings files; an empty one means none.
fn parse_sources(text: &str) -> Result<Vec<SettingsFileScope>, OpenRefusal> {
    let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
    let scope = |name| {
        let known = SettingsFileScope::ALL.map(SettingsFileScope::as_str).join(", ");
        let unknown = || refusal(format!("--setting-sources: unknown source `{name}`"), &format!("use {known}"));
        SettingsFileScope::from_name(name).ok_or_else(unknown)
    };
    names.map(scope).collect()
}

/// Adds Claude permission rules. An invalid ask or deny rule is an error: it could have stopped a call.
fn add_rules(options: &mut SessionOptions, effect: RuleEffect, texts: &[String]) -> Result<(), OpenRefusal> {
    let rules = match effect {
        RuleEffect::Allow => &mut options.allow,
        RuleEffect::Ask => &mut options.ask,
        RuleEffect::Deny => &mut options.deny,
    };
    for text in texts {
        match rules::translate_rule(effect, text) {
            Some(rule) => rules.push(rule),
            None if effect == RuleEffect::Allow => {}
            None => return Err(refusal(format!("invalid permission rule `{text}`"), "")),
        }
    }
    Ok(())
}

/// Adds the permissions of Claude settings; all other settings are ignored.
fn add_settings(options: &mut SessionOptions, settings: &Value) -> Result<(), OpenRefusal> {
    let permissions = &settings["permissions"];
    let texts = |key: &str| -> Vec<String> {
        let list = permissions[key].as_array().map_or(&[][..], Vec::as_slice);
        list.iter().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    add_rules(options, RuleEffect::Allow, &texts("allow"))?;
    add_rules(options, RuleEffect::Ask, &texts("ask"))?;
    add_rules(options, RuleEffect::Deny, &texts("deny"))?;
    options.add_dirs.extend(texts("additionalDirectories").into_iter().map(PathBuf::from));
    Ok(())
}

#[cfg(test)]
mod tests {
    use protocol::ReasoningEffort;

    use super::*;

    fn read(line: &[&str]) -> Result<SessionOptions, OpenRefusal> {
        let args = ClaudeArgs::parse(line.iter().map(|arg| (*arg).to_owned()).collect());
        let setup = ClientSetup { configs: Default::default(), servers: Default::default(), structured: None };
        session_options(&args, &InitializeRequest::default(), &setup)
    }

    #[test]
    fn claude_flags_become_session_options() {
        let options = read(&[
            "--model=sonnet",
            "--permission-mode=bypassPermissions",
            "--allowedTools=Read,Bash(git *)",
            "--disallowedTools=WebFetch",
            "--effort=max",
            "--max-turns",
            "5",
            "--max-budget-usd=0.5",
            "--add-dir=/d",
            "--setting-sources=",
            "--settings",
            r#"{"permissions":{"deny":["Bash(rm *)"],"additionalDirectories":["/e"]},"sandbox":{}}"#,
        ]);
        let expected = SessionOptions {
            max_turns: NonZeroU32::new(5),
            max_budget_usd: Some(Usd(500_000)),
            effort: Some(ReasoningEffort::High),
            permission: Some(PermissionMode::AllowAll),
            allow: vec!["read".into(), "shell(git *)".into()],
            deny: vec!["fetch".into(), "shell(rm *)".into()],
            add_dirs: vec!["/d".into(), "/e".into()],
            setting_sources: Some(Vec::new()),
            ..SessionOptions::default()
        };
        assert_eq!(options.unwrap(), expected);
        assert_eq!(read(&["--model", "script/a.yaml"]).unwrap().model.as_deref(), Some("script/a.yaml"));
        let sources = read(&["--setting-sources=user,local"]).unwrap().setting_sources;
        assert_eq!(sources, Some(vec![SettingsFileScope::User, SettingsFileScope::Local]));
    }

    #[test]
    fn invalid_values_are_refused_by_the_name_of_their_flag() {
        let refused = |line: &[&str]| read(line).unwrap_err().to_string();
        assert_eq!(refused(&["--max-turns=0"]), "--max-turns is not a whole number above 0: 0");
        assert_eq!(refused(&["--max-budget-usd=0"]), "--max-budget-usd is 0 (leave it out for no limit)");
        assert_eq!(
            refused(&["--setting-sources=all"]),
            "--setting-sources: unknown source `all` (use user, project, local)"
        );
    }
}

//! Translates the client's command line and settings into the options of its session.

use std::num::{NonZeroU32, NonZeroU64};
use std::path::PathBuf;

use protocol::{
    PermissionMode, ReasoningEffort, RuleEffect, SessionMode, SessionOptions, SettingsFileScope, Usd, parse_usd,
};
use serde_json::Value;
use server::OpenRefusal;

use super::args::ClaudeArgs;
use super::client_setup::ClientSetup;
use super::initialize::InitializeRequest;
use super::mode::ClaudePermissionMode;
use super::open_request::{managed_policy, refusal};
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
    let settings = &setup.settings.flag;
    let mode = requested_mode(args, settings)?;
    if (managed.forbids_bypass || setup.settings.forbids_bypass()) && mode == ClaudePermissionMode::Bypass {
        return Err(managed::refusal("managed settings forbid the permission mode bypassPermissions".into()));
    }
    let (servers, tools) = (setup.servers.connected(), setup.servers.tool_names());
    let servers: Vec<&str> = servers.iter().map(String::as_str).collect();
    let agents =
        agents::agents_option(&initialize.request["agents"], &servers, &tools).map_err(|why| refusal(why, ""))?;
    let (permission, mode) = modes(mode);
    let sources = args.setting_sources.as_deref().map(parse_sources).transpose()?;
    let mut options = SessionOptions {
        model: setup.model.clone(),
        max_turns: args.max_turns.as_deref().map(parse_turns).transpose()?,
        max_budget_usd: args.max_budget_usd.as_deref().map(parse_budget).transpose()?,
        max_tokens: args.task_budget.as_deref().map(parse_tokens).transpose()?,
        effort: effort(args)?,
        permission,
        mode,
        agent: args.agent.clone(),
        add_dirs: args.add_dirs.iter().map(PathBuf::from).collect(),
        plugin_dirs: args.plugin_dirs.iter().map(PathBuf::from).collect(),
        agents_source: args.agents.clone().filter(|_| agents.is_none()),
        agents,
        // A program that names the project's settings wants its agents, skills and commands.
        untrusted_definitions: sources.as_ref().is_some_and(|it| it.contains(&SettingsFileScope::Project)),
        setting_sources: sources,
        ask_outside_workspace: true,
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
    add_settings(&mut options, settings)?;
    let users = &setup.settings.user["permissions"];
    add_rules(&mut options, RuleEffect::Ask, &texts(users, "ask"))?;
    add_rules(&mut options, RuleEffect::Deny, &texts(users, "deny"))?;
    Ok(options)
}

/// The permission mode of the command line, else that of the settings.
pub(super) fn requested_mode(args: &ClaudeArgs, settings: &Value) -> Result<ClaudePermissionMode, OpenRefusal> {
    let stated = args.permission_mode.as_deref().or_else(|| settings["permissions"]["defaultMode"].as_str());
    let Some(name) = stated else { return Ok(ClaudePermissionMode::default()) };
    let unknown = || {
        let known = ClaudePermissionMode::names().collect::<Vec<_>>().join(", ");
        refusal(format!("unknown permission mode `{name}`"), &format!("use {known}"))
    };
    ClaudePermissionMode::parse(name).ok_or_else(unknown)
}

/// The reasoning effort: as stated, else that which is nearest to the number of thinking tokens.
pub(super) fn effort(args: &ClaudeArgs) -> Result<Option<ReasoningEffort>, OpenRefusal> {
    if let Some(text) = &args.effort {
        let unknown = || refusal(format!("--effort: unknown effort `{text}`"), "use low, medium, high, xhigh or max");
        return bosun_effort(text).map(Some).ok_or_else(unknown);
    }
    match (args.thinking.as_deref(), args.max_thinking_tokens.as_deref()) {
        (Some("disabled"), _) => Ok(None),
        (Some("adaptive" | "enabled") | None, Some(tokens)) => {
            let tokens: u32 = tokens.parse().map_err(|_not_a_number| {
                refusal(format!("--max-thinking-tokens is not a whole number: {tokens}"), "")
            })?;
            Ok(effort_of_tokens(tokens))
        }
        (Some("adaptive" | "enabled"), None) => Ok(Some(ReasoningEffort::Medium)),
        (None, None) => Ok(None),
        (Some(other), _) => Err(refusal(format!("--thinking: unknown value `{other}`"), "use adaptive or disabled")),
    }
}

/// The effort whose number of thinking tokens is nearest; none for 0.
pub(super) fn effort_of_tokens(tokens: u32) -> Option<ReasoningEffort> {
    match tokens {
        0 => None,
        1..=4_096 => Some(ReasoningEffort::Low),
        4_097..=16_384 => Some(ReasoningEffort::Medium),
        _more => Some(ReasoningEffort::High),
    }
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

fn parse_tokens(text: &str) -> Result<NonZeroU64, OpenRefusal> {
    text.parse().map_err(|_not_one| refusal(format!("--task-budget is not a whole number above 0: {text}"), ""))
}

/// Reads a list of settings files; an empty one means none.
pub(super) fn parse_sources(text: &str) -> Result<Vec<SettingsFileScope>, OpenRefusal> {
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

/// Adds the permissions of Claude settings.
fn add_settings(options: &mut SessionOptions, settings: &Value) -> Result<(), OpenRefusal> {
    let permissions = &settings["permissions"];
    add_rules(options, RuleEffect::Allow, &texts(permissions, "allow"))?;
    add_rules(options, RuleEffect::Ask, &texts(permissions, "ask"))?;
    add_rules(options, RuleEffect::Deny, &texts(permissions, "deny"))?;
    options.add_dirs.extend(texts(permissions, "additionalDirectories").into_iter().map(PathBuf::from));
    Ok(())
}

fn texts(permissions: &Value, key: &str) -> Vec<String> {
    let list = permissions[key].as_array().map_or(&[][..], Vec::as_slice);
    list.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::super::open_request::read_settings;
    use super::super::settings_files::ClaudeSettings;
    use super::*;

    fn read(line: &[&str]) -> Result<SessionOptions, OpenRefusal> {
        let args = ClaudeArgs::parse(line.iter().map(|arg| (*arg).to_owned()).collect());
        let flag = args.settings.as_deref().map(|text| read_settings(text, "settings")).transpose()?;
        let settings = ClaudeSettings { flag: flag.unwrap_or_default(), ..ClaudeSettings::default() };
        let setup = ClientSetup { settings, model: args.model.clone(), ..ClientSetup::default() };
        session_options(&args, &InitializeRequest::default(), &setup)
    }

    #[test]
    fn claude_flags_become_session_options() {
        let options = read(&[
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
            ask_outside_workspace: true,
            ..SessionOptions::default()
        };
        assert_eq!(options.unwrap(), expected);
        assert_eq!(read(&["--model", "script/a.yaml"]).unwrap().model.as_deref(), Some("script/a.yaml"));
        let of_sources = |text: &str| {
            let options = read(&[text]).unwrap();
            (options.setting_sources, options.untrusted_definitions)
        };
        let own = Some(vec![SettingsFileScope::User, SettingsFileScope::Local]);
        assert_eq!(of_sources("--setting-sources=user,local"), (own, false));
        assert_eq!(of_sources("--setting-sources=project"), (Some(vec![SettingsFileScope::Project]), true));
    }

    #[test]
    fn thinking_becomes_the_nearest_effort() {
        let effort = |line: &[&str]| read(line).unwrap().effort;
        assert_eq!(effort(&[]), None);
        assert_eq!(effort(&["--thinking=disabled", "--max-thinking-tokens=9000"]), None);
        assert_eq!(effort(&["--thinking", "adaptive"]), Some(ReasoningEffort::Medium));
        for (tokens, expected) in [
            ("0", None),
            ("1024", Some(ReasoningEffort::Low)),
            ("8000", Some(ReasoningEffort::Medium)),
            ("32000", Some(ReasoningEffort::High)),
        ] {
            assert_eq!(effort(&["--max-thinking-tokens", tokens]), expected);
        }
        assert_eq!(effort(&["--effort=low", "--max-thinking-tokens=32000"]), Some(ReasoningEffort::Low));
    }

    #[test]
    fn the_mode_of_the_settings_applies_unless_a_flag_names_another() {
        let settings = r#"{"permissions":{"defaultMode":"acceptEdits"}}"#;
        let permission = |line: &[&str]| read(line).unwrap().permission;
        assert_eq!(permission(&["--settings", settings]), Some(PermissionMode::AcceptEdits));
        assert_eq!(permission(&["--settings", settings, "--permission-mode=default"]), Some(PermissionMode::Default));
        let forbids = r#"{"permissions":{"disableBypassPermissionsMode":"disable"}}"#;
        assert!(read(&["--settings", forbids, "--permission-mode=bypassPermissions"]).is_err());
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
        assert_eq!(
            refused(&["--permission-mode=free"]),
            "unknown permission mode `free` (use default, acceptEdits, plan, bypassPermissions, dontAsk)"
        );
        assert_eq!(refused(&["--effort=7"]), "--effort: unknown effort `7` (use low, medium, high, xhigh or max)");
        assert_eq!(refused(&["--thinking=deep"]), "--thinking: unknown value `deep` (use adaptive or disabled)");
        assert_eq!(refused(&["--max-thinking-tokens=x"]), "--max-thinking-tokens is not a whole number: x");
    }
}

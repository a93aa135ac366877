//! Translates the client's permission rules and tool names into Bosun's.

use policy::{Rule, RuleSource};
use protocol::{HookDialect, RULE_FAMILIES, RuleEffect, TOOLS, ToolEntry, ToolGroup};

/// Translates a rule of the client; `None` if it is not valid.
pub(crate) fn translate_rule(effect: RuleEffect, text: &str) -> Option<String> {
    let (name, pattern) = match text.split_once('(') {
        Some((name, rest)) => (name.trim(), Some(rest)),
        None => (text.trim(), None),
    };
    let rule_text = match (is_tool_family(name), pattern, effect) {
        (true, _, _) => text.to_owned(),
        (false, None, RuleEffect::Allow) if is_server(name) => format!("{name}__*"),
        (false, _, RuleEffect::Ask | RuleEffect::Deny) if is_server(name) => {
            protocol::mcp_name_pattern(&format!("{name}__*"))
        }
        // Only tool families support patterns. A rule that cannot be translated exactly becomes stricter: one that
        // denies or asks about some calls of a tool applies to all of them, and one that allows some allows none.
        (false, _, RuleEffect::Ask | RuleEffect::Deny) if name.starts_with("mcp__") => protocol::mcp_name_pattern(name),
        (false, None, _) | (false, Some(_), RuleEffect::Ask | RuleEffect::Deny) => {
            hooks::tool_names::own_tool_name(name, HookDialect::Snake).to_owned()
        }
        (false, Some(_), RuleEffect::Allow) => return None,
    };
    match (Rule::parse(effect, &rule_text, RuleSource::Flag), pattern, effect) {
        (Ok(rule), _, _) => Some(rule.text),
        (Err(_), Some(_), RuleEffect::Ask | RuleEffect::Deny) => translate_rule(effect, name),
        (Err(error), _, _) => {
            tracing::warn!(%error, "ignoring an invalid rule of the client");
            None
        }
    }
}

/// Whether Bosun's rules accept this Claude name as it is.
fn is_tool_family(name: &str) -> bool {
    RULE_FAMILIES.iter().any(|family| family.claude.contains(&name))
}

/// Whether a name stands for all tools of an MCP server.
fn is_server(name: &str) -> bool {
    name.strip_prefix("mcp__").is_some_and(|server| !server.contains("__") && !server.ends_with('*'))
}

/// The tools that are excluded when only these are wanted.
pub(super) fn excluded_tools(wanted: &[String]) -> Vec<String> {
    let is_wanted = |tool: &ToolEntry| {
        wanted.iter().any(|name| {
            tool.bundles.contains(&name.as_str())
                || hooks::tool_names::own_tool_name(name, HookDialect::Snake) == tool.name
        })
    };
    excludable_tools().filter(|tool| !is_wanted(tool)).map(|tool| tool.name.to_owned()).collect()
}

/// Every tool of Bosun that a client can exclude: all but those of a mode.
fn excludable_tools() -> impl Iterator<Item = &'static ToolEntry> {
    TOOLS.iter().filter(|tool| tool.is_listable() || tool.group == ToolGroup::Search)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claude_rules_become_bosun_rules() {
        let allow = |text| translate_rule(RuleEffect::Allow, text);
        assert_eq!(allow("Bash(git *)").as_deref(), Some("shell(git *)"));
        assert_eq!(allow("mcp__calc__add").as_deref(), Some("mcp__calc__add"));
        assert_eq!(allow("mcp__calc").as_deref(), Some("mcp__calc__*"));
        assert_eq!(allow("mcp__calc__*").as_deref(), Some("mcp__calc__*"));
        assert_eq!(allow("Skill(pdf)"), None, "allowing one skill must not allow all");
        assert_eq!(allow("AskUserQuestion").as_deref(), Some("ask_user"));
        assert_eq!(allow("Bash(a"), None);
        assert_eq!(translate_rule(RuleEffect::Deny, "WebFetch").as_deref(), Some("fetch"));
        for text in ["Skill(pdf)", "Bash(a"] {
            assert!(
                translate_rule(RuleEffect::Deny, text).is_some_and(|rule| !rule.contains('(')),
                "the denial was lost: {text}"
            );
        }
        let (server, tool) = ("the.house's server", "a-tool-with-a-name-that-no-provider-would-take-in-full");
        let name = protocol::mcp_tool_name(server, tool);
        for text in [format!("mcp__{server}__{tool}"), format!("mcp__{server}"), format!("mcp__{server}__{tool}(x)")] {
            let denied = translate_rule(RuleEffect::Deny, &text).unwrap();
            assert!(name.starts_with(denied.strip_suffix('*').unwrap()), "the denial was lost: {denied}");
        }
    }

    #[test]
    fn unwanted_tools_are_excluded() {
        let wanted = |names: &[&str]| -> Vec<&str> {
            let excluded = excluded_tools(&names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>());
            let all = excludable_tools().map(|tool| tool.name);
            all.filter(|tool| !excluded.iter().any(|excluded| excluded == tool)).collect()
        };
        let commands = ["view", "shell", "read_shell", "stop_shell", "list_shells", "until"];
        assert_eq!(wanted(&["Read", "Bash"]), commands);
        assert_eq!(wanted(&["Edit", "Skill"]), ["edit", "apply_patch", "skill"]);
        let agents = ["task", "read_agent", "write_agent", "list_agents", "stop_agent", "wait"];
        assert_eq!((wanted(&["Agent"]), wanted(&["Task"])), (agents.to_vec(), agents.to_vec()));
        assert_eq!(wanted(&["TodoWrite"]), ["sql", "TaskCreate", "TaskGet", "TaskList", "TaskUpdate"]);
        assert!(wanted(&[]).is_empty());
    }
}

//! The tools an agent may use and the agents it may start, as its definition states them.

use protocol::{MCP_TOOL_PREFIX, PermissionMode, SpawnPolicy, mcp_name_pattern, tool_name};

use super::fields::DefinitionFields;
use super::name::normalize_or_trim;
use super::tool_names::{ToolNameMeaning, resolve_tool_name};

/// A parsed list of tools.
#[derive(Default)]
pub(super) struct ToolList {
    /// Bosun's tools; `None` for all.
    pub(super) tools: Option<Vec<String>>,
    /// The agent types that it may start, if the list names them.
    pub(super) agent_types: Option<Vec<String>>,
}

/// Reads the list of an agent with these MCP servers.
pub(super) fn read_tools(fields: &mut DefinitionFields<'_>, servers: &[String]) -> ToolList {
    let Some(listed) = fields.texts(&["tools"]) else { return ToolList::default() };
    let mut list = ToolList { tools: Some(Vec::new()), ..ToolList::default() };
    let mut all = false;
    for (name, at) in listed {
        let mut add = |ours: &[&str]| list.tools = Some(join_unique(list.tools.take().unwrap_or_default(), ours));
        let is_of_own = name.split_once(['/', '.']).is_some_and(|(server, _)| servers.iter().any(|it| it == server));
        let meaning = if is_of_own { ToolNameMeaning::OfMcpServer } else { resolve_tool_name(&name) };
        match meaning {
            ToolNameMeaning::All => all = true,
            ToolNameMeaning::BuiltIn(ours) => add(ours),
            ToolNameMeaning::Agents(types) => {
                add(&[tool_name::TASK]);
                list.agent_types.get_or_insert_default().extend(types.iter().map(|name| normalize_or_trim(name)));
            }
            ToolNameMeaning::OfMcpServer => add(&[&server_tool_name(&name)]),
            ToolNameMeaning::NotInBosun => {
                let message = format!("the tool `{name}` is not supported in this version");
                fields.warning(at, message, "leave it out; the agent works without it");
            }
            ToolNameMeaning::Pattern(word) => {
                let message = format!("`{name}` has a pattern, but a list of tools takes only names");
                fields.error(at, message, format!("write `{word}`, and put a rule for the pattern into `permissions`"));
            }
            ToolNameMeaning::Unknown(near) => {
                fields.warning(at, format!("there is no tool `{name}`"), suggestion(near))
            }
        }
    }
    if all {
        list.tools = None;
    }
    list
}

impl ToolList {
    /// The tools, with all of those of these MCP servers of which the list names none.
    pub(super) fn with_servers(self, servers: &[String]) -> Option<Vec<String>> {
        let tools = self.tools?;
        let all_of = |server: &String| server_tool_name(&format!("{server}/*"));
        let is_unlisted =
            |name: &String| !tools.iter().any(|tool| tool.starts_with(name.strip_suffix('*').unwrap_or(name)));
        let names: Vec<String> = servers.iter().map(all_of).filter(is_unlisted).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        Some(join_unique(tools, &names))
    }
}

/// The name of a tool of an MCP server, which files write as `mcp__server__tool`, `server/tool` or `server.tool`; all
/// tools of the server if only that is named, or `*`.
fn server_tool_name(written: &str) -> String {
    let name = match (written.strip_prefix(MCP_TOOL_PREFIX), written.split_once(['/', '.'])) {
        (Some("*"), _) => written.to_owned(),
        (Some(rest), _) if !rest.contains("__") => format!("{written}__*"),
        (Some(_), _) | (None, None) => written.to_owned(),
        (None, Some((server, tool))) => format!("{MCP_TOOL_PREFIX}{server}__{tool}"),
    };
    mcp_name_pattern(&name)
}

/// Tools that the agent may not have. An unknown name is an error: the tool it was meant to forbid would be allowed.
pub(super) fn read_denied_tools(fields: &mut DefinitionFields<'_>) -> Vec<String> {
    let mut denied: Vec<String> = Vec::new();
    for (name, at) in fields.texts(&["disallowed-tools", "denied-tools"]).unwrap_or_default() {
        match resolve_tool_name(&name) {
            ToolNameMeaning::BuiltIn(ours) => denied = join_unique(denied, ours),
            ToolNameMeaning::Agents(_) | ToolNameMeaning::Pattern(_) => {
                let message = format!("`{name}` forbids only some calls of a tool, but this list forbids whole tools");
                fields.error(at, message, "write a deny rule into `permissions`");
            }
            ToolNameMeaning::All => {
                fields.error(at, "every tool is forbidden", "write `tools: []` for an agent without tools")
            }
            ToolNameMeaning::OfMcpServer => denied = join_unique(denied, &[&server_tool_name(&name)]),
            ToolNameMeaning::NotInBosun => {}
            ToolNameMeaning::Unknown(near) => {
                fields.error(at, format!("there is no tool `{name}` to forbid"), suggestion(near));
            }
        }
    }
    denied
}

/// Adds the names that are not in the list yet.
fn join_unique(mut known: Vec<String>, more: &[&str]) -> Vec<String> {
    for name in more {
        if !known.iter().any(|one| one == name) {
            known.push((*name).to_owned());
        }
    }
    known
}

fn suggestion(near: Option<&str>) -> String {
    match near {
        Some(near) => format!("did you mean `{near}`?"),
        None => "use view, edit, create, grep, glob, shell, web_fetch, sql, task or skill".into(),
    }
}

/// The agents that an agent may start: those that its definition states; else all if it has the tool `task`, and none
/// in plan mode.
pub(super) fn spawn_policy(
    tools: Option<&[String]>,
    denied: &[String],
    permission: Option<PermissionMode>,
    stated: Option<Vec<String>>,
) -> SpawnPolicy {
    let has_task = tools.is_none_or(|tools| tools.iter().any(|tool| tool == tool_name::TASK));
    if !has_task || denied.iter().any(|tool| tool == tool_name::TASK) {
        return SpawnPolicy::None;
    }
    match stated {
        Some(names) if names.iter().any(|name| name == "*") => SpawnPolicy::Any,
        Some(names) if names.is_empty() => SpawnPolicy::None,
        Some(names) => SpawnPolicy::Only(names),
        None if permission == Some(PermissionMode::Plan) => SpawnPolicy::None,
        None => SpawnPolicy::Any,
    }
}

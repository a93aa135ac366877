//! What an agent may use and whom it may start, as its definition says it.

use protocol::{DefinitionSource, PermissionMode, SpawnPolicy};

use super::fields::DefinitionFields;
use super::name::loose;
use super::tool_names::{ToolNameMeaning, resolve_tool_name};

/// What a list of tools says.
#[derive(Default)]
pub(super) struct ToolList {
    pub(super) tools: Option<Vec<String>>,
    /// The types of agents that it may start, if the list names them.
    pub(super) only: Option<Vec<String>>,
    /// The tools of MCP servers that it names.
    pub(super) servers: Vec<String>,
}

pub(super) fn tools(fields: &mut DefinitionFields<'_>) -> ToolList {
    let Some(listed) = fields.texts(&["tools"]) else { return ToolList::default() };
    let mut read = ToolList { tools: Some(Vec::new()), ..ToolList::default() };
    let mut all = false;
    for (name, at) in listed {
        let mut add = |ours: &[&str]| read.tools = Some(joined(read.tools.take().unwrap_or_default(), ours));
        match resolve_tool_name(&name) {
            ToolNameMeaning::All => all = true,
            ToolNameMeaning::BuiltIn(ours) => add(ours),
            ToolNameMeaning::Agents(types) => {
                add(&["task"]);
                read.only.get_or_insert_default().extend(types.iter().map(|name| loose(name)));
            }
            ToolNameMeaning::Server => read.servers.push(name),
            ToolNameMeaning::Absent => {
                let words = format!("the tool `{name}` is not in this version");
                fields.warning(at, words, "leave it out; the agent works without it");
            }
            ToolNameMeaning::Pattern(word) => {
                let words = format!("`{name}` is a tool with a pattern, and a list of tools has no patterns");
                fields.error(at, words, format!("write `{word}`, and a rule for the rest into `permissions`"));
            }
            ToolNameMeaning::Unknown(near) => fields.warning(at, format!("there is no tool `{name}`"), probably(near)),
        }
    }
    if all {
        read.tools = None;
    }
    read
}

impl ToolList {
    /// The list with what servers have to give, and what of it the agent has to do without. A program that gives
    /// definitions brings the tools of its servers along; a file does not.
    pub(super) fn with_servers(self, source: &DefinitionSource) -> (Option<Vec<String>>, Vec<String>) {
        let ToolList { tools, servers, .. } = self;
        let later = |name: &String| format!("the tool `{name}` is an MCP server's, and MCP comes with a later version");
        match (source, tools) {
            (DefinitionSource::Flag, Some(tools)) => (Some(tools.into_iter().chain(servers).collect()), Vec::new()),
            (_, tools) => (tools, servers.iter().map(later).collect()),
        }
    }
}

/// Tools that it may not have. One that nobody knows is an error: what it was to forbid would be allowed.
pub(super) fn denied(fields: &mut DefinitionFields<'_>) -> Vec<String> {
    let mut denied: Vec<String> = Vec::new();
    for (name, at) in fields.texts(&["disallowed-tools", "denied-tools"]).unwrap_or_default() {
        match resolve_tool_name(&name) {
            ToolNameMeaning::BuiltIn(ours) => denied = joined(denied, ours),
            ToolNameMeaning::Agents(_) | ToolNameMeaning::Pattern(_) => {
                let words = format!("`{name}` forbids only some calls of a tool, and this list forbids whole tools");
                fields.error(at, words, "write a deny rule into `permissions`");
            }
            ToolNameMeaning::All => {
                fields.error(at, "every tool is forbidden", "write `tools: []` for an agent without tools")
            }
            ToolNameMeaning::Server | ToolNameMeaning::Absent => {}
            ToolNameMeaning::Unknown(near) => {
                fields.error(at, format!("there is no tool `{name}` that could be forbidden"), probably(near));
            }
        }
    }
    denied
}

/// A list of names with these that are not in it yet.
fn joined(mut known: Vec<String>, more: &[&str]) -> Vec<String> {
    for name in more {
        if !known.iter().any(|one| one == name) {
            known.push((*name).to_owned());
        }
    }
    known
}

fn probably(near: Option<&str>) -> String {
    match near {
        Some(near) => format!("did you mean `{near}`?"),
        None => "use view, edit, create, grep, glob, shell, web_fetch, sql, task or skill".into(),
    }
}

/// Whom it may start: what it says itself; else anybody if it has every tool or `task`, and nobody if it only looks.
pub(super) fn spawns(
    tools: Option<&[String]>,
    denied: &[String],
    permission: Option<PermissionMode>,
    stated: Option<Vec<String>>,
) -> SpawnPolicy {
    let has_task = tools.is_none_or(|tools| tools.iter().any(|tool| tool == "task"));
    if !has_task || denied.iter().any(|tool| tool == "task") {
        return SpawnPolicy::Nobody;
    }
    match stated {
        Some(names) if names.iter().any(|name| name == "*") => SpawnPolicy::Anybody,
        Some(names) if names.is_empty() => SpawnPolicy::Nobody,
        Some(names) => SpawnPolicy::Only(names),
        None if permission == Some(PermissionMode::Plan) => SpawnPolicy::Nobody,
        None => SpawnPolicy::Anybody,
    }
}

//! What an agent may use and whom it may start, as its definition says it.

use protocol::{PermissionMode, Source, Spawns};

use super::fields::Fields;
use super::name::loose;
use super::tool_names::{Meant, meant};

/// What a list of tools says.
#[derive(Default)]
pub(super) struct Tools {
    pub(super) tools: Option<Vec<String>>,
    /// The types of agents that it may start, if the list names them.
    pub(super) only: Option<Vec<String>>,
    /// The tools of MCP servers that it names.
    pub(super) servers: Vec<String>,
}

pub(super) fn tools(fields: &mut Fields<'_>) -> Tools {
    let Some(listed) = fields.texts(&["tools"]) else { return Tools::default() };
    let mut read = Tools { tools: Some(Vec::new()), ..Tools::default() };
    let mut all = false;
    for (name, at) in listed {
        let mut add = |ours: &[&str]| read.tools = Some(joined(read.tools.take().unwrap_or_default(), ours));
        match meant(&name) {
            Meant::All => all = true,
            Meant::Ours(ours) => add(ours),
            Meant::Agents(types) => {
                add(&["task"]);
                read.only.get_or_insert_default().extend(types.iter().map(|name| loose(name)));
            }
            Meant::Server => read.servers.push(name),
            Meant::Absent => {
                let words = format!("the tool `{name}` is not in this version");
                fields.warning(at, words, "leave it out; the agent works without it");
            }
            Meant::Pattern(word) => {
                let words = format!("`{name}` is a tool with a pattern, and a list of tools has no patterns");
                fields.error(at, words, format!("write `{word}`, and a rule for the rest into `permissions`"));
            }
            Meant::Unknown(near) => fields.warning(at, format!("there is no tool `{name}`"), probably(near)),
        }
    }
    if all {
        read.tools = None;
    }
    read
}

impl Tools {
    /// The list with what servers have to give, and what of it the agent has to do without. A program that gives
    /// definitions brings the tools of its servers along; a file does not.
    pub(super) fn served(self, source: &Source) -> (Option<Vec<String>>, Vec<String>) {
        let Tools { tools, servers, .. } = self;
        let later = |name: &String| format!("the tool `{name}` is an MCP server's, and MCP comes with a later version");
        match (source, tools) {
            (Source::Flag, Some(tools)) => (Some(tools.into_iter().chain(servers).collect()), Vec::new()),
            (_, tools) => (tools, servers.iter().map(later).collect()),
        }
    }
}

/// Tools that it may not have. One that nobody knows is an error: what it was to forbid would be allowed.
pub(super) fn denied(fields: &mut Fields<'_>) -> Vec<String> {
    let mut denied: Vec<String> = Vec::new();
    for (name, at) in fields.texts(&["disallowed-tools", "denied-tools"]).unwrap_or_default() {
        match meant(&name) {
            Meant::Ours(ours) => denied = joined(denied, ours),
            Meant::Agents(_) | Meant::Pattern(_) => {
                let words = format!("`{name}` forbids only some calls of a tool, and this list forbids whole tools");
                fields.error(at, words, "write a deny rule into `permissions`");
            }
            Meant::All => fields.error(at, "every tool is forbidden", "write `tools: []` for an agent without tools"),
            Meant::Server | Meant::Absent => {}
            Meant::Unknown(near) => {
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
) -> Spawns {
    let has_task = tools.is_none_or(|tools| tools.iter().any(|tool| tool == "task"));
    if !has_task || denied.iter().any(|tool| tool == "task") {
        return Spawns::Nobody;
    }
    match stated {
        Some(names) if names.iter().any(|name| name == "*") => Spawns::Anybody,
        Some(names) if names.is_empty() => Spawns::Nobody,
        Some(names) => Spawns::Only(names),
        None if permission == Some(PermissionMode::Plan) => Spawns::Nobody,
        None => Spawns::Anybody,
    }
}

//! The tools that need more than their type: a description that depends on the session, or a user.

use std::borrow::Cow;
use std::sync::Arc;

use crate::Tool;
use crate::args::{TypedTool, typed_tool, typed_tool_with_description};
use crate::builtin::AskUser;
use crate::subagents::{LoadSkill, StartTask, ToolSearch};

/// The tool that starts agents of these types, each with a line on when to use it.
pub fn task(types: &[(String, String)]) -> Arc<dyn Tool> {
    typed_tool_with_description::<StartTask>(description_with_list(StartTask::ABOUT, types))
}

/// The tool that loads other tools; its description names them, and the programs outside that have more.
pub fn tool_search(names: &[&str], sources: &[String]) -> Arc<dyn Tool> {
    let names = (!names.is_empty()).then(|| compact_names(names));
    let sources = (!sources.is_empty()).then(|| format!("any tool of the MCP servers {}", sources.join(", ")));
    let available = names.into_iter().chain(sources).collect::<Vec<_>>().join("; ");
    let about = format!("{} {available}.", ToolSearch::ABOUT.trim_ascii_end());
    typed_tool_with_description::<ToolSearch>(about.into())
}

/// The names, joined. Those of the shared list share a prefix, and every request contains them.
fn compact_names(names: &[&str]) -> String {
    let (listed, others): (Vec<&str>, Vec<&str>) = names.iter().partition(|name| name.starts_with("Task"));
    let ends: Vec<&str> = listed.iter().filter_map(|name| name.strip_prefix("Task")).collect();
    let listed = (!ends.is_empty()).then(|| format!("Task{{{}}}", ends.join(",")));
    others.into_iter().map(str::to_owned).chain(listed).collect::<Vec<_>>().join(", ")
}

/// The tool that loads these skills, each with a line on when to use it.
pub fn skill(skills: &[(String, String)]) -> Arc<dyn Tool> {
    typed_tool_with_description::<LoadSkill>(description_with_list(LoadSkill::ABOUT, skills))
}

fn description_with_list(about: &str, named: &[(String, String)]) -> Cow<'static, str> {
    let lines = named.iter().map(|(name, description)| format!("\n- {name}: {description}"));
    [about.trim_ascii_end().to_owned()].into_iter().chain(lines).collect::<String>().into()
}

/// The tool that asks the user, for sessions where the user can answer. It comes after the others.
pub fn ask_user() -> Arc<dyn Tool> {
    typed_tool::<AskUser>()
}

#[cfg(test)]
mod tests {
    use protocol::{TOOLS, ToolClass, find_tool, tool_name};
    use serde_json::{Value, json};

    use super::*;
    use crate::{
        ToolAccess, autopilot_tools, builtin_tools, mcp_resource_tools, plan_mode_tools, shared_list_tools,
        subagent_tools,
    };

    fn all_tools() -> Vec<Arc<dyn Tool>> {
        builtin_tools().into_iter().chain([ask_user()]).collect()
    }

    #[test]
    fn tool_descriptions_are_small_and_complete() {
        let tools = all_tools();
        let descriptions: Vec<_> = tools
            .iter()
            .map(|tool| tool.spec())
            .map(|spec| json!({ "name": spec.name, "description": spec.description, "input_schema": spec.schema }))
            .collect();
        let is_at_once = |tool: &&Value| find_tool(tool["name"].as_str().unwrap()).unwrap().at_once.root;
        let (at_once, deferred): (Vec<_>, Vec<_>) = descriptions.iter().partition(is_at_once);
        let size = |tools: &[&Value]| serde_json::to_string(tools).unwrap().len();
        assert!(size(&at_once) < 5 * 1024 + 512, "{} bytes in every first request", size(&at_once));
        for tool in &deferred {
            assert!(size(&[tool]) < 1024, "{} bytes: {tool}", size(&[tool]));
        }
        for tool in &descriptions {
            assert!(!tool["description"].as_str().unwrap().is_empty());
            assert_eq!(tool["input_schema"]["type"], "object", "{tool}");
            for (name, property) in tool["input_schema"]["properties"].as_object().unwrap() {
                assert!(property["type"].is_string() && property["description"].is_string(), "{name} of {tool}");
            }
        }
    }

    /// A tool whose name or place differs from the table's would be unknown to rules, definitions and clients.
    #[test]
    fn the_table_has_every_tool_in_order() {
        let single = [ask_user(), task(&[]), skill(&[])];
        let all: Vec<Arc<dyn Tool>> = builtin_tools()
            .into_iter()
            .chain(single)
            .chain(subagent_tools())
            .chain(shared_list_tools())
            .chain(mcp_resource_tools())
            .chain([tool_search(&[], &[])])
            .chain(plan_mode_tools())
            .chain(autopilot_tools())
            .collect();
        let names: Vec<&str> = all.iter().map(|tool| tool.spec().name.as_ref()).collect();
        assert_eq!(names, TOOLS.iter().map(|tool| tool.name).collect::<Vec<_>>());
        for (tool, entry) in all.iter().zip(&TOOLS) {
            let access: &[ToolAccess] = match entry.class {
                // Its command is judged as that of `shell`.
                ToolClass::Session if entry.name == tool_name::UNTIL => &[ToolAccess::Execute],
                ToolClass::Session => &[ToolAccess::Session, ToolAccess::Read],
                ToolClass::Shell => &[ToolAccess::Execute],
                ToolClass::Read | ToolClass::Fetch => &[ToolAccess::Read],
                ToolClass::Edit => &[ToolAccess::Write],
                ToolClass::Agent => &[ToolAccess::Agent],
                ToolClass::Other => &[],
            };
            assert!(access.contains(&tool.spec().access), "{}", entry.name);
        }
    }
}

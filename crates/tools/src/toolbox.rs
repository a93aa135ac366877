//! The sets of tools that agents can have.

use std::borrow::Cow;
use std::sync::Arc;

use crate::Tool;
use crate::args::{TypedTool, typed_tool, typed_tool_with_description};
use crate::builtin::{
    ApplyPatch, AskUser, CreateTool, EditTool, GlobTool, GrepTool, ListShells, ReadShell, ReportIntent, ShellTool,
    SqlTool, StopShell, ViewTool, WebFetch,
};
use crate::session_control::{ExitPlanMode, TaskComplete, WritePlan};
use crate::shared_list::{TaskCreate, TaskGet, TaskList, TaskOutput, TaskStop, TaskUpdate};
use crate::subagents::{
    ListAgents, LoadSkill, ReadAgent, StartTask, StopAgent, ToolSearch, UntilTool, WaitFor, WriteAgent,
};

/// The built-in tools, always in the same order: the first bytes of a request must not change from turn to turn.
pub fn builtin_tools() -> Vec<Arc<dyn Tool>> {
    vec![
        typed_tool::<ViewTool>(),
        typed_tool::<CreateTool>(),
        typed_tool::<EditTool>(),
        typed_tool::<ApplyPatch>(),
        typed_tool::<GrepTool>(),
        typed_tool::<GlobTool>(),
        typed_tool::<ShellTool>(),
        typed_tool::<ReadShell>(),
        typed_tool::<StopShell>(),
        typed_tool::<ListShells>(),
        typed_tool::<SqlTool>(),
        typed_tool::<ReportIntent>(),
        typed_tool::<WebFetch>(),
    ]
}

/// The tool that starts agents of these types, each with a line on when to use it.
pub fn task(types: &[(String, String)]) -> Arc<dyn Tool> {
    typed_tool_with_description::<StartTask>(description_with_list(StartTask::ABOUT, types))
}

/// The companions of `task`: reading, messaging, listing, stopping and waiting.
pub fn subagent_tools() -> Vec<Arc<dyn Tool>> {
    vec![
        typed_tool::<ReadAgent>(),
        typed_tool::<WriteAgent>(),
        typed_tool::<ListAgents>(),
        typed_tool::<StopAgent>(),
        typed_tool::<WaitFor>(),
        typed_tool::<UntilTool>(),
    ]
}

/// The tools of a shared list: creating, showing and changing items, and the tasks that work on them.
pub fn shared_list_tools() -> Vec<Arc<dyn Tool>> {
    vec![
        typed_tool::<TaskCreate>(),
        typed_tool::<TaskGet>(),
        typed_tool::<TaskList>(),
        typed_tool::<TaskUpdate>(),
        typed_tool::<TaskOutput>(),
        typed_tool::<TaskStop>(),
    ]
}

/// The tool that loads other tools; its description names them.
pub fn tool_search(names: &[&str]) -> Arc<dyn Tool> {
    let about = format!("{} {}.", ToolSearch::ABOUT.trim_ascii_end(), compact_names(names));
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

/// The tools of the root in plan mode.
pub fn plan_mode_tools() -> Vec<Arc<dyn Tool>> {
    vec![typed_tool::<WritePlan>(), typed_tool::<ExitPlanMode>()]
}

/// The tools of the root on autopilot.
pub fn autopilot_tools() -> Vec<Arc<dyn Tool>> {
    vec![typed_tool::<TaskComplete>()]
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use serde_json::json;

    use super::*;

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
        let size = serde_json::to_string(&descriptions).unwrap().len();
        assert!(size < 6 * 1024 + 512, "{size} bytes");
        for tool in &descriptions {
            assert!(!tool["description"].as_str().unwrap().is_empty());
            assert_eq!(tool["input_schema"]["type"], "object", "{tool}");
            for (name, property) in tool["input_schema"]["properties"].as_object().unwrap() {
                assert!(property["type"].is_string() && property["description"].is_string(), "{name} of {tool}");
            }
        }
    }

    #[test]
    fn names_are_unique() {
        let tools = all_tools();
        let names: HashSet<_> = tools.iter().map(|tool| tool.spec().name.clone()).collect();
        assert_eq!(names.len(), tools.len());
    }
}

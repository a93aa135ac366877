//! The sets of tools that agents can have.

use std::borrow::Cow;
use std::sync::Arc;

use crate::Tool;
use crate::args::{TypedTool, tool, tool_about};
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
        tool::<ViewTool>(),
        tool::<CreateTool>(),
        tool::<EditTool>(),
        tool::<ApplyPatch>(),
        tool::<GrepTool>(),
        tool::<GlobTool>(),
        tool::<ShellTool>(),
        tool::<ReadShell>(),
        tool::<StopShell>(),
        tool::<ListShells>(),
        tool::<SqlTool>(),
        tool::<ReportIntent>(),
        tool::<WebFetch>(),
    ]
}

/// The tool that starts agents of these types, each with a line on when to use it.
pub fn task(types: &[(String, String)]) -> Arc<dyn Tool> {
    tool_about::<StartTask>(with_list(StartTask::ABOUT, types))
}

/// The companions of `task`: reading, messaging, listing, stopping and waiting.
pub fn subagent_tools() -> Vec<Arc<dyn Tool>> {
    vec![
        tool::<ReadAgent>(),
        tool::<WriteAgent>(),
        tool::<ListAgents>(),
        tool::<StopAgent>(),
        tool::<WaitFor>(),
        tool::<UntilTool>(),
    ]
}

/// The tools of a shared list: creating, showing and changing items, and the tasks that work on them.
pub fn shared_list_tools() -> Vec<Arc<dyn Tool>> {
    vec![
        tool::<TaskCreate>(),
        tool::<TaskGet>(),
        tool::<TaskList>(),
        tool::<TaskUpdate>(),
        tool::<TaskOutput>(),
        tool::<TaskStop>(),
    ]
}

/// The tool that loads other tools; its description names them.
pub fn tool_search(names: &[&str]) -> Arc<dyn Tool> {
    let about = format!("{} {}.", ToolSearch::ABOUT.trim_ascii_end(), compact_names(names));
    tool_about::<ToolSearch>(about.into())
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
    tool_about::<LoadSkill>(with_list(LoadSkill::ABOUT, skills))
}

fn with_list(about: &str, named: &[(String, String)]) -> Cow<'static, str> {
    let lines = named.iter().map(|(name, description)| format!("\n- {name}: {description}"));
    [about.trim_ascii_end().to_owned()].into_iter().chain(lines).collect::<String>().into()
}

/// The tool that asks the user, for sessions where the user can answer. It comes after the others.
pub fn ask_user() -> Arc<dyn Tool> {
    tool::<AskUser>()
}

/// The tools of the root in plan mode.
pub fn plan_mode_tools() -> Vec<Arc<dyn Tool>> {
    vec![tool::<WritePlan>(), tool::<ExitPlanMode>()]
}

/// The tools of the root on autopilot.
pub fn autopilot_tools() -> Vec<Arc<dyn Tool>> {
    vec![tool::<TaskComplete>()]
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use serde_json::json;

    use super::*;

    fn all() -> Vec<Arc<dyn Tool>> {
        builtin_tools().into_iter().chain([ask_user()]).collect()
    }

    #[test]
    fn what_the_model_is_told_stays_small_and_whole() {
        let tools = all();
        let told: Vec<_> = tools
            .iter()
            .map(|tool| tool.spec())
            .map(|spec| json!({ "name": spec.name, "description": spec.about, "input_schema": spec.schema }))
            .collect();
        let size = serde_json::to_string(&told).unwrap().len();
        assert!(size < 6 * 1024 + 512, "{size} bytes");
        for tool in &told {
            assert!(!tool["description"].as_str().unwrap().is_empty());
            assert_eq!(tool["input_schema"]["type"], "object", "{tool}");
            for (name, property) in tool["input_schema"]["properties"].as_object().unwrap() {
                assert!(property["type"].is_string() && property["description"].is_string(), "{name} of {tool}");
            }
        }
    }

    #[test]
    fn names_are_unique() {
        let tools = all();
        let names: HashSet<_> = tools.iter().map(|tool| tool.spec().name.clone()).collect();
        assert_eq!(names.len(), tools.len());
    }
}

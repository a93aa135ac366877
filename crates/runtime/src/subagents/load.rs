//! Loads deferred tools and skills for a model.

use std::path::Path;

use kernel::RunUpdate;
use protocol::Clip;
use tools::ToolError;

use super::AgentSubagents;
use crate::skill::{self, skill_text};

/// The most tools that a query loads if it names none and only describes them.
const MAX_DESCRIBED_TOOLS: usize = 4;

/// The most bytes of a skill's text.
const MAX_SKILL_BYTES: usize = 64 * 1024;

impl AgentSubagents {
    pub(super) async fn load_tools(&self, query: String) -> Result<String, ToolError> {
        let loaded = self.search_deferred(&query);
        if loaded.is_empty() {
            let names: Vec<&str> = self.agent.deferred_tools.iter().map(|spec| spec.name.as_str()).collect();
            return Err(ToolError::refused(format!("no tool matches; there are: {}", names.join(", "))));
        }
        let report = RunUpdate::ToolsLoaded(loaded.clone());
        self.caller.supervisor.report(self.caller.run, report).await.map_err(ToolError::failed)?;
        Ok(format!("loaded: {}; call them like any other tool", loaded.join(", ")))
    }

    /// The tools that the query names, or else those whose descriptions contain most of its words.
    fn search_deferred(&self, query: &str) -> Vec<String> {
        search_tool_specs(&self.agent.deferred_tools, query)
    }

    pub(super) async fn load_skill(&self, name: String) -> Result<String, ToolError> {
        let skills = &self.context.catalog.definitions.skills;
        let Some(skill) = skills.iter().find(|skill| skill.model_invocable && skill.name == name) else {
            let names: Vec<&str> =
                skills.iter().filter(|skill| skill.model_invocable).map(|skill| skill.name.as_str()).collect();
            let shown = Clip::new(&name, 100);
            return Err(ToolError::refused(format!("there is no skill `{shown}`; there are: {}", names.join(", "))));
        };
        let wanted = skill.clone();
        let read = tokio::task::spawn_blocking(move || skill::read(&wanted)).await.map_err(ToolError::failed)?;
        let text = read.map_err(|why| ToolError::refused(format!("{} cannot be read: {why}", skill.file)))?;
        let folder = Path::new(&skill.file).parent().map(|folder| folder.display().to_string()).unwrap_or_default();
        Ok(format!(
            "Skill `{}`, its files are in {folder}:\n{}",
            skill.name,
            Clip::new(&skill_text(&text), MAX_SKILL_BYTES)
        ))
    }
}

fn search_tool_specs(deferred: &[model::ToolSpec], query: &str) -> Vec<String> {
    let query = query.to_lowercase();
    let words: Vec<&str> =
        query.split(|c: char| !c.is_alphanumeric() && !"_-.".contains(c)).filter(|word| word.len() > 1).collect();
    let is_named = |spec: &&model::ToolSpec| words.iter().any(|word| spec.name.to_lowercase() == *word);
    let named: Vec<String> = deferred.iter().filter(is_named).map(|spec| spec.name.clone()).collect();
    if !named.is_empty() {
        return named;
    }
    let score = |spec: &&model::ToolSpec| {
        let text = format!("{} {}", spec.name, spec.description).to_lowercase();
        words.iter().filter(|word| text.contains(**word)).count()
    };
    let mut matching: Vec<_> =
        deferred.iter().map(|spec| (score(&spec), spec)).filter(|(score, _)| *score > 0).collect();
    matching.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    matching.into_iter().take(MAX_DESCRIBED_TOOLS).map(|(_, spec)| spec.name.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(name: &str, about: &str) -> model::ToolSpec {
        model::ToolSpec { name: name.into(), description: about.into(), schema: serde_json::json!({}) }
    }

    /// A8: tool names are not all lower-case.
    #[test]
    fn named_tools_are_loaded_regardless_of_case() {
        let names = ["wait", "until", "TaskCreate", "TaskGet", "TaskList", "TaskUpdate", "mcp__git__log-all"];
        let deferred = names.map(|name| spec(name, "does things"));
        assert_eq!(search_tool_specs(&deferred, "wait, TaskCreate"), ["wait", "TaskCreate"]);
        let query = "taskcreate TaskGet TASKLIST `TaskUpdate` mcp__git__log-all wait";
        assert_eq!(search_tool_specs(&deferred, query).len(), 6);
        assert_eq!(search_tool_specs(&deferred, "something that does things").len(), MAX_DESCRIBED_TOOLS);
        assert!(search_tool_specs(&deferred, "x y z").is_empty());
    }
}

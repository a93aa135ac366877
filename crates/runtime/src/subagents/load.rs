//! Loads deferred tools and skills for a model.

use std::path::Path;

use kernel::RunUpdate;
use model::ToolSpec;
use protocol::{Clip, MCP_TOOL_PREFIX, ToolDescription, clip_middle};
use tools::{CatalogListing, ToolDescriptor, ToolError};

use super::AgentSubagents;
use crate::skill::{self, skill_text};

/// The most tools that a query loads if it names none and only describes them.
const MAX_DESCRIBED_TOOLS: usize = 4;

/// The most bytes of names in an answer.
const MAX_LISTED_BYTES: usize = 4 * 1024;

/// The most bytes of a skill's text.
const MAX_SKILL_BYTES: usize = 64 * 1024;

impl AgentSubagents {
    pub(super) async fn load_tools(&self, query: String) -> Result<String, ToolError> {
        let CatalogListing { tools: outside, problems } = self.list_outside_tools(&query).await;
        let outside: Vec<ToolSpec> = outside.into_iter().map(spec_of).collect();
        let all: Vec<&ToolSpec> = self.agent.deferred_tools.iter().chain(&outside).collect();
        let loaded = search_tool_specs(&all, &query);
        let notes: String = problems.iter().map(|problem| format!("\n{problem}")).collect();
        if loaded.is_empty() {
            let names = joined_names(all.iter().map(|spec| spec.name.as_str()));
            return Err(ToolError::refused(format!("no tool matches; available: {names}{notes}")));
        }
        let described = outside.iter().filter(|spec| loaded.contains(&spec.name)).map(|spec| ToolDescription {
            name: spec.name.clone(),
            description: spec.description.clone(),
            schema: spec.schema.clone(),
        });
        let report = RunUpdate::ToolsLoaded { tools: loaded.clone(), descriptions: described.collect() };
        self.caller.supervisor.report(self.caller.run, report).await.map_err(ToolError::failed)?;
        let others = joined_names(
            outside.iter().map(|spec| spec.name.as_str()).filter(|&name| !loaded.iter().any(|loaded| loaded == name)),
        );
        let others = if others.is_empty() { others } else { format!("\nnot loaded: {others}") };
        Ok(format!("loaded: {}; call them like any other tool{others}{notes}", loaded.join(", ")))
    }

    /// The tools of programs outside that the query may mean. A query that only names other tools starts no program.
    async fn list_outside_tools(&self, query: &str) -> CatalogListing {
        let Some(catalog) = &self.agent.tool_catalog else { return CatalogListing::default() };
        let own: Vec<&ToolSpec> = self.agent.deferred_tools.iter().collect();
        if !named_tools(&own, &words_of(&query.to_lowercase())).is_empty() && !query.contains(MCP_TOOL_PREFIX) {
            return CatalogListing::default();
        }
        let mut listing = catalog.list(query, &self.context.workplace.guardian).await;
        listing.tools.retain(|tool| self.agent.has_tool(&tool.name));
        listing
    }

    pub(super) async fn load_skill(&self, name: String) -> Result<String, ToolError> {
        let mut skills = self.context.catalog.skills.enabled();
        skills.retain(|skill| skill.model_invocable);
        let Some(skill) = skills.iter().find(|skill| skill.name == name) else {
            let names: Vec<&str> = skills.iter().map(|skill| skill.name.as_str()).collect();
            let shown = Clip::new(&name, 100);
            return Err(ToolError::refused(format!("there is no skill `{shown}`; available: {}", names.join(", "))));
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

fn spec_of(tool: ToolDescriptor) -> ToolSpec {
    ToolSpec { name: tool.name.into_owned(), description: tool.description.into_owned(), schema: tool.schema }
}

/// The names, as many as fit.
fn joined_names<'a>(names: impl Iterator<Item = &'a str>) -> String {
    clip_middle(&names.collect::<Vec<_>>().join(", "), MAX_LISTED_BYTES)
}

/// The words of a query in lower case.
fn words_of(query: &str) -> Vec<&str> {
    query.split(|c: char| !c.is_alphanumeric() && !"_-.".contains(c)).filter(|word| word.len() > 1).collect()
}

/// The tools that these words name.
fn named_tools(specs: &[&ToolSpec], words: &[&str]) -> Vec<String> {
    let is_named = |spec: &&&ToolSpec| words.iter().any(|word| spec.name.to_lowercase() == *word);
    specs.iter().filter(is_named).map(|spec| spec.name.clone()).collect()
}

/// The tools that the query names, or else those whose descriptions contain most of its words.
fn search_tool_specs(deferred: &[&ToolSpec], query: &str) -> Vec<String> {
    let query = query.to_lowercase();
    let words = words_of(&query);
    let named = named_tools(deferred, &words);
    if !named.is_empty() {
        return named;
    }
    let score = |spec: &ToolSpec| {
        let text = format!("{} {}", spec.name, spec.description).to_lowercase();
        words.iter().filter(|word| text.contains(**word)).count()
    };
    let mut matching: Vec<_> =
        deferred.iter().map(|spec| (score(spec), spec)).filter(|(score, _)| *score > 0).collect();
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
        let deferred: Vec<&ToolSpec> = deferred.iter().collect();
        assert_eq!(search_tool_specs(&deferred, "wait, TaskCreate"), ["wait", "TaskCreate"]);
        let query = "taskcreate TaskGet TASKLIST `TaskUpdate` mcp__git__log-all wait";
        assert_eq!(search_tool_specs(&deferred, query).len(), 6);
        assert_eq!(search_tool_specs(&deferred, "something that does things").len(), MAX_DESCRIBED_TOOLS);
        assert!(search_tool_specs(&deferred, "x y z").is_empty());
    }
}

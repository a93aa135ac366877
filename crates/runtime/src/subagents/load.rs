//! Loads deferred tools and skills for a model.

use std::path::Path;

use kernel::RunUpdate;
use protocol::Clip;
use tools::ToolError;

use super::AgentSubagents;
use crate::skill::{self, skill_text};

/// The most tools that a search by words, not names, loads at once.
const MAX_FOUND: usize = 4;

/// The most bytes of a skill's text.
const MAX_SKILL_BYTES: usize = 64 * 1024;

impl AgentSubagents {
    pub(super) async fn load_tools(&self, query: String) -> Result<String, ToolError> {
        let found = self.search_deferred(&query);
        if found.is_empty() {
            let names: Vec<&str> = self.agent.deferred.iter().map(|spec| spec.name.as_str()).collect();
            return Err(ToolError::refused(format!("no tool matches; there are: {}", names.join(", "))));
        }
        let report = RunUpdate::ToolsLoaded(found.clone());
        self.caller.supervisor.report(self.caller.run, report).await.map_err(ToolError::broken)?;
        Ok(format!("loaded: {}; call them like any other tool", found.join(", ")))
    }

    /// The tools that the query names, or else those whose descriptions contain most of its words.
    fn search_deferred(&self, query: &str) -> Vec<String> {
        search(&self.agent.deferred, query)
    }

    pub(super) async fn load_skill(&self, name: String) -> Result<String, ToolError> {
        let skills = &self.context.settings.catalog.skills;
        let Some(skill) = skills.iter().find(|skill| skill.model_invocable && skill.name == name) else {
            let names: Vec<&str> = skills.iter().filter(|it| it.model_invocable).map(|it| it.name.as_str()).collect();
            let shown = Clip::new(&name, 100);
            return Err(ToolError::refused(format!("there is no skill `{shown}`; there are: {}", names.join(", "))));
        };
        let wanted = skill.clone();
        let read = tokio::task::spawn_blocking(move || skill::read(&wanted)).await.map_err(ToolError::broken)?;
        let text = read.map_err(|why| ToolError::refused(format!("{} cannot be read: {why}", skill.file)))?;
        let folder = Path::new(&skill.file).parent().map(|folder| folder.display().to_string()).unwrap_or_default();
        Ok(format!(
            "Skill `{}`, its files are in {folder}:\n{}",
            skill.name,
            Clip::new(&skill_text(&text), MAX_SKILL_BYTES)
        ))
    }
}

fn search(deferred: &[model::ToolSpec], query: &str) -> Vec<String> {
    let query = query.to_lowercase();
    let words: Vec<&str> =
        query.split(|c: char| !c.is_alphanumeric() && !"_-.".contains(c)).filter(|word| word.len() > 1).collect();
    let is_named = |spec: &&model::ToolSpec| words.iter().any(|word| spec.name.to_lowercase() == *word);
    let named: Vec<String> = deferred.iter().filter(is_named).map(|spec| spec.name.clone()).collect();
    if !named.is_empty() {
        return named;
    }
    let score = |spec: &&model::ToolSpec| {
        let text = format!("{} {}", spec.name, spec.about).to_lowercase();
        words.iter().filter(|word| text.contains(**word)).count()
    };
    let mut fitting: Vec<_> =
        deferred.iter().map(|spec| (score(&spec), spec)).filter(|(score, _)| *score > 0).collect();
    fitting.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    fitting.into_iter().take(MAX_FOUND).map(|(_, spec)| spec.name.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(name: &str, about: &str) -> model::ToolSpec {
        model::ToolSpec { name: name.into(), about: about.into(), schema: serde_json::json!({}) }
    }

    /// A8: names are not all lower-case.
    #[test]
    fn every_tool_that_is_named_is_loaded_however_it_is_written() {
        let names = ["wait", "until", "TaskCreate", "TaskGet", "TaskList", "TaskUpdate", "mcp__git__log-all"];
        let deferred = names.map(|name| spec(name, "does things"));
        assert_eq!(search(&deferred, "wait, TaskCreate"), ["wait", "TaskCreate"]);
        let asked = "taskcreate TaskGet TASKLIST `TaskUpdate` mcp__git__log-all wait";
        assert_eq!(search(&deferred, asked).len(), 6);
        assert_eq!(search(&deferred, "something that does things").len(), MAX_FOUND);
        assert!(search(&deferred, "x y z").is_empty());
    }
}

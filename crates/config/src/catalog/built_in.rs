//! The agents that every session has.

use std::path::Path;

use protocol::{AgentSpec, DefinitionSource};

use super::agent;

/// Their files, embedded in the program.
const FILES: [(&str, &str); 8] = [
    ("explore.md", include_str!("built_in/explore.md")),
    ("task.md", include_str!("built_in/task.md")),
    ("general-purpose.md", include_str!("built_in/general-purpose.md")),
    ("rubber-duck.md", include_str!("built_in/rubber-duck.md")),
    ("code-review.md", include_str!("built_in/code-review.md")),
    ("security-review.md", include_str!("built_in/security-review.md")),
    ("research.md", include_str!("built_in/research.md")),
    ("rem-agent.md", include_str!("built_in/rem-agent.md")),
];

/// The built-in agents. A test checks that every file parses.
pub fn built_in_agents() -> Vec<AgentSpec> {
    let read = |(name, text): (&str, &str)| {
        agent::from_markdown(Path::new(name), text, DefinitionSource::BuiltIn, &mut Vec::new())
            .map(|drafted| drafted.spec)
    };
    FILES.into_iter().filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use protocol::{ModelPreference, ReasoningEffort, SpawnPolicy};

    use super::*;

    #[test]
    fn the_built_in_agents_are_short_and_have_only_what_they_need() {
        let mut problems = Vec::new();
        for (name, text) in FILES {
            agent::from_markdown(Path::new(name), text, DefinitionSource::BuiltIn, &mut problems).unwrap();
        }
        assert_eq!(problems, []);
        let agents = built_in_agents();
        let names: Vec<&str> = agents.iter().map(|agent| agent.name.as_str()).collect();
        let wanted = "explore task general-purpose rubber-duck code-review security-review research rem-agent";
        assert_eq!(names.join(" "), wanted);
        for agent in &agents {
            assert!(agent.prompt.len() <= 600, "{}: {} bytes", agent.name, agent.prompt.len());
            assert!(agent.description.chars().count() <= 110, "{}: {}", agent.name, agent.description);
            assert!(agent.user_invocable && agent.model_invocable && agent.unsupported.is_empty(), "{}", agent.name);
        }
        let agent_named = |name: &str| agents.iter().find(|agent| agent.name == name).unwrap();
        assert_eq!(
            (agent_named("explore").model_preference, agent_named("explore").effort),
            (ModelPreference::Small, Some(ReasoningEffort::Low))
        );
        assert_eq!(agent_named("rubber-duck").model_preference, ModelPreference::Other);
        for read_only in ["explore", "rubber-duck", "code-review", "security-review", "research"] {
            let tools = agent_named(read_only).tools.clone().unwrap();
            assert_eq!(agent_named(read_only).spawns, SpawnPolicy::None);
            assert!(
                !tools.iter().any(|tool| matches!(tool.as_str(), "edit" | "create" | "apply_patch")),
                "{read_only}"
            );
        }
        assert_eq!(agent_named("general-purpose").spawns, SpawnPolicy::Any);
    }
}

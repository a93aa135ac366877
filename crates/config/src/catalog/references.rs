//! References between definitions: a named agent or skill must exist.

use std::path::{Path, PathBuf};

use protocol::{AgentSpec, DefinitionSource, SlashSpec, SpawnPolicy};

use super::{CatalogListing, DefinitionProblem};

/// Reports names in definitions that refer to nothing.
pub(super) fn check_references(gathered: &mut CatalogListing) {
    let mut problems = Vec::new();
    for AgentSpec { name, skills, spawns, source, .. } in gathered.effective().map(|agent| &agent.spec) {
        let mut missing = |kind: &str, wanted: &str| {
            let message = format!("agent `{name}` names the {kind} `{wanted}`, which does not exist");
            problems.push(DefinitionProblem::warning(
                &source_file(source),
                message,
                "correct the name, or leave it out",
            ));
        };
        let has_skill = |wanted: &str| gathered.effective_skills().any(|skill| skill.spec.name == wanted);
        skills.iter().filter(|wanted| !has_skill(wanted)).for_each(|wanted| missing("skill", wanted));
        if let SpawnPolicy::Only(agents) = spawns {
            agents.iter().filter(|one| gathered.agent(one).is_none()).for_each(|wanted| missing("agent", wanted));
        }
    }
    for SlashSpec { name, agent, source, .. } in gathered.effective_slash_commands().map(|slash| &slash.spec) {
        if let Some(wanted) = agent.as_deref().filter(|wanted| gathered.agent(wanted).is_none()) {
            let message = format!("/{name} names the agent `{wanted}`, which does not exist");
            problems.push(DefinitionProblem::warning(
                &source_file(source),
                message,
                "correct the name, or leave it out",
            ));
        }
    }
    gathered.problems.extend(problems);
}

/// The file, or the name shown instead of one.
fn source_file(source: &DefinitionSource) -> PathBuf {
    match source {
        DefinitionSource::User { path }
        | DefinitionSource::Project { path }
        | DefinitionSource::Plugin { path, .. } => PathBuf::from(path),
        DefinitionSource::Flag => Path::new("--agents").to_owned(),
        DefinitionSource::Remote { url } => PathBuf::from(url),
        DefinitionSource::BuiltIn => PathBuf::from("built in"),
    }
}

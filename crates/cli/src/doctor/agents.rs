//! Agents, skills and features: what there is, and what is wrong with it.

use std::path::Path;

use config::{CatalogLocations, Config, ForbiddableFeature, SettingsFileScope, SettingsLayers, Severity};

use super::{DoctorCheck, DoctorContext};
use crate::print;
use crate::setup::{LoadedCatalog, describe_remote, remote_catalog};

/// Most problems that are listed.
const MAX_LISTED: usize = 20;

pub(super) fn checks(scene: &DoctorContext) -> Vec<DoctorCheck> {
    let Some(layers) = &scene.layers else { return Vec::new() };
    let mut checks = vec![features(&scene.config)];
    match find_definitions(scene, layers) {
        Some(found) => checks.extend(agents(&found, &scene.config)),
        None => checks.push(DoctorCheck::ok("agents", "nobody's files can be looked at")),
    }
    checks
}

fn features(config: &Config) -> DoctorCheck {
    let word = |on| if on { "on" } else { "off" };
    let (multi_turn, suggestions) = (word(config.multi_turn), word(config.prompt_suggestions));
    let parallelism = word(config.parallelism_prompts);
    let limits = &config.limits;
    DoctorCheck::ok(
        "features",
        format!(
            "multi-turn is {multi_turn}, prompt-suggestions {suggestions}, parallelism-prompts {parallelism}; \
             mcp-tasks, subconscious, coordinator and proactive are not in this version; {} agents at once, {} deep, \
             {} in all",
            limits.live, limits.depth, limits.total
        ),
    )
}

/// What a run would find; the remote catalogue is not asked.
fn find_definitions(scene: &DoctorContext, layers: &SettingsLayers) -> Option<LoadedCatalog> {
    let home = scene.home.as_deref().unwrap_or(Path::new("/nonexistent"));
    let remote = remote_catalog(&scene.env, &scene.config.agents, home, &scene.top);
    let gathered = config::gather_catalog(&CatalogLocations {
        home,
        user: scene.env.user.as_deref(),
        top: &scene.top,
        trust: layers.trust,
        scopes: &SettingsFileScope::ALL,
        plugins: &[],
        inline: None,
        remote: remote.map(|catalog| catalog.cached()).unwrap_or_default(),
        no_hooks: layers.forbids(ForbiddableFeature::Hooks).map(Path::to_owned),
    });
    gathered.ok().map(LoadedCatalog::new)
}

fn agents(found: &LoadedCatalog, config: &Config) -> Vec<DoctorCheck> {
    let gathered = &found.gathered;
    let (agents, skills) = (gathered.effective().count(), gathered.effective_skills().count());
    let plugins = gathered.plugins.len();
    let mut checks = vec![DoctorCheck::ok(
        "agents",
        [print::pluralize(agents, "agent"), print::pluralize(skills, "skill"), print::pluralize(plugins, "plugin")]
            .join(", "),
    )];
    for problem in gathered.problems.iter().take(MAX_LISTED) {
        let place = problem.at.map_or_else(String::new, |at| format!(":{}:{}", at.line, at.column));
        let text = format!("{}{place}: {}", problem.file.display(), problem.message);
        checks.push(match problem.severity {
            Severity::Error => DoctorCheck::fail("agents", text, &problem.remedy),
            Severity::Warning | Severity::Untrusted => DoctorCheck::warn("agents", text, &problem.remedy),
        });
    }
    if let Some(more) = gathered.problems.len().checked_sub(MAX_LISTED).filter(|more| *more > 0) {
        checks.push(DoctorCheck::warn(
            "agents",
            format!("{more} more problems"),
            "`bosun catalog check` lists them all",
        ));
    }
    if let Some((_, words)) = describe_remote(&gathered.remote) {
        checks.push(DoctorCheck::warn("agents", words, "a run asks it; `bosun catalog check` does too"));
    }
    if let Some(pressure) = found.pressure(&config.agents) {
        let remedy = "shorten them, or raise agents.description-limit";
        checks.push(DoctorCheck::warn("agents", pressure.to_string(), remedy));
    }
    checks
}

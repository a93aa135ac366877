//! Agents, skills and features: what there is, and what is wrong with it.

use std::path::Path;

use config::{CatalogPlaces, Choice, Config, Feature, Layers, Severity};

use super::{Check, Scene};
use crate::print;
use crate::setup::{Found, remote_catalog, remote_words};

/// Most problems that are listed.
const LISTED: usize = 20;

pub(super) fn checks(scene: &Scene) -> Vec<Check> {
    let Some(layers) = &scene.layers else { return Vec::new() };
    let mut checks = vec![features(&scene.config)];
    match found(scene, layers) {
        Some(found) => checks.extend(agents(&found, &scene.config)),
        None => checks.push(Check::ok("agents", "nobody's files can be looked at")),
    }
    checks
}

fn features(config: &Config) -> Check {
    let word = |on| if on { "on" } else { "off" };
    let (multi_turn, suggestions) = (word(config.multi_turn), word(config.prompt_suggestions));
    let parallelism = word(config.parallelism_prompts);
    let limits = &config.limits;
    Check::ok(
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
fn found(scene: &Scene, layers: &Layers) -> Option<Found> {
    let home = scene.home.as_deref().unwrap_or(Path::new("/nonexistent"));
    let remote = remote_catalog(&scene.env, &scene.config.agents, home, &scene.top);
    let gathered = config::gather(&CatalogPlaces {
        home,
        user: scene.env.user.as_deref(),
        top: &scene.top,
        standing: layers.standing,
        read: &Choice::ALL,
        plugins: &[],
        given: None,
        remote: remote.map(|catalog| catalog.last()).unwrap_or_default(),
        no_hooks: layers.forbids(Feature::Hooks).map(Path::to_owned),
    });
    gathered.ok().map(Found::new)
}

fn agents(found: &Found, config: &Config) -> Vec<Check> {
    let gathered = &found.gathered;
    let (agents, skills) = (gathered.effective().count(), gathered.effective_skills().count());
    let plugins = gathered.plugins.len();
    let mut checks = vec![Check::ok(
        "agents",
        [print::count(agents, "agent"), print::count(skills, "skill"), print::count(plugins, "plugin")].join(", "),
    )];
    for problem in gathered.problems.iter().take(LISTED) {
        let place = problem.at.map_or_else(String::new, |at| format!(":{}:{}", at.line, at.column));
        let text = format!("{}{place}: {}", problem.file.display(), problem.words);
        checks.push(match problem.severity {
            Severity::Error => Check::fail("agents", text, &problem.remedy),
            Severity::Warning | Severity::Untrusted => Check::warn("agents", text, &problem.remedy),
        });
    }
    if let Some(more) = gathered.problems.len().checked_sub(LISTED).filter(|more| *more > 0) {
        checks.push(Check::warn("agents", format!("{more} more problems"), "`bosun catalog check` lists them all"));
    }
    if let Some((_, words)) = remote_words(&gathered.remote) {
        checks.push(Check::warn("agents", words, "a run asks it; `bosun catalog check` does too"));
    }
    if let Some(pressure) = found.pressure(&config.agents) {
        let remedy = "shorten them, or raise agents.description-limit";
        checks.push(Check::warn("agents", pressure.to_string(), remedy));
    }
    checks
}

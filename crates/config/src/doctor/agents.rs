//! Checks of agents, skills and features.

use std::path::Path;

use crate::{CatalogLocations, Config, ForbiddableFeature, LoadedCatalog, RemoteCatalog, SettingsLayers, Severity};
use host::{Clock, SystemClock};
use protocol::text::pluralize;

use super::{DoctorCheck, DoctorContext};
use protocol::SettingsFileScope;

/// Maximum number of problems listed.
const MAX_LISTED_PROBLEMS: usize = 20;

pub(super) fn checks(context: &DoctorContext) -> Vec<DoctorCheck> {
    let Some(layers) = &context.layers else { return Vec::new() };
    let mut checks = vec![features(&context.config)];
    match find_definitions(context, layers) {
        Some(catalog) => checks.extend(agents(&catalog, &context.config)),
        None => checks.push(DoctorCheck::warn(
            "agents",
            "definition files cannot be read",
            "`bosun catalog check` shows why",
        )),
    }
    checks
}

fn features(config: &Config) -> DoctorCheck {
    let features = [
        ("multi-turn", config.multi_turn),
        ("prompt-suggestions", config.prompt_suggestions),
        ("session-titles", config.session_titles),
        ("parallelism-prompts", config.parallelism_prompts),
    ];
    let on: Vec<&str> = features.into_iter().filter(|(_, is_on)| *is_on).map(|(name, _)| name).collect();
    let on = if on.is_empty() { "no optional feature is on".to_owned() } else { format!("on: {}", on.join(", ")) };
    let limits = &config.limits;
    DoctorCheck::ok(
        "features",
        format!(
            "{on}; at most {} agents at once, {} levels deep, {} in total",
            limits.live, limits.depth, limits.total
        ),
    )
}

/// Loads the definitions that a run would find, without asking the remote catalogue.
pub(super) fn find_definitions(context: &DoctorContext, layers: &SettingsLayers) -> Option<LoadedCatalog> {
    let home = context.home.as_deref().unwrap_or(Path::new("/nonexistent"));
    let remote = RemoteCatalog::of_project(&context.env, &context.config.agents, home, &context.project_dir);
    let listing = crate::gather_catalog(&CatalogLocations {
        home,
        user_home: context.env.user_home.as_deref(),
        project_dir: &context.project_dir,
        trust: layers.trust,
        scopes: &SettingsFileScope::ALL,
        plugins: &[],
        skill_dirs: &[],
        inline: &[],
        remote: remote.map(|catalog| catalog.cached()).unwrap_or_default(),
        hooks_forbidden_by: layers.forbidden_by(ForbiddableFeature::Hooks).map(Path::to_owned),
    });
    listing.ok().map(LoadedCatalog::new)
}

fn agents(catalog: &LoadedCatalog, config: &Config) -> Vec<DoctorCheck> {
    let listing = &catalog.listing;
    let (agents, skills) = (listing.effective().count(), listing.effective_skills().count());
    let plugins = listing.plugins.len();
    let mut checks = vec![DoctorCheck::ok(
        "agents",
        [pluralize(agents, "agent"), pluralize(skills, "skill"), pluralize(plugins, "plugin")].join(", "),
    )];
    for problem in listing.problems.iter().take(MAX_LISTED_PROBLEMS) {
        let place = problem.at.map_or_else(String::new, |at| format!(":{}:{}", at.line, at.column));
        let text = format!("{}{place}: {}", problem.file.display(), problem.message);
        checks.push(match problem.severity {
            Severity::Error => DoctorCheck::fail("agents", text, &problem.remedy),
            Severity::Warning | Severity::Untrusted => DoctorCheck::warn("agents", text, &problem.remedy),
        });
    }
    if let Some(more) = listing.problems.len().checked_sub(MAX_LISTED_PROBLEMS).filter(|more| *more > 0) {
        checks.push(DoctorCheck::warn(
            "agents",
            format!("{more} more problems"),
            "`bosun catalog check` lists them all",
        ));
    }
    if let Some((_, message)) = listing.remote.problem(SystemClock.now()) {
        checks.push(DoctorCheck::warn("agents", message, "a run fetches it; so does `bosun catalog check`"));
    }
    if let Some(overflow) = catalog.description_overflow(&config.agents) {
        let remedy = "shorten them, or raise agents.description-limit";
        checks.push(DoctorCheck::warn("agents", overflow.to_string(), remedy));
    }
    checks
}

//! Gathers every definition there is.

use std::path::{Path, PathBuf};

use protocol::{DefinitionSource, SlashSpec};

use super::agent::{self, AgentDraft};
use super::commands::{self, CommandFile, CommandFileNaming};
use super::kinds::{is_agent, skill_files};
use super::locations::{CatalogFolder, CatalogLocations, FolderOwner, InlineDefinitions};
use super::skill;
use super::walk::DefinitionWalk;
use super::{
    CatalogListing, DefinitionProblem, HookHolder, HookText, RemoteState, built_in_agents, definitions, plugin_loader,
    references,
};
use crate::trust::TrustStatus;

/// Gathers every definition there is. The error is that the command line gives what is not a definition at all.
pub fn gather_catalog(places: &CatalogLocations<'_>) -> Result<CatalogListing, Vec<DefinitionProblem>> {
    let mut gathered = CatalogListing { remote: places.remote.state.clone(), ..CatalogListing::default() };
    if let Some(given) = &places.inline {
        add_inline(given, &mut gathered)?;
    }
    for spot in places.agents() {
        add_agents(&spot, places, &mut gathered);
    }
    for spot in places.skills() {
        add_skills(&spot, places, &mut gathered);
    }
    for (spot, naming) in places.commands() {
        add_commands(&spot, naming, places, &mut gathered);
    }
    for spot in places.hooks().into_iter().chain(places.settings()) {
        add_hooks(&spot, places, &mut gathered);
    }
    for folder in plugin_loader::plugin_folders(places) {
        plugin_loader::add_plugin(&folder, places, &mut gathered);
    }
    add_remote(places, &mut gathered);
    for spec in built_in_agents() {
        gathered.add_agent(AgentDraft { spec, hooks: None }, Path::new(""), None);
    }
    bind_own_hooks(places, &mut gathered);
    forbid_own_hooks(places, &mut gathered);
    references::check_references(&mut gathered);
    Ok(gathered)
}

/// Says whose the hooks are that agents of the project bring themselves.
fn bind_own_hooks(places: &CatalogLocations<'_>, gathered: &mut CatalogListing) {
    for agent in
        gathered.agents.iter_mut().filter(|agent| matches!(agent.spec.source, DefinitionSource::Project { .. }))
    {
        agent.hooks.iter_mut().for_each(|hooks| hooks.top = Some(places.top.to_owned()));
    }
}

/// Takes away the hooks that agents bring themselves, where hooks are forbidden.
fn forbid_own_hooks(places: &CatalogLocations<'_>, gathered: &mut CatalogListing) {
    for agent in &mut gathered.agents {
        agent.hooks.take_if(|hooks| is_forbidden(places, &hooks.file, &mut gathered.problems));
    }
}

/// Whoever types definitions wants them: what is wrong with any of them is not a mere notice.
fn add_inline(given: &InlineDefinitions<'_>, gathered: &mut CatalogListing) -> Result<(), Vec<DefinitionProblem>> {
    let mut problems = Vec::new();
    let drafted = definitions::read(given.name, given.text, &DefinitionSource::Flag, &mut problems);
    let drafted = drafted.map_err(|problem| vec![problem])?;
    if problems.iter().any(|problem| problem.severity == super::Severity::Error) {
        return Err(problems);
    }
    gathered.problems.extend(problems);
    for one in drafted {
        if let Some(twice) = gathered.agent(&one.spec.name) {
            let words = format!("the agent `{}` is here twice", twice.spec.name);
            return Err(vec![DefinitionProblem::error(given.name, words, "remove one")]);
        }
        gathered.add_agent(one, given.name, None);
    }
    Ok(())
}

fn add_agents(spot: &CatalogFolder, places: &CatalogLocations<'_>, gathered: &mut CatalogListing) {
    let walk = walk(spot, places);
    for file in walk.files(&mut gathered.problems).into_iter().filter(|file| is_agent(file)) {
        if is_ignored(spot, places, &file, "agent", &mut gathered.problems) {
            continue;
        }
        let Some(text) = walk.read(&file, &mut gathered.problems) else { continue };
        let source = spot.owner.source(&file);
        if let Some(drafted) = agent::from_markdown(&file, &text, source, &mut gathered.problems) {
            gathered.add_agent(drafted, &file, None);
        }
    }
}

fn add_skills(spot: &CatalogFolder, places: &CatalogLocations<'_>, gathered: &mut CatalogListing) {
    let walk = walk(spot, places);
    let files = walk.files(&mut gathered.problems);
    for file in skill_files(&spot.path, &files, &mut gathered.problems) {
        if is_ignored(spot, places, &file, "skill", &mut gathered.problems) {
            continue;
        }
        let Some(text) = walk.read(&file, &mut gathered.problems) else { continue };
        let source = spot.owner.source(&file);
        let read = skill::read(&file, &text, source, &mut gathered.problems);
        read.into_iter().for_each(|spec| gathered.add_skill(spec));
    }
}

fn add_commands(
    spot: &CatalogFolder,
    naming: CommandFileNaming,
    places: &CatalogLocations<'_>,
    gathered: &mut CatalogListing,
) {
    let walk = walk(spot, places);
    for file in walk.files(&mut gathered.problems).into_iter().filter(|file| naming.is_command(file)) {
        let (place, source) = (CommandFile { file: &file, folder: &spot.path, plugin: None }, spot.owner.source(&file));
        if is_ignored(spot, places, &file, "slash command", &mut gathered.problems) {
            let spec = |name| SlashSpec { name, file: file.display().to_string(), source, ..SlashSpec::default() };
            gathered.untrusted.extend(place.name().map(spec));
            continue;
        }
        let Some(text) = walk.read(&file, &mut gathered.problems) else { continue };
        let read = commands::read(place, &text, source, &mut gathered.problems);
        read.into_iter().for_each(|spec| gathered.add_slash_command(spec));
    }
}

fn add_hooks(spot: &CatalogFolder, places: &CatalogLocations<'_>, gathered: &mut CatalogListing) {
    let is_folder = spot.path.is_dir();
    let holder = if is_folder { HookHolder::File } else { HookHolder::Settings };
    let walk = walk(spot, places);
    let is_json = |file: &PathBuf| file.extension().is_some_and(|end| end.eq_ignore_ascii_case("json"));
    let files = match is_folder {
        true => walk.files(&mut gathered.problems).into_iter().filter(is_json).collect(),
        false => vec![spot.path.clone()],
    };
    for file in files {
        let Some(text) = walk.read(&file, &mut gathered.problems) else { continue };
        // What is wrong with a file of settings is told where settings are read.
        let json: Option<serde_json::Value> = serde_json::from_str(&text).ok();
        let says = |json: &serde_json::Value| {
            json.get("hooks").is_some_and(|hooks| !hooks.is_null()) || json.get("disableAllHooks") == Some(&true.into())
        };
        if !is_folder && !json.as_ref().is_some_and(says) {
            continue;
        }
        if is_forbidden(places, &file, &mut gathered.problems)
            || is_ignored(spot, places, &file, "file of hooks", &mut gathered.problems)
        {
            continue;
        }
        let top = (spot.owner == FolderOwner::Project).then(|| places.top.to_owned());
        gathered.hooks.push(HookText { file, holder: holder.clone(), plugin: None, top, text });
    }
}

/// A catalogue on the network brings definitions, and nothing that runs on its own.
fn add_remote(places: &CatalogLocations<'_>, gathered: &mut CatalogListing) {
    let (RemoteState::Fresh { url } | RemoteState::Cached { url, .. }) = &places.remote.state else { return };
    let Some(text) = &places.remote.text else { return };
    let (name, source) = (Path::new(url), DefinitionSource::Remote { url: url.clone() });
    match definitions::read(name, text, &source, &mut gathered.problems) {
        Ok(drafted) => {
            for AgentDraft { spec, hooks } in drafted {
                if hooks.is_some() {
                    let words =
                        format!("agent `{}`: its hooks are not used, since they come from the network", spec.name);
                    gathered.problems.push(DefinitionProblem::warning(
                        name,
                        words,
                        "put the agent into a file of your own",
                    ));
                }
                gathered.add_agent(AgentDraft { spec, hooks: None }, name, None);
            }
        }
        Err(problem) => gathered.problems.push(problem),
    }
}

fn walk<'a>(spot: &'a CatalogFolder, places: &'a CatalogLocations<'_>) -> DefinitionWalk<'a> {
    let top = match spot.owner {
        FolderOwner::Project => places.top,
        FolderOwner::User => &spot.path,
    };
    DefinitionWalk { top, folder: &spot.path, links: spot.owner.links() }
}

/// Whether a file does not count since nobody has trusted the project; then that is told.
fn is_ignored(
    spot: &CatalogFolder,
    places: &CatalogLocations<'_>,
    file: &Path,
    what: &str,
    problems: &mut Vec<DefinitionProblem>,
) -> bool {
    let why = match (spot.owner, places.trust) {
        (FolderOwner::User, _) | (FolderOwner::Project, TrustStatus::Trusted) => return false,
        (FolderOwner::Project, TrustStatus::Changed) => "the project has changed since you trusted it",
        (FolderOwner::Project, TrustStatus::Untrusted) => "you have not trusted the project",
    };
    problems.push(DefinitionProblem::untrusted(file, format!("this {what} is ignored, since {why}")));
    true
}

pub(super) fn is_forbidden(places: &CatalogLocations<'_>, file: &Path, problems: &mut Vec<DefinitionProblem>) -> bool {
    let Some(by) = &places.no_hooks else { return false };
    let words = format!("its hooks are not used: {} forbids hooks", by.display());
    problems.push(DefinitionProblem::warning(file, words, "ask whoever manages this machine"));
    true
}

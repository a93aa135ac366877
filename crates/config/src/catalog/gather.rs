//! Gathers all definitions.

use std::path::{Path, PathBuf};

use protocol::{DefinitionSource, SlashSpec};

use super::agent::{self, AgentDraft};
use super::commands::{self, CommandFile, CommandFileNaming};
use super::kinds::{is_markdown_definition, skill_files};
use super::locations::{CatalogFolder, CatalogLocations, FolderOwner, InlineDefinitions};
use super::skill;
use super::walk::DefinitionWalk;
use super::{
    CatalogListing, DefinitionProblem, HookHolder, HookText, RemoteState, built_in_agents, definitions, plugin_loader,
    references,
};
use crate::trust::TrustStatus;

/// Gathers all definitions. Fails if a definition among the session's options is not usable.
pub fn gather_catalog(places: &CatalogLocations<'_>) -> Result<CatalogListing, Vec<DefinitionProblem>> {
    let mut gathered = CatalogListing { remote: places.remote.state.clone(), ..CatalogListing::default() };
    for inline in places.inline {
        add_inline(inline, &mut gathered)?;
    }
    for folder in places.agents() {
        add_agents(&folder, places, &mut gathered);
    }
    for folder in places.skills() {
        add_skills(&folder, places, &mut gathered);
    }
    for (folder, naming) in places.commands() {
        add_commands(&folder, naming, places, &mut gathered);
    }
    for folder in places.hooks().into_iter().chain(places.settings()) {
        add_hooks(&folder, places, &mut gathered);
    }
    for folder in plugin_loader::plugin_folders(places) {
        plugin_loader::add_plugin(&folder, places, &mut gathered);
    }
    add_remote(places, &mut gathered);
    for spec in built_in_agents() {
        gathered.add_agent(AgentDraft::plain(spec), Path::new(""), None);
    }
    mark_project_hooks(places, &mut gathered);
    remove_forbidden_hooks(places, &mut gathered);
    references::check_references(&mut gathered);
    Ok(gathered)
}

/// Marks the hooks in the project's agent definitions as the project's.
fn mark_project_hooks(places: &CatalogLocations<'_>, gathered: &mut CatalogListing) {
    for agent in
        gathered.agents.iter_mut().filter(|agent| matches!(agent.spec.source, DefinitionSource::Project { .. }))
    {
        agent.hooks.iter_mut().for_each(|hooks| hooks.project_dir = Some(places.project_dir.to_owned()));
    }
}

/// Removes the hooks in agent definitions where hooks are forbidden.
fn remove_forbidden_hooks(places: &CatalogLocations<'_>, gathered: &mut CatalogListing) {
    for agent in &mut gathered.agents {
        agent.hooks.take_if(|hooks| ignore_if_hooks_forbidden(places, &hooks.file, &mut gathered.problems));
    }
}

/// Adds the definitions among the session's options. The user asked for them, so an error in one of them is fatal.
fn add_inline(inline: &InlineDefinitions<'_>, gathered: &mut CatalogListing) -> Result<(), Vec<DefinitionProblem>> {
    let mut problems = Vec::new();
    let drafts = definitions::read(inline.name, inline.text, &DefinitionSource::Flag, &mut problems);
    let drafts = drafts.map_err(|problem| vec![problem])?;
    if problems.iter().any(|problem| problem.severity == super::Severity::Error) {
        return Err(problems);
    }
    gathered.problems.extend(problems);
    for draft in drafts {
        if let Some(first) = gathered.agent(&draft.spec.name) {
            let message = format!("the agent `{}` is defined twice", first.spec.name);
            return Err(vec![DefinitionProblem::error(inline.name, message, "remove one")]);
        }
        gathered.add_agent(draft, inline.name, None);
    }
    Ok(())
}

fn add_agents(folder: &CatalogFolder, places: &CatalogLocations<'_>, gathered: &mut CatalogListing) {
    let walk = walk(folder, places);
    for file in walk.files(&mut gathered.problems).into_iter().filter(|file| is_markdown_definition(file)) {
        if ignore_if_untrusted(folder, places, &file, "agent", &mut gathered.problems) {
            continue;
        }
        let Some(text) = walk.read(&file, &mut gathered.problems) else { continue };
        let source = folder.owner.source(&file);
        if let Some(drafted) = agent::from_markdown(&file, &text, source, &mut gathered.problems) {
            gathered.add_agent(drafted, &file, None);
        }
    }
}

fn add_skills(folder: &CatalogFolder, places: &CatalogLocations<'_>, gathered: &mut CatalogListing) {
    let walk = walk(folder, places);
    let files = walk.files(&mut gathered.problems);
    for file in skill_files(&folder.path, &files, &mut gathered.problems) {
        if ignore_if_untrusted(folder, places, &file, "skill", &mut gathered.problems) {
            continue;
        }
        let Some(text) = walk.read(&file, &mut gathered.problems) else { continue };
        let source = folder.owner.source(&file);
        let read = skill::read(&file, &text, source, &mut gathered.problems);
        read.into_iter().for_each(|spec| gathered.add_skill(spec));
    }
}

fn add_commands(
    folder: &CatalogFolder,
    naming: CommandFileNaming,
    places: &CatalogLocations<'_>,
    gathered: &mut CatalogListing,
) {
    let walk = walk(folder, places);
    for file in walk.files(&mut gathered.problems).into_iter().filter(|file| naming.is_command(file)) {
        let place = CommandFile { file: &file, folder: &folder.path, plugin: None };
        let source = folder.owner.source(&file);
        if ignore_if_untrusted(folder, places, &file, "slash command", &mut gathered.problems) {
            let spec = |name| SlashSpec { name, file: file.display().to_string(), source, ..SlashSpec::default() };
            gathered.untrusted.extend(place.default_name().map(spec));
            continue;
        }
        let Some(text) = walk.read(&file, &mut gathered.problems) else { continue };
        let read = commands::read(place, &text, source, &mut gathered.problems);
        read.into_iter().for_each(|spec| gathered.add_slash_command(spec));
    }
}

fn add_hooks(folder: &CatalogFolder, places: &CatalogLocations<'_>, gathered: &mut CatalogListing) {
    let is_folder = folder.path.is_dir();
    let holder = if is_folder { HookHolder::File } else { HookHolder::Settings };
    let walk = walk(folder, places);
    let is_json = |file: &PathBuf| file.extension().is_some_and(|end| end.eq_ignore_ascii_case("json"));
    let files = match is_folder {
        true => walk.files(&mut gathered.problems).into_iter().filter(is_json).collect(),
        false => vec![folder.path.clone()],
    };
    for file in files {
        let Some(text) = walk.read(&file, &mut gathered.problems) else { continue };
        // Problems in a settings file are reported when settings are read.
        let json: Option<serde_json::Value> = serde_json::from_str(&text).ok();
        let has_hooks = |json: &serde_json::Value| {
            json.get("hooks").is_some_and(|hooks| !hooks.is_null()) || json.get("disableAllHooks") == Some(&true.into())
        };
        if !is_folder && !json.as_ref().is_some_and(has_hooks) {
            continue;
        }
        if ignore_if_hooks_forbidden(places, &file, &mut gathered.problems)
            || ignore_if_untrusted(folder, places, &file, "hook file", &mut gathered.problems)
        {
            continue;
        }
        let top = (folder.owner == FolderOwner::Project).then(|| places.project_dir.to_owned());
        gathered.hooks.push(HookText { file, holder: holder.clone(), plugin: None, project_dir: top, text });
    }
}

/// Adds the remote catalogue's definitions, without their hooks and MCP servers.
fn add_remote(places: &CatalogLocations<'_>, gathered: &mut CatalogListing) {
    let (RemoteState::Fresh { url } | RemoteState::Cached { url, .. }) = &places.remote.state else { return };
    let Some(text) = &places.remote.text else { return };
    let (name, source) = (Path::new(url), DefinitionSource::Remote { url: url.clone() });
    match definitions::read(name, text, &source, &mut gathered.problems) {
        Ok(drafts) => {
            for AgentDraft { spec, hooks, mcp_servers } in drafts {
                let ignored = [hooks.map(|_| "hooks"), (!mcp_servers.is_empty()).then_some("MCP servers")];
                for what in ignored.into_iter().flatten() {
                    let message =
                        format!("agent `{}`: its {what} are ignored, since they come from the network", spec.name);
                    gathered.problems.push(DefinitionProblem::warning(
                        name,
                        message,
                        "put the agent into a file of your own",
                    ));
                }
                gathered.add_agent(AgentDraft::plain(spec), name, None);
            }
        }
        Err(problem) => gathered.problems.push(problem),
    }
}

fn walk<'a>(folder: &'a CatalogFolder, places: &'a CatalogLocations<'_>) -> DefinitionWalk<'a> {
    let top = match folder.owner {
        FolderOwner::Project => places.project_dir,
        FolderOwner::User => &folder.path,
    };
    DefinitionWalk { boundary: top, folder: &folder.path, links: folder.owner.link_policy() }
}

/// Whether a file is ignored because the user has not trusted the project; reports it if so.
fn ignore_if_untrusted(
    folder: &CatalogFolder,
    places: &CatalogLocations<'_>,
    file: &Path,
    what: &str,
    problems: &mut Vec<DefinitionProblem>,
) -> bool {
    let why = match (folder.owner, places.trust) {
        (FolderOwner::User, _) | (FolderOwner::Project, TrustStatus::Trusted) => return false,
        (FolderOwner::Project, TrustStatus::Changed) => "the project has changed since you trusted it",
        (FolderOwner::Project, TrustStatus::Untrusted) => "you have not trusted the project",
    };
    problems.push(DefinitionProblem::untrusted(file, format!("this {what} is ignored, since {why}")));
    true
}

pub(super) fn ignore_if_hooks_forbidden(
    places: &CatalogLocations<'_>,
    file: &Path,
    problems: &mut Vec<DefinitionProblem>,
) -> bool {
    let Some(managed_file) = &places.hooks_forbidden_by else { return false };
    let message = format!("its hooks are ignored: {} forbids hooks", managed_file.display());
    problems.push(DefinitionProblem::warning(file, message, "ask the administrator of this machine"));
    true
}

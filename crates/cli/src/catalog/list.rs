//! `bosun catalog list`: one line per definition.

use std::path::Path;

use config::{
    DefinitionProblem, ListedAgent, ListedSkill, ListedSlashCommand, LoadedCatalog, Plugin, RemoteState, Severity,
};
use host::{Clock, SystemClock};
use protocol::DefinitionSource;
use protocol::api::{CatalogView, DefinitionView, PluginView};
use serde::Serialize;
use tui::print;

/// The catalogue as JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CatalogListOutput<'a> {
    agents: Vec<CatalogRow<'a>>,
    skills: Vec<CatalogRow<'a>>,
    commands: Vec<CatalogRow<'a>>,
    plugins: Vec<PluginRow<'a>>,
    /// Files of the project that are ignored because the user has not trusted it.
    ignored: Vec<&'a Path>,
    remote: &'a RemoteState,
    problems: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CatalogRow<'a> {
    name: &'a str,
    description: &'a str,
    source: &'a DefinitionSource,
    /// The definition with the same name that is used instead.
    shadowed_by: Option<&'a DefinitionSource>,
    user_invocable: bool,
    model_invocable: bool,
    /// Features it requests that this version does not support.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    unserved: &'a [String],
}

#[derive(Serialize)]
struct PluginRow<'a> {
    name: &'a str,
    version: Option<&'a str>,
    folder: String,
}

pub(super) fn list(catalog: &LoadedCatalog, json: bool) {
    let listing = &catalog.listing;
    let agents: Vec<CatalogRow<'_>> = listing.agents.iter().map(CatalogRow::from).collect();
    let skills: Vec<CatalogRow<'_>> = listing.skills.iter().map(CatalogRow::from).collect();
    let commands: Vec<CatalogRow<'_>> = listing.slash_commands.iter().map(CatalogRow::from).collect();
    let plugins: Vec<PluginRow<'_>> = listing.plugins.iter().map(PluginRow::from).collect();
    let untrusted = |problem: &&DefinitionProblem| problem.severity == Severity::Untrusted;
    let ignored: Vec<&Path> = listing.problems.iter().filter(untrusted).map(|problem| problem.file.as_path()).collect();
    let problems = listing.problems.len();
    if json {
        return print::json(&CatalogListOutput {
            agents,
            skills,
            commands,
            plugins,
            ignored,
            remote: &listing.remote,
            problems,
        });
    }
    print_rows("agents", &agents);
    print_rows("skills", &skills);
    print_rows("commands", &commands);
    if !plugins.is_empty() {
        print::output("plugins");
    }
    for PluginRow { name, version, folder } in &plugins {
        print::row(print::sanitize(&format!("  {name:<20}  {:<10}  {folder}", version.unwrap_or_default())));
    }
    if !ignored.is_empty() {
        print::output("ignored, since you have not trusted the project (`bosun trust`)");
    }
    for file in ignored {
        print::row(print::sanitize(&format!("  {}", file.display())).replace(['\n', '\t'], " "));
    }
    if let Some((_, message)) = listing.remote.problem(SystemClock.now()) {
        print::note(print::sanitize(&message));
    }
    if problems > 0 {
        print::note(format_args!("{}: see `bosun catalog check`", print::pluralize(problems, "problem")));
    }
}

/// The catalogue as other clients see it.
pub(super) fn view(catalog: &LoadedCatalog) -> CatalogView {
    let listing = &catalog.listing;
    let is_untrusted = |problem: &&DefinitionProblem| problem.severity == Severity::Untrusted;
    let ignored = listing.problems.iter().filter(is_untrusted).map(|problem| problem.file.display().to_string());
    CatalogView {
        agents: listing.agents.iter().map(|agent| definition_view(agent.into())).collect(),
        skills: listing.skills.iter().map(|skill| definition_view(skill.into())).collect(),
        commands: listing.slash_commands.iter().map(|slash| definition_view(slash.into())).collect(),
        plugins: listing.plugins.iter().map(plugin_view).collect(),
        ignored: ignored.collect(),
        problems: listing.problems.len() as u64,
    }
}

fn definition_view(row: CatalogRow<'_>) -> DefinitionView {
    DefinitionView {
        name: row.name.to_owned(),
        description: row.description.to_owned(),
        source: row.source.clone(),
        shadowed_by: row.shadowed_by.cloned(),
        user_invocable: row.user_invocable,
        model_invocable: row.model_invocable,
        unserved: row.unserved.to_vec(),
    }
}

fn plugin_view(Plugin { name, version, folder, .. }: &Plugin) -> PluginView {
    PluginView { name: name.clone(), version: version.clone(), folder: folder.display().to_string() }
}

fn print_rows(title: &str, rows: &[CatalogRow<'_>]) {
    if !rows.is_empty() {
        print::output(title);
    }
    for row in rows {
        let state = match (row.shadowed_by, row.unserved.is_empty()) {
            (Some(replacement), _) => format!("  (not used: replaced by {replacement})"),
            (None, false) => "  (cannot be started)".to_owned(),
            (None, true) => String::new(),
        };
        let text = format!("  {:<20}  {}{state}", row.name, row.source);
        print::row(print::sanitize(&text).replace(['\n', '\t'], " "));
        if row.shadowed_by.is_none() {
            let description = print::one_line(row.description, 200);
            print::row(print::sanitize(&format!("  {:<20}  {description}", "")));
        }
    }
}

impl<'a> From<&'a ListedAgent> for CatalogRow<'a> {
    fn from(ListedAgent { spec, shadowed_by, .. }: &'a ListedAgent) -> CatalogRow<'a> {
        CatalogRow {
            name: &spec.name,
            description: &spec.description,
            source: &spec.source,
            shadowed_by: shadowed_by.as_ref(),
            user_invocable: spec.user_invocable,
            model_invocable: spec.model_invocable,
            unserved: &spec.unsupported,
        }
    }
}

impl<'a> From<&'a ListedSkill> for CatalogRow<'a> {
    fn from(ListedSkill { spec, shadowed_by }: &'a ListedSkill) -> CatalogRow<'a> {
        CatalogRow {
            name: &spec.name,
            description: &spec.description,
            source: &spec.source,
            shadowed_by: shadowed_by.as_ref(),
            user_invocable: spec.user_invocable,
            model_invocable: spec.model_invocable,
            unserved: &[],
        }
    }
}

impl<'a> From<&'a ListedSlashCommand> for CatalogRow<'a> {
    fn from(ListedSlashCommand { spec, shadowed_by }: &'a ListedSlashCommand) -> CatalogRow<'a> {
        CatalogRow {
            name: &spec.name,
            description: &spec.description,
            source: &spec.source,
            shadowed_by: shadowed_by.as_ref(),
            user_invocable: true,
            model_invocable: false,
            unserved: &[],
        }
    }
}

impl<'a> From<&'a Plugin> for PluginRow<'a> {
    fn from(plugin: &'a Plugin) -> PluginRow<'a> {
        let Plugin { name, version, folder, .. } = plugin;
        PluginRow { name, version: version.as_deref(), folder: folder.display().to_string() }
    }
}

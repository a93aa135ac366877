//! `bosun catalog list`: one line per definition.

use config::{LoadedCatalog, RemoteState};
use host::{Clock, SystemClock};
use protocol::api::{CatalogView, DefinitionView, PluginView};
use serde::Serialize;
use tui::print;

/// The catalogue as JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CatalogListOutput<'a> {
    agents: Vec<DefinitionView>,
    skills: Vec<DefinitionView>,
    commands: Vec<DefinitionView>,
    plugins: Vec<PluginView>,
    /// Files of the project that are ignored because the user has not trusted it.
    ignored: Vec<String>,
    remote: &'a RemoteState,
    problems: u64,
}

pub(super) fn list(catalog: &LoadedCatalog, json: bool) {
    let remote = &catalog.listing.remote;
    let CatalogView { agents, skills, commands, plugins, ignored, problems } = config::catalog_view(catalog);
    if json {
        return print::json(&CatalogListOutput { agents, skills, commands, plugins, ignored, remote, problems });
    }
    print_definitions("agents", &agents);
    print_definitions("skills", &skills);
    print_definitions("commands", &commands);
    if !plugins.is_empty() {
        print::output("plugins");
    }
    for PluginView { name, version, folder } in &plugins {
        print::row(print::sanitize(&format!("  {name:<20}  {:<10}  {folder}", version.as_deref().unwrap_or_default())));
    }
    if !ignored.is_empty() {
        print::output("ignored, since you have not trusted the project (`bosun trust`)");
    }
    for file in ignored {
        print::row(print::sanitize(&format!("  {file}")).replace(['\n', '\t'], " "));
    }
    if let Some((_, message)) = remote.problem(SystemClock.now()) {
        print::note(print::sanitize(&message));
    }
    if problems > 0 {
        let problems = print::pluralize(usize::try_from(problems).unwrap_or(usize::MAX), "problem");
        print::note(format_args!("{problems}: see `bosun catalog check`"));
    }
}

fn print_definitions(title: &str, definitions: &[DefinitionView]) {
    if !definitions.is_empty() {
        print::output(title);
    }
    for definition in definitions {
        let state = match (&definition.shadowed_by, definition.unserved.is_empty()) {
            (Some(replacement), _) => format!("  (not used: replaced by {replacement})"),
            (None, false) => "  (cannot be started)".to_owned(),
            (None, true) => String::new(),
        };
        let text = format!("  {:<20}  {}{state}", definition.name, definition.source);
        print::row(print::sanitize(&text).replace(['\n', '\t'], " "));
        if definition.shadowed_by.is_none() {
            let description = print::one_line(&definition.description, 200);
            print::row(print::sanitize(&format!("  {:<20}  {description}", "")));
        }
    }
}

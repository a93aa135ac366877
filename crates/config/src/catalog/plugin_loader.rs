//! Adds the contents of plugins to the catalogue.

use std::path::{Path, PathBuf};

use super::gather::ignore_if_hooks_forbidden;
use super::kinds::{is_markdown_definition, skill_files};
use super::locations::CatalogLocations;
use super::plugin::{Plugin, PluginContents};
use super::walk::{DefinitionWalk, LinkPolicy};
use super::{CatalogListing, DefinitionProblem, HookHolder, HookText, agent, commands, skill};
use crate::mcp_servers::{McpServerDefinition, McpServerOrigin, ServerFile};
use protocol::SettingsFileScope;

/// The plugin folders: those on the command line, then those in Bosun's home.
pub(super) fn plugin_folders(places: &CatalogLocations<'_>) -> Vec<PathBuf> {
    let mut folders = places.plugins.to_vec();
    if places.scopes.contains(&SettingsFileScope::User) {
        let entries = std::fs::read_dir(places.home.join("plugins")).into_iter().flatten().flatten();
        let mut own: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
        own.sort();
        folders.extend(own);
    }
    folders
}

/// Adds a plugin and everything in it.
pub(super) fn add_plugin(folder: &Path, places: &CatalogLocations<'_>, gathered: &mut CatalogListing) {
    let Some(contents) = PluginContents::read(folder, &mut gathered.problems) else { return };
    let PluginContents { plugin, agents, skills, commands, hooks, inline_hooks: inline, mcp_files, inline_mcp } =
        contents;
    let mut loader = PluginLoader { plugin_dir: &plugin.folder, plugin: &plugin, places, gathered };
    loader.add_agents(&agents);
    loader.add_skills(&skills);
    loader.add_commands(&commands);
    for file in hooks {
        let text = loader.read(&file);
        text.into_iter().for_each(|text| loader.add_hooks(file.clone(), text));
    }
    if let Some((file, json)) = inline {
        loader.add_hooks(file, serde_json::json!({ "hooks": json }).to_string());
    }
    for file in mcp_files {
        let text = loader.read(&file);
        text.into_iter().for_each(|text| loader.add_servers(&file, &text));
    }
    if let Some((file, json)) = inline_mcp {
        loader.add_servers(&file, &json.to_string());
    }
    gathered.plugins.push(plugin);
}

/// Adds one plugin's contents to the listing.
struct PluginLoader<'a> {
    plugin_dir: &'a Path,
    plugin: &'a Plugin,
    places: &'a CatalogLocations<'a>,
    gathered: &'a mut CatalogListing,
}

impl PluginLoader<'_> {
    fn add_agents(&mut self, paths: &[PathBuf]) {
        for file in self.markdown_files(paths) {
            let Some(text) = self.read(&file) else { continue };
            let source = self.plugin.source(&file);
            if let Some(drafted) = agent::from_markdown(&file, &text, source, &mut self.gathered.problems) {
                self.gathered.add_agent(drafted, &file, Some(self.plugin_dir));
            }
        }
    }

    fn add_skills(&mut self, paths: &[PathBuf]) {
        for path in paths {
            let files = self.files(path);
            for file in skill_files(path, &files, &mut self.gathered.problems) {
                self.add_skill(&file);
            }
        }
    }

    fn add_commands(&mut self, paths: &[PathBuf]) {
        for path in paths {
            // A file that the manifest names directly is not in a command folder.
            let folder = if path.is_dir() { path } else { path.parent().unwrap_or(path) };
            for file in self.markdown_files(std::slice::from_ref(path)) {
                let Some(text) = self.read(&file) else { continue };
                let place = commands::CommandFile { file: &file, folder, plugin: Some(&self.plugin.name) };
                let spec = commands::read(place, &text, self.plugin.source(&file), &mut self.gathered.problems);
                spec.into_iter().for_each(|spec| self.gathered.add_slash_command(spec));
            }
        }
    }

    fn add_skill(&mut self, file: &Path) {
        let Some(text) = self.read(file) else { return };
        let spec = skill::read(file, &text, self.plugin.source(file), &mut self.gathered.problems);
        spec.into_iter().for_each(|spec| self.gathered.add_skill(spec));
    }

    fn add_hooks(&mut self, file: PathBuf, text: String) {
        if !ignore_if_hooks_forbidden(self.places, &file, &mut self.gathered.problems) {
            let plugin = Some(self.plugin_dir.to_owned());
            self.gathered.hooks.push(HookText { file, holder: HookHolder::File, plugin, project_dir: None, text });
        }
    }

    /// Adds the MCP servers of a text. A plugin that names a server which another one has too does not replace it.
    fn add_servers(&mut self, file: &Path, text: &str) {
        let ServerFile { servers, unused_keys } = match ServerFile::parse_plugin(text) {
            Ok(parsed) => parsed,
            Err(why) => {
                let problem =
                    DefinitionProblem::error(file, format!("its MCP servers cannot be read: {why}"), "correct it");
                self.gathered.problems.push(problem);
                return;
            }
        };
        if !unused_keys.is_empty() {
            let message = format!("these keys of MCP servers have no effect: {}", unused_keys.join(", "));
            self.gathered.problems.push(DefinitionProblem::warning(file, message, "remove them"));
        }
        let origin = McpServerOrigin::Plugin { plugin: self.plugin.name.clone(), folder: self.plugin_dir.to_owned() };
        let servers = servers.into_iter();
        let definitions = servers.map(|(name, spec)| McpServerDefinition { name, spec, origin: origin.clone() });
        self.gathered.plugin_servers.extend(definitions);
    }

    /// The Markdown files at these paths. A file that the manifest names directly and is not Markdown is an error.
    fn markdown_files(&mut self, paths: &[PathBuf]) -> Vec<PathBuf> {
        let mut markdown = Vec::new();
        for path in paths {
            let files = self.files(path);
            if files.as_slice() == std::slice::from_ref(path) && !is_markdown_definition(path) {
                let message = "the plugin names it, but it is not a Markdown file";
                self.gathered.problems.push(DefinitionProblem::error(path, message, "name a file that ends in .md"));
            }
            markdown.extend(files.into_iter().filter(|file| is_markdown_definition(file)));
        }
        markdown
    }

    fn files(&mut self, path: &Path) -> Vec<PathBuf> {
        match path.is_dir() {
            true => self.walk(path).files(&mut self.gathered.problems),
            false => vec![path.to_owned()],
        }
    }

    fn read(&mut self, file: &Path) -> Option<String> {
        self.walk(file).read(file, &mut self.gathered.problems)
    }

    fn walk<'b>(&self, folder: &'b Path) -> DefinitionWalk<'b>
    where
        Self: 'b,
    {
        DefinitionWalk { boundary: self.plugin_dir, folder, links: LinkPolicy::Refused }
    }
}

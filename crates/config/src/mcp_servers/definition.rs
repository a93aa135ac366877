//! Definitions of MCP servers, and what defines them.

use std::fmt;
use std::path::PathBuf;

use protocol::api::McpServerScope;
use protocol::{DefinitionSource, McpServerSpec};

use crate::origin::SettingOrigin;

/// A definition before it is checked.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct McpServerDefinition {
    pub(crate) name: String,
    pub(crate) spec: McpServerSpec,
    pub(crate) origin: McpServerOrigin,
}

/// What defines an MCP server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum McpServerOrigin {
    /// A settings file, `.mcp.json`, or the options of the session.
    Settings(SettingOrigin),
    /// The definition of an agent, whose agents alone use it.
    Agent {
        /// The name of the definition.
        agent: String,
        /// Where the definition is.
        source: DefinitionSource,
        /// The folder of the plugin that brings the definition.
        plugin: Option<PathBuf>,
    },
    /// A plugin.
    Plugin {
        /// The plugin's name.
        plugin: String,
        /// Its folder.
        folder: PathBuf,
    },
}

impl McpServerOrigin {
    /// The kind of place.
    pub fn scope(&self) -> McpServerScope {
        match self {
            McpServerOrigin::Settings(origin) => match origin {
                SettingOrigin::Managed(_) => McpServerScope::Managed,
                SettingOrigin::Flag | SettingOrigin::SettingsFlag(_) | SettingOrigin::Session => {
                    McpServerScope::Session
                }
                SettingOrigin::Local(_) => McpServerScope::Local,
                SettingOrigin::Project(_) => McpServerScope::Project,
                SettingOrigin::Variable(_) | SettingOrigin::User(_) | SettingOrigin::BuiltIn => McpServerScope::User,
            },
            McpServerOrigin::Agent { source, .. } => match source {
                DefinitionSource::Project { .. } => McpServerScope::Project,
                DefinitionSource::Plugin { .. } => McpServerScope::Plugin,
                DefinitionSource::Flag => McpServerScope::Session,
                DefinitionSource::User { .. } | DefinitionSource::Remote { .. } | DefinitionSource::BuiltIn => {
                    McpServerScope::User
                }
            },
            McpServerOrigin::Plugin { .. } => McpServerScope::Plugin,
        }
    }

    /// The definition whose agents alone use the server.
    pub fn agent(&self) -> Option<&str> {
        match self {
            McpServerOrigin::Agent { agent, .. } => Some(agent),
            McpServerOrigin::Settings(_) | McpServerOrigin::Plugin { .. } => None,
        }
    }

    /// Whether a file of the project defines it, so that the user trusts its files with the project.
    pub(crate) fn is_project(&self) -> bool {
        matches!(
            self,
            McpServerOrigin::Settings(SettingOrigin::Project(_))
                | McpServerOrigin::Agent { source: DefinitionSource::Project { .. }, .. }
        )
    }

    /// The value of a variable that only definitions of this origin may use.
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        let folder = match self {
            McpServerOrigin::Plugin { folder, .. } => Some(folder),
            McpServerOrigin::Agent { plugin, .. } => plugin.as_ref(),
            McpServerOrigin::Settings(_) => None,
        };
        folder.filter(|_| PLUGIN_FOLDER_VARIABLES.contains(&name)).map(|folder| folder.display().to_string())
    }
}

/// The names of a plugin's own folder in its files.
const PLUGIN_FOLDER_VARIABLES: [&str; 2] = ["CLAUDE_PLUGIN_ROOT", "PLUGIN_ROOT"];

impl fmt::Display for McpServerOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            McpServerOrigin::Settings(origin) => origin.fmt(f),
            McpServerOrigin::Agent { agent, source, .. } => write!(f, "the agent {agent}, {source}"),
            McpServerOrigin::Plugin { plugin, folder } => write!(f, "the plugin {plugin}, {}", folder.display()),
        }
    }
}

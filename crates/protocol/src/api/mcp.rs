//! API types for MCP servers: those of a session, and those that settings define.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::UserSettingsScope;
use crate::{McpServerKind, McpServerSpec};

/// The MCP servers of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpServersResult {
    /// The servers, sorted by name; those of agents after the others.
    pub servers: Vec<McpServerView>,
}

/// An MCP server of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpServerView {
    /// Its name.
    pub name: String,
    /// Whether it can be used now.
    pub status: McpServerStatus,
    /// Why it cannot be used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What kind of place defines it.
    pub scope: McpServerScope,
    /// The file or other place that defines it.
    pub origin: String,
    /// The agent that alone uses it, if an agent's definition has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// How it is reached, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<McpServerKind>,
    /// Its program with arguments, or its URL, as written.
    pub address: String,
    /// The name and version that it gives itself, once it is connected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_info: Option<McpServerIdentity>,
    /// The tools that agents may call, by the server's own names, once they have been listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<McpToolView>>,
}

/// Whether an MCP server can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum McpServerStatus {
    /// It starts when an agent needs it.
    Ready,
    /// It is being started.
    Pending,
    /// It is connected.
    Connected,
    /// It cannot be used.
    Failed,
    /// It wants the user to sign in.
    NeedsAuth,
    /// It is switched off.
    Disabled,
    /// A status from a newer version.
    #[serde(other)]
    Unknown,
}

impl McpServerStatus {
    /// The status as people read it.
    pub fn as_str(self) -> &'static str {
        match self {
            McpServerStatus::Ready => "ready",
            McpServerStatus::Pending => "starting",
            McpServerStatus::Connected => "connected",
            McpServerStatus::Failed => "failed",
            McpServerStatus::NeedsAuth => "needs you to sign in",
            McpServerStatus::Disabled => "disabled",
            McpServerStatus::Unknown => "unknown",
        }
    }
}

/// The kind of place that defines an MCP server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum McpServerScope {
    /// A managed file.
    Managed,
    /// The session's options, or its client while it ran.
    Session,
    /// The user's file for the project.
    Local,
    /// A file of the project.
    Project,
    /// The user's file.
    User,
    /// A plugin.
    Plugin,
    /// A place from a newer version.
    #[serde(other)]
    Unknown,
}

/// The name and version that an MCP server gives itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpServerIdentity {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// A tool of an MCP server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpToolView {
    /// The server's name for it.
    pub name: String,
    /// The name by which models and rules know it.
    pub full_name: String,
    /// When and how to use it.
    pub description: String,
    /// Whether the server claims that it only reads.
    pub read_only: bool,
}

/// The name of an MCP server of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct McpServerNameParams {
    /// The server.
    pub name: String,
}

/// Switches an MCP server of a session on or off. The session remembers it when it is resumed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ToggleMcpServerParams {
    /// The server.
    pub name: String,
    /// Whether agents may use it.
    pub enabled: bool,
}

/// The MCP servers that a client defines while a session runs. They replace those of its last such call, and last as long
/// as this process runs the session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SetMcpServersParams {
    /// The servers, by name.
    pub servers: BTreeMap<String, McpServerSpec>,
}

/// What changed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SetMcpServersResult {
    /// The servers that were added or replaced.
    pub added: Vec<String>,
    /// The servers that were removed.
    pub removed: Vec<String>,
    /// Why servers cannot be used, by name.
    pub errors: BTreeMap<String, String>,
}

/// The MCP servers that sessions in a folder may use.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ListMcpServersParams {
    /// The folder; that of the process that answers when absent.
    pub cwd: Option<String>,
    /// More servers, as JSON text or as the names of files, in the syntax of `--mcp-config`.
    pub sources: Vec<String>,
    /// Uses no servers but those of `sources`.
    pub only_these: bool,
}

/// The MCP servers that are defined for a folder.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpDefinitionsResult {
    /// The servers, sorted by name.
    pub servers: Vec<McpDefinitionView>,
    /// What is wrong with the files that define servers.
    pub problems: Vec<String>,
}

/// An MCP server that is defined for a folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpDefinitionView {
    /// Its name.
    pub name: String,
    /// Whether sessions have it.
    pub state: McpDefinitionState,
    /// Why they do not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Its program with arguments, or its URL, as written.
    pub address: String,
    /// What kind of place defines it.
    pub scope: McpServerScope,
    /// The file or other place that defines it.
    pub origin: String,
    /// The agent that alone uses it, if an agent's definition has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

/// Whether sessions have an MCP server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum McpDefinitionState {
    /// They have it.
    Ready,
    /// They have it once the user has signed in.
    NeedsLogin,
    /// It is left out on purpose.
    Disabled,
    /// It cannot be used.
    Unusable,
    /// A state from a newer version.
    #[serde(other)]
    Unknown,
}

impl McpDefinitionState {
    /// The state as people read it.
    pub fn as_str(self) -> &'static str {
        match self {
            McpDefinitionState::Ready => "ready",
            McpDefinitionState::NeedsLogin => "needs login",
            McpDefinitionState::Disabled => "disabled",
            McpDefinitionState::Unusable => "unusable",
            McpDefinitionState::Unknown => "unknown",
        }
    }
}

/// An MCP server to add to the user's settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AddMcpServerParams {
    /// The folder of the project; that of the process that answers when absent.
    #[serde(default)]
    pub cwd: Option<String>,
    /// Which of the user's settings files to write; that for all projects when absent.
    #[serde(default = "for_all_projects")]
    pub scope: UserSettingsScope,
    /// The server's name.
    pub name: String,
    /// How it is reached.
    pub server: McpServerSpec,
}

/// An MCP server to remove from the user's settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RemoveMcpServerParams {
    /// The folder of the project; that of the process that answers when absent.
    #[serde(default)]
    pub cwd: Option<String>,
    /// Which of the user's settings files has it; that for all projects when absent.
    #[serde(default = "for_all_projects")]
    pub scope: UserSettingsScope,
    /// The server's name.
    pub name: String,
}

fn for_all_projects() -> UserSettingsScope {
    UserSettingsScope::User
}

/// The settings file that was changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpSettingsFile {
    /// Its path.
    pub path: String,
}

/// An MCP server to start and ask for its tools.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct TestMcpServerParams {
    /// The folder; that of the process that answers when absent.
    pub cwd: Option<String>,
    /// The server.
    pub name: String,
    /// More servers, as JSON text or as the names of files, in the syntax of `--mcp-config`.
    pub sources: Vec<String>,
    /// Uses no servers but those of `sources`.
    pub only_these: bool,
}

/// What an MCP server shows when it is started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpTestResult {
    /// Its name.
    pub name: String,
    /// The revision of the protocol that it speaks.
    pub protocol: String,
    /// Its tools.
    pub tools: Vec<TestedMcpTool>,
    /// Its prompts.
    pub prompts: Vec<TestedMcpPrompt>,
    /// Whether it has resources.
    pub has_resources: bool,
    /// Why some of its tools cannot be used.
    pub rejected: Vec<String>,
}

/// A tool of a server that was started to be tested.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TestedMcpTool {
    /// The name by which models and rules know it.
    pub name: String,
    /// When and how to use it.
    pub description: String,
}

/// A prompt of a tested MCP server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TestedMcpPrompt {
    /// The slash command that runs it, with its arguments.
    pub usage: String,
    /// What it is for.
    pub description: String,
}

/// What an MCP server wrote to its error output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpLogResult {
    /// The text; absent if it has written nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

//! The MCP servers that are defined for a session, and whether it has them.

use std::ffi::OsString;
use std::path::Path;

use host::Home;
use mcp::{DefinedMcpServer, LoginStore, McpLogins, McpServerSettings, McpServersConfig};
use net::{NetworkRoute, Secret};
use protocol::{McpServerSpec, Refusal, SessionOptions};

use super::check::DefinitionCheck;
use super::definition::{McpServerDefinition, McpServerOrigin};
use super::sources::option_definitions;
use crate::catalog::CatalogListing;
use crate::env::Env;
use crate::layers::SettingsLayers;

/// The folder of the servers' logs in Bosun's home.
pub const MCP_LOGS: &str = "logs/mcp";

/// The most servers of one session.
const MAX_SERVERS: usize = 64;

/// The servers that are defined for a session.
#[derive(Debug, Clone, Default)]
pub struct McpServerSet {
    /// The servers, sorted by name.
    pub servers: Vec<ListedMcpServer>,
    /// What is wrong with the files that define servers.
    pub problems: Vec<String>,
}

/// A server that is defined for a session.
#[derive(Debug, Clone)]
pub struct ListedMcpServer {
    /// Its name.
    pub name: String,
    /// What defines it.
    pub origin: McpServerOrigin,
    /// Its program with arguments, or its URL, as written.
    pub address: String,
    /// Whether the session has it.
    pub state: McpServerState,
}

/// Whether a session has a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum McpServerState {
    /// It is started when an agent needs it.
    Ready(McpServerSettings),
    /// It is left out on purpose, with its settings, or why it could not be used.
    Disabled(Result<McpServerSettings, String>),
    /// It cannot be used, for this reason.
    Unusable(String),
}

impl McpServerSet {
    /// Fails if sessions do not have the server of this name that no agent's definition brings.
    pub fn require_ready(&self, name: &str) -> Result<(), Refusal> {
        let is_named = |server: &&ListedMcpServer| server.name == name && server.origin.agent().is_none();
        let server = self.servers.iter().find(is_named).ok_or_else(|| McpServerSet::unknown(name))?;
        match &server.state {
            McpServerState::Ready(_) => Ok(()),
            McpServerState::Disabled(_) => Err(Refusal::new(format!("the MCP server `{name}` is disabled"))),
            McpServerState::Unusable(why) => Err(Refusal::new(format!("the MCP server `{name}` is not used: {why}"))),
        }
    }

    /// There is no server of this name.
    pub fn unknown(name: &str) -> Refusal {
        Refusal::new(format!("there is no MCP server `{name}` here")).with_hint("`bosun mcp list` shows the servers")
    }

    /// The servers that may be used.
    pub fn ready(&self) -> impl Iterator<Item = &McpServerSettings> {
        self.servers.iter().filter_map(|server| match &server.state {
            McpServerState::Ready(settings) => Some(settings),
            McpServerState::Disabled(_) | McpServerState::Unusable(_) => None,
        })
    }

    /// The servers that may be used, or could be if they were switched on.
    fn startable(&self) -> impl Iterator<Item = &McpServerSettings> {
        self.servers.iter().filter_map(|server| match &server.state {
            McpServerState::Ready(settings) | McpServerState::Disabled(Ok(settings)) => Some(settings),
            McpServerState::Disabled(Err(_)) | McpServerState::Unusable(_) => None,
        })
    }

    /// What a session needs to use the servers. Programs get `env`; their error output, and the
    /// user's logins, are kept in `home`.
    pub fn config(
        &self,
        env: &[(OsString, OsString)],
        route: NetworkRoute,
        cwd: &Path,
        home: &Home,
    ) -> McpServersConfig {
        McpServersConfig {
            servers: self.servers.iter().map(ListedMcpServer::defined).collect(),
            env: env.to_vec(),
            route,
            roots: vec![cwd.to_owned()],
            logs: Some(home.root().join(MCP_LOGS)),
            logins: McpLogins { store: Some(LoginStore::new(home.clone())), ..McpLogins::default() },
            ..McpServersConfig::default()
        }
    }

    /// What a user should know about the servers when a session starts.
    pub(crate) fn notices(&self) -> impl Iterator<Item = String> {
        let unusable = self.servers.iter().filter_map(|server| match &server.state {
            McpServerState::Unusable(why) => Some(format!("the MCP server `{}` is not used: {why}", server.name)),
            McpServerState::Ready(_) | McpServerState::Disabled(_) => None,
        });
        self.problems.iter().cloned().chain(unusable)
    }

    /// The values that must never be written: headers, and variables, that are not in the file itself.
    pub(crate) fn secrets(&self, home: &Home) -> Vec<Secret> {
        let of_logins = LoginStore::new(home.clone()).secrets();
        self.startable().flat_map(McpServerSettings::secrets).cloned().chain(of_logins).collect()
    }
}

impl ListedMcpServer {
    pub(super) fn new(definition: McpServerDefinition, state: McpServerState) -> ListedMcpServer {
        let address = shown_address(&definition.spec);
        ListedMcpServer { name: definition.name, origin: definition.origin, address, state }
    }

    /// The server as a session has it.
    pub(super) fn defined(&self) -> DefinedMcpServer {
        let ListedMcpServer { name, origin, address, state } = self;
        let (is_enabled, settings) = match state.clone() {
            McpServerState::Ready(settings) => (true, Ok(settings)),
            McpServerState::Disabled(settings) => (false, settings),
            McpServerState::Unusable(why) => (true, Err(why)),
        };
        DefinedMcpServer {
            name: name.clone(),
            scope: origin.scope(),
            origin: origin.to_string(),
            address: address.clone(),
            agent: origin.agent().map(str::to_owned),
            is_enabled,
            settings,
        }
    }
}

impl SettingsLayers {
    /// The MCP servers of a session in this folder, with those of its agents and plugins. Fails if the options name a
    /// file that cannot be used.
    pub fn mcp_servers(
        &self,
        options: &SessionOptions,
        env: &Env,
        cwd: &Path,
        catalog: &CatalogListing,
    ) -> Result<McpServerSet, Refusal> {
        let mut set = McpServerSet::default();
        let mut definitions = option_definitions(options, cwd, &mut set.problems)?;
        if !options.only_these_mcp_servers {
            definitions.extend(self.file_definitions(&mut set.problems));
            definitions.extend(catalog.plugin_servers.iter().cloned());
        }
        for definition in definitions.iter_mut().filter(|it| options.disabled_mcp_servers.contains(&it.name)) {
            definition.spec.disabled = true;
        }
        definitions.extend(catalog.agent_servers());
        let check = DefinitionCheck { layers: self, env, cwd };
        for definition in definitions {
            let is_same = |server: &ListedMcpServer| {
                server.name == definition.name && server.origin.agent() == definition.origin.agent()
            };
            if set.servers.iter().any(is_same) {
                // A stronger origin defines it.
                continue;
            }
            let state = match set.ready().count() < MAX_SERVERS {
                true => check.state_of(&definition),
                false => McpServerState::Unusable(format!("a session has at most {MAX_SERVERS} servers")),
            };
            if definition.spec.sampling && definition.origin.is_project() {
                let name = &definition.name;
                set.problems.push(format!("`{name}`: `sampling` has no effect; only your own settings can allow it"));
            }
            set.servers.push(ListedMcpServer::new(definition, state));
        }
        set.servers.sort_by(|a, b| (&a.name, a.origin.agent()).cmp(&(&b.name, b.origin.agent())));
        Ok(set)
    }
}

/// How a server is reached, as written: variables are not expanded, since they may be keys.
fn shown_address(spec: &McpServerSpec) -> String {
    match &spec.url {
        Some(url) => url.clone(),
        None => spec.command.iter().chain(&spec.args).cloned().collect::<Vec<_>>().join(" "),
    }
}

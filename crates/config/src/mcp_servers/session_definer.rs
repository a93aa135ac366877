//! Checks the MCP servers that clients add to a running session.

use std::collections::BTreeMap;
use std::path::PathBuf;

use mcp::{DefinedMcpServer, McpServerDefiner};
use protocol::McpServerSpec;

use super::check::DefinitionCheck;
use super::definition::{McpServerDefinition, McpServerOrigin};
use super::set::ListedMcpServer;
use crate::env::Env;
use crate::layers::SettingsLayers;
use crate::origin::SettingOrigin;

/// Checks the servers that clients add to a running session.
#[derive(Debug)]
pub(crate) struct SessionServerDefiner {
    pub(crate) layers: SettingsLayers,
    pub(crate) env: Env,
    pub(crate) cwd: PathBuf,
}

impl McpServerDefiner for SessionServerDefiner {
    fn define(&self, servers: &BTreeMap<String, McpServerSpec>) -> Vec<DefinedMcpServer> {
        let check = DefinitionCheck { layers: &self.layers, env: &self.env, cwd: &self.cwd };
        let define = |(name, spec): (&String, &McpServerSpec)| {
            let origin = McpServerOrigin::Settings(SettingOrigin::Flag);
            let definition = McpServerDefinition { name: name.clone(), spec: spec.clone(), origin };
            let state = check.state_of(&definition);
            let server = ListedMcpServer::new(definition, state).defined();
            DefinedMcpServer { origin: "the session's client".into(), ..server }
        };
        servers.iter().map(define).collect()
    }
}

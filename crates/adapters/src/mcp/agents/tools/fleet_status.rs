//! Shows how far a fleet is.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::super::arguments::{self, AgentToolError};
use super::super::fleet_report::{FleetReport, fleet_text};
use super::super::provider::AgentServer;
use super::table::AgentTool;
use crate::mcp::{McpReply, McpRequest, ToolEffect};

/// The tool.
pub(super) struct ShowFleet;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FleetStatusArgs {
    /// The session.
    session: String,
}

impl AgentTool for ShowFleet {
    const NAME: &'static str = "fleet_status";
    const TITLE: &'static str = "Show a fleet";
    const DESCRIPTION: &'static str =
        "Returns how far a fleet is: its todos with status and results, and how it ended.";
    const EFFECT: ToolEffect = ToolEffect::Reads;

    type Args = FleetStatusArgs;

    fn output_schema() -> Option<Value> {
        Some(arguments::output_schema::<FleetReport>())
    }

    async fn call(
        server: &AgentServer,
        args: FleetStatusArgs,
        _request: &McpRequest,
    ) -> Result<McpReply, AgentToolError> {
        let (session, _view) = server.settings.session(&args.session).await?;
        let fleet = session.read(|stored| Ok(stored.fleet_status()?)).await?;
        let fleet =
            fleet.ok_or_else(|| AgentToolError::refused("the session has no fleet; read_agent shows its agent"))?;
        let report = FleetReport::new(&fleet);
        Ok(McpReply::Complete(arguments::structured(&fleet_text(&report), &report)?))
    }
}

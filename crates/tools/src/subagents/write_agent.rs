//! Sends a message to agents.

use protocol::{MailDelivery, tool_name};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::args::TypedTool;
use crate::{
    MessageAgentsRequest, MessageRecipients, RequiredPermission, ToolAccess, ToolContext, ToolError, ToolOutput,
    ToolPlace,
};

/// The `write_agent` tool.
pub(crate) struct WriteAgent;

/// The arguments of `write_agent`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WriteAgentArgs {
    /// Ids, names or paths; or `siblings`, or `children`.
    to: Vec<String>,
    /// The text.
    message: String,
    /// `steer` (between two turns), `follow_up` (when it is done) or `interrupt` (at once).
    delivery: Option<String>,
}

impl TypedTool for WriteAgent {
    type Args = WriteAgentArgs;
    const NAME: &'static str = tool_name::WRITE_AGENT;
    const ABOUT: &'static str = include_str!("write_agent.md");
    const ACCESS: ToolAccess = ToolAccess::Session;

    fn place(_args: &WriteAgentArgs) -> ToolPlace {
        ToolPlace::Session
    }

    fn required_permissions(_args: &WriteAgentArgs) -> Result<Vec<RequiredPermission>, ToolError> {
        Ok(vec![RequiredPermission::Session])
    }

    async fn run(args: WriteAgentArgs, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let delivery = match args.delivery.as_deref() {
            None | Some("steer") => MailDelivery::Steer,
            Some("follow_up") => MailDelivery::FollowUp,
            Some("interrupt") => MailDelivery::Interrupt,
            Some(other) => {
                let text = format!("`delivery` is `{other}`; use only: steer, follow_up, interrupt");
                return Err(ToolError::refused(text));
            }
        };
        let to = match args.to.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            [] => return Err(ToolError::refused("`to` is empty; list_agents shows the agents")),
            ["siblings"] => MessageRecipients::Siblings,
            ["children"] => MessageRecipients::Children,
            _ => MessageRecipients::Named(args.to),
        };
        let request = MessageAgentsRequest { to, message: args.message, delivery };
        Ok(ToolOutput::text(&cx.session()?.subagents.message(request).await?, cx))
    }
}

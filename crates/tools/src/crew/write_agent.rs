//! Sends agents a message.

use protocol::Delivery;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::args::Typed;
use crate::{Access, Context, Need, Output, Readers, ToolError, WriteOrder};

/// The `write_agent` tool.
pub(crate) struct WriteAgent;

/// The arguments of `write_agent`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// Ids, names or paths; or `siblings`, or `children`.
    to: Vec<String>,
    /// What they read.
    message: String,
    /// `steer` (between two turns), `follow_up` (when it is done) or `interrupt` (at once).
    delivery: Option<String>,
}

impl Typed for WriteAgent {
    type Args = Args;
    const NAME: &'static str = "write_agent";
    const ABOUT: &'static str = include_str!("write_agent.md");
    const ACCESS: Access = Access::Session;

    fn needs(_args: &Args) -> Result<Vec<Need>, ToolError> {
        Ok(vec![Need::Session])
    }

    async fn run(args: Args, cx: &Context) -> Result<Output, ToolError> {
        let delivery = match args.delivery.as_deref() {
            None | Some("steer") => Delivery::Steer,
            Some("follow_up") => Delivery::FollowUp,
            Some("interrupt") => Delivery::Interrupt,
            Some(other) => {
                let text = format!("`delivery` is `{other}`, and there are only: steer, follow_up, interrupt");
                return Err(ToolError::refused(text));
            }
        };
        let to = match args.to.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            [] => return Err(ToolError::refused("`to` names nobody; list_agents shows who there is")),
            ["siblings"] => Readers::Siblings,
            ["children"] => Readers::Children,
            _ => Readers::Named(args.to),
        };
        let order = WriteOrder { to, message: args.message, delivery };
        Ok(Output::text(&cx.crew.write(order).await?, cx))
    }
}

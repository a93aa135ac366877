//! Waits for a command to succeed.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::args::Typed;
use crate::{Access, Context, Need, Output, ToolError, UntilOrder};

/// The `until` tool.
pub(crate) struct Until;

/// The arguments of `until`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// The command that is run again and again.
    command: String,
    /// Seconds between two runs; 5 when left out.
    every_secs: Option<u64>,
    /// Give up after this long; an hour when left out.
    timeout_secs: Option<u64>,
}

/// How long a command is waited for when the call does not say.
const USUAL: Duration = Duration::from_secs(3600);

impl Typed for Until {
    type Args = Args;
    const NAME: &'static str = "until";
    const ABOUT: &'static str = include_str!("until.md");
    const ACCESS: Access = Access::Execute;

    fn needs(args: &Args) -> Result<Vec<Need>, ToolError> {
        if args.command.trim().is_empty() {
            return Err(ToolError::refused("`command` is empty"));
        }
        Ok(vec![Need::Shell(args.command.clone())])
    }

    async fn run(args: Args, cx: &Context) -> Result<Output, ToolError> {
        let every = Duration::from_secs(args.every_secs.unwrap_or(5).max(1));
        let time = args.timeout_secs.map_or(USUAL, Duration::from_secs);
        Ok(Output::text(&cx.crew.until(UntilOrder { command: args.command, every, time }).await?, cx))
    }
}

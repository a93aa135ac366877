//! Arguments of the session host and its HTTP server.

use std::path::PathBuf;
use std::time::Duration;

/// `bosun serve`.
#[derive(Debug, clap::Args)]
pub(crate) struct ServeArgs {
    /// Listens on this loopback port (default: any free port)
    #[arg(long, value_name = "N")]
    pub(crate) port: Option<u16>,
    /// Keeps the token in this file, which is created if needed and readable only by you; without it, each start prints
    /// a new token
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Keeps background sessions without serving HTTP
    #[arg(long, conflicts_with_all = ["port", "token_file"])]
    pub(crate) no_http: bool,
    /// Ends after this time without a session (default: runs until it is stopped)
    #[arg(long, value_name = "TIME", value_parser = super::values::parse_nonzero)]
    pub(crate) idle_after: Option<Duration>,
    /// Takes over from the session host that is already running; its sessions continue here
    #[arg(long)]
    pub(crate) replace: bool,
    /// Shows the session host and the sessions that it keeps, and exits
    #[arg(long, conflicts_with_all = ["port", "token_file", "no_http", "idle_after", "replace", "stop"])]
    pub(crate) status: bool,
    /// Ends the session host, and exits; the sessions that it kept can be resumed
    #[arg(long, conflicts_with_all = ["port", "token_file", "no_http", "idle_after", "replace"])]
    pub(crate) stop: bool,
    /// Prints JSON: the address and token, or the status
    #[arg(long)]
    pub(crate) json: bool,
    /// Prints the OpenAPI document and exits
    #[arg(long)]
    pub(crate) openapi: bool,
    /// Set by commands that need a session host and start one
    #[arg(long, hide = true)]
    pub(crate) on_demand: bool,
}

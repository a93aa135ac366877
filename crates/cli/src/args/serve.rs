//! Arguments of the HTTP server.

use std::path::PathBuf;

/// `bosun serve`.
#[derive(Debug, clap::Args)]
pub(crate) struct ServeArgs {
    /// Listens on this loopback port (default: any free port)
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub(crate) port: u16,
    /// Keeps the token in this file, which is created if needed and readable only by you; without it, each start prints
    /// a new token
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Prints the address and token as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Prints the OpenAPI document and exits
    #[arg(long)]
    pub(crate) openapi: bool,
}

//! What can be said about the HTTP server.

use std::path::PathBuf;

/// `bosun serve`.
#[derive(Debug, clap::Args)]
pub(crate) struct ServeArgs {
    /// Listens on this port of loopback; on any that is free when absent
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub(crate) port: u16,
    /// Keeps the token in this file, which is made if it is not there and which only you may read; without it, there
    /// is a new token each time, which is printed once
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Prints where it listens as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Prints the OpenAPI document and ends
    #[arg(long)]
    pub(crate) openapi: bool,
}

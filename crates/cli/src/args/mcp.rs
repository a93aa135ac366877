//! Arguments for MCP servers.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};

/// `bosun mcp`.
#[derive(Debug, clap::Args)]
pub(crate) struct McpArgs {
    #[command(subcommand)]
    pub(crate) command: McpCommand,
}

/// `bosun mcp` subcommands.
#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Lists the servers that sessions in this folder may use, and why they may not use others
    List {
        #[command(flatten)]
        sources: McpSourceArgs,
        /// Prints JSON
        #[arg(long)]
        json: bool,
    },
    /// Adds a server to your settings
    Add(McpAddArgs),
    /// Removes a server from your settings
    Remove {
        /// The server
        name: String,
        /// Which of your settings files has it: for all projects, or for this one
        #[arg(long = "in", value_enum, default_value_t = McpScope::User, value_name = "WHERE")]
        scope: McpScope,
    },
    /// Starts a server and lists its tools
    Test {
        /// The server
        name: String,
        #[command(flatten)]
        sources: McpSourceArgs,
        /// Prints JSON
        #[arg(long)]
        json: bool,
    },
    /// Prints what a server wrote to its error output
    Logs {
        /// The server
        name: String,
    },
}

/// The servers of a run, in addition to those of files.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct McpSourceArgs {
    /// Uses the MCP servers of this file, or of this JSON text, as in .mcp.json (may be repeated)
    #[arg(long, value_name = "FILE|JSON")]
    pub(crate) mcp_config: Vec<String>,
    /// Uses only the MCP servers of --mcp-config
    #[arg(long)]
    pub(crate) strict_mcp_config: bool,
}

/// `bosun mcp add`.
#[derive(Debug, clap::Args)]
pub(crate) struct McpAddArgs {
    /// The server's name, which becomes a part of its tools' names
    pub(crate) name: String,
    /// The address of a server that runs elsewhere
    #[arg(long, conflicts_with = "command", required_unless_present = "command")]
    pub(crate) url: Option<String>,
    /// A header of every request, such as 'Authorization: Bearer ${TOKEN}' (may be repeated)
    #[arg(long, value_name = "NAME: VALUE", requires = "url", value_parser = parse_header)]
    pub(crate) header: Vec<(String, String)>,
    /// A variable for the program, such as 'KEY=${KEY}' (may be repeated)
    #[arg(long, short, value_name = "NAME=VALUE", requires = "command", value_parser = parse_variable)]
    pub(crate) env: Vec<(String, String)>,
    /// Which of your settings files to add it to: for all projects, or for this one
    #[arg(long = "in", value_enum, default_value_t = McpScope::User, value_name = "WHERE")]
    pub(crate) scope: McpScope,
    /// The program and its arguments, after `--`
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

/// A settings file of the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum McpScope {
    /// For all projects.
    User,
    /// For this project.
    Local,
}

impl McpSourceArgs {
    /// The sources as options of a session. Files are named by full paths: the session may work in another folder.
    pub(crate) fn sources(&self) -> Vec<String> {
        let full = |source: &String| match source.trim_start().starts_with('{') {
            true => source.clone(),
            false => std::path::absolute(PathBuf::from(source))
                .map_or_else(|_unknown| source.clone(), |path| path.display().to_string()),
        };
        self.mcp_config.iter().map(full).collect()
    }
}

fn parse_header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once(':').ok_or("write NAME: VALUE")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

fn parse_variable(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or("write NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

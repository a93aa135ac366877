//! Arguments for agents and the catalogue.

use std::path::PathBuf;

use clap::Subcommand;

/// Definitions given on the command line.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct DefinitionArgs {
    /// Additional agents: a JSON object keyed by name, a JSON list, or a file with either
    #[arg(long, value_name = "{JSON}|FILE")]
    pub(crate) agents: Option<String>,
    /// A folder with a plugin: agents, skills, hooks and commands (may be repeated)
    #[arg(long, value_name = "DIR")]
    pub(crate) plugin_dir: Vec<PathBuf>,
}

/// Limits on the number of agents.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct AgentLimitArgs {
    /// Maximum number of agents that run at once; further agents wait
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = super::values::parse_count::<1, 4096>)]
    pub(crate) max_agents: Option<u32>,
    /// How deep agents may be nested; 0 means that no agent may start another
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = super::values::parse_count::<0, 4096>)]
    pub(crate) max_depth: Option<u32>,
    /// Maximum number of agents that a session may start
    #[arg(long, value_name = "N")]
    pub(crate) max_total_agents: Option<u32>,
}

/// `bosun catalog`.
#[derive(Debug, clap::Args)]
pub(crate) struct CatalogArgs {
    #[command(subcommand)]
    pub(crate) command: CatalogCommand,
}

/// `bosun catalog` subcommands.
#[derive(Debug, Subcommand)]
pub(crate) enum CatalogCommand {
    /// Lists agents, skills and plugins with their source, and which definition replaces which
    List(CatalogOptions),
    /// Shows one agent, skill or slash command in full
    Show {
        /// Its name
        name: String,
        #[command(flatten)]
        options: CatalogOptions,
    },
    /// Reports errors in definitions, with file, line and fix; exit code 1 if any cannot be used
    Check {
        #[command(flatten)]
        options: CatalogOptions,
        /// Exit code 1 for warnings too
        #[arg(long)]
        strict: bool,
    },
}

/// Options shared by the catalogue commands.
#[derive(Debug, clap::Args)]
pub(crate) struct CatalogOptions {
    /// Prints JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) definitions: DefinitionArgs,
}

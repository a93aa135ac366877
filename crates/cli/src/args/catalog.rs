//! What can be said about agents and the catalogue.

use std::path::PathBuf;

use clap::Subcommand;

/// Definitions besides those of files.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct DefinitionArgs {
    /// More agents, as JSON by name or as a list, or as a file that holds it
    #[arg(long, value_name = "{JSON}|FILE")]
    pub(crate) agents: Option<String>,
    /// A folder with a plugin: agents, skills, hooks and commands (may be repeated)
    #[arg(long, value_name = "DIR")]
    pub(crate) plugin_dir: Vec<PathBuf>,
}

/// How many agents there may be.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct AgentLimitArgs {
    /// Most agents that run at once; more wait for their turn
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(crate) max_agents: Option<u32>,
    /// How deep agents may be nested; 0 means that nobody may start any
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(..=4096))]
    pub(crate) max_depth: Option<u32>,
    /// Most agents that a session may start in all
    #[arg(long, value_name = "N")]
    pub(crate) max_total_agents: Option<u32>,
}

/// `bosun catalog`.
#[derive(Debug, clap::Args)]
pub(crate) struct CatalogArgs {
    #[command(subcommand)]
    pub(crate) command: CatalogCommand,
}

/// What can be done with the catalogue.
#[derive(Debug, Subcommand)]
pub(crate) enum CatalogCommand {
    /// Lists agents, skills and plugins, where each was written, and what stands in for what
    List(CatalogOptions),
    /// Shows one agent, skill or slash command in full
    Show {
        /// Its name
        name: String,
        #[command(flatten)]
        options: CatalogOptions,
    },
    /// Says what is wrong with definitions, with file, line and what to do; exit code 1 if any cannot be used
    Check {
        #[command(flatten)]
        options: CatalogOptions,
        /// Exit code 1 for warnings too
        #[arg(long)]
        strict: bool,
    },
}

/// Options of every command about the catalogue.
#[derive(Debug, clap::Args)]
pub(crate) struct CatalogOptions {
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) definitions: DefinitionArgs,
}

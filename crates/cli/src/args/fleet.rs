//! Arguments of `bosun fleet`.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};

use super::{DefinitionArgs, PermissionArgs, RunArgs};

/// `bosun fleet`.
#[derive(Debug, clap::Args)]
pub(crate) struct FleetArgs {
    #[command(subcommand)]
    pub(crate) command: Option<FleetCommand>,
    /// The goal; the main agent makes a plan, and the fleet works through it
    #[arg(value_name = "GOAL")]
    pub(crate) goal: Option<String>,
    #[command(flatten)]
    pub(crate) work: FleetWorkArgs,
    #[command(flatten)]
    pub(crate) run: Box<RunArgs>,
}

/// `bosun fleet` subcommands.
#[derive(Debug, Subcommand)]
pub(crate) enum FleetCommand {
    /// Works through the todos of a plan file
    Run {
        /// The plan, as YAML or JSON
        #[arg(value_name = "PLAN")]
        file: PathBuf,
        #[command(flatten)]
        work: FleetWorkArgs,
        #[command(flatten)]
        run: Box<RunArgs>,
    },
    /// Resumes a fleet that was stopped, killed or could not finish
    Resume {
        /// The session (default: the newest of this folder with a fleet); the beginning of its id is enough
        #[arg(value_name = "ID")]
        id: Option<String>,
        #[command(flatten)]
        run: Box<RunArgs>,
    },
    /// Shows the progress of a fleet
    Status(FleetSelectArgs),
    /// Stops a fleet that runs in another terminal; `bosun fleet resume` continues it
    Stop(FleetSelectArgs),
    /// Shows which todos depend on which, as `bosun todos graph` does
    Graph {
        /// The session (default: the newest of this folder with a fleet); the beginning of its id is enough
        #[arg(value_name = "ID")]
        id: Option<String>,
        /// Prints a Mermaid flowchart
        #[arg(long, conflicts_with = "dot")]
        mermaid: bool,
        /// Prints a graph for Graphviz
        #[arg(long)]
        dot: bool,
    },
    /// Reports errors in a plan, with file, line and fix; or its layers, and which todos would be done again
    Check(FleetCheckArgs),
    /// Prints the JSON Schema of plans
    Schema,
}

/// Selects a fleet.
#[derive(Debug, clap::Args)]
pub(crate) struct FleetSelectArgs {
    /// The session (default: the newest of this folder with a fleet); the beginning of its id is enough
    #[arg(value_name = "ID")]
    pub(crate) id: Option<String>,
    /// Prints JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options of the fleet itself.
#[derive(Debug, clap::Args)]
pub(crate) struct FleetWorkArgs {
    /// Maximum number of todos in progress at once (default: as many as agents may run)
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = super::values::parse_count::<1, 4096>)]
    pub(crate) parallel: Option<u32>,
    /// How often a failed todo is tried again (1, or as set in the plan)
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = super::values::parse_count::<0, 100>)]
    pub(crate) retries: Option<u32>,
    /// How often the main agent reviews the result and may change the plan (3, or as set in the plan)
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = super::values::parse_count::<0, 100>)]
    pub(crate) rounds: Option<u32>,
    /// Where workers work: each in its own checkout, which is merged at the end, or all in the folder itself
    #[arg(long, value_enum, value_name = "WHERE")]
    pub(crate) isolation: Option<FleetIsolation>,
    /// Includes uncommitted changes in the checkouts
    #[arg(long)]
    pub(crate) include_dirty: bool,
    /// Moves your branch to the merged work when everything is done and checked
    #[arg(long)]
    pub(crate) merge: bool,
    /// A shell command that must exit with code 0 after each merge
    #[arg(long, value_name = "COMMAND")]
    pub(crate) check: Option<String>,
    /// Does every todo again, and ignores cached results
    #[arg(long)]
    pub(crate) fresh: bool,
}

/// Where workers work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FleetIsolation {
    /// Each in its own checkout.
    Worktree,
    /// All in the folder itself.
    None,
}

/// `bosun fleet check`.
#[derive(Debug, clap::Args)]
pub(crate) struct FleetCheckArgs {
    /// The plan, as YAML or JSON
    #[arg(value_name = "PLAN")]
    pub(crate) plan: PathBuf,
    /// Works in this folder
    #[arg(short = 'C', value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,
    /// The model that the workers would use
    #[arg(long, value_name = "PROVIDER/NAME")]
    pub(crate) model: Option<String>,
    #[command(flatten)]
    pub(crate) permissions: PermissionArgs,
    #[command(flatten)]
    pub(crate) definitions: DefinitionArgs,
    /// Prints JSON
    #[arg(long)]
    pub(crate) json: bool,
}

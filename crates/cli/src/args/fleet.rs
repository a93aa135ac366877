//! `bosun fleet`, as it is typed.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};

use super::{DefinitionArgs, PermissionArgs, RunArgs};

/// `bosun fleet`.
#[derive(Debug, clap::Args)]
pub(crate) struct FleetArgs {
    #[command(subcommand)]
    pub(crate) command: Option<FleetCommand>,
    /// What is to be reached, in words: the main agent plans, and the fleet works by its plan
    #[arg(value_name = "GOAL")]
    pub(crate) goal: Option<String>,
    #[command(flatten)]
    pub(crate) work: FleetWorkArgs,
    #[command(flatten)]
    pub(crate) run: Box<RunArgs>,
}

/// What can be done with fleets.
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
    /// Goes on with a fleet that was stopped, killed or could not do everything
    Resume {
        /// The session; the newest of this folder with a fleet when absent, and the beginning of its id is enough
        #[arg(value_name = "ID")]
        id: Option<String>,
        #[command(flatten)]
        run: Box<RunArgs>,
    },
    /// Tells how far a fleet is
    Status(FleetSelectArgs),
    /// Stops a fleet that another terminal runs; `bosun fleet resume` goes on with it
    Stop(FleetSelectArgs),
    /// Shows which todos wait for which, as `bosun todos graph` does
    Graph {
        /// The session; the newest of this folder with a fleet when absent, and the beginning of its id is enough
        #[arg(value_name = "ID")]
        id: Option<String>,
        /// As a Mermaid diagram
        #[arg(long, conflicts_with = "dot")]
        mermaid: bool,
        /// In the language of Graphviz
        #[arg(long)]
        dot: bool,
    },
    /// Says what is wrong with a plan, with file, line and what to do; or its shape, and what would be done again
    Check(FleetCheckArgs),
    /// Prints the JSON Schema of plans
    Schema,
}

/// Which fleet.
#[derive(Debug, clap::Args)]
pub(crate) struct FleetSelectArgs {
    /// The session; the newest of this folder with a fleet when absent, and the beginning of its id is enough
    #[arg(value_name = "ID")]
    pub(crate) id: Option<String>,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// How a fleet works.
#[derive(Debug, clap::Args)]
pub(crate) struct FleetWorkArgs {
    /// Most todos that are worked on at once; as many as agents may run when absent
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(crate) parallel: Option<u32>,
    /// How often a todo is tried again after a failure (1, or as the plan says)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(..=100))]
    pub(crate) retries: Option<u32>,
    /// How often the main agent looks at the result and may plan anew (3, or as the plan says)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(..=100))]
    pub(crate) rounds: Option<u32>,
    /// Where workers work: each in a checkout of its own, whose work is merged at the end, or all in the folder itself
    #[arg(long, value_enum, value_name = "WHERE")]
    pub(crate) isolation: Option<FleetIsolation>,
    /// Checkouts begin with what is not committed, too
    #[arg(long)]
    pub(crate) include_dirty: bool,
    /// Moves your branch to the merged work when everything is done and checked
    #[arg(long)]
    pub(crate) merge: bool,
    /// A shell command that must exit with code 0 after each merge
    #[arg(long, value_name = "COMMAND")]
    pub(crate) check: Option<String>,
    /// Does everything again, whatever was done before
    #[arg(long)]
    pub(crate) fresh: bool,
}

/// Where workers work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FleetIsolation {
    /// Each in a checkout of its own.
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
    /// The model that would do it
    #[arg(long, value_name = "PROVIDER/NAME")]
    pub(crate) model: Option<String>,
    #[command(flatten)]
    pub(crate) permissions: PermissionArgs,
    #[command(flatten)]
    pub(crate) definitions: DefinitionArgs,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

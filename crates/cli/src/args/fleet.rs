//! `bosun fleet`, as it is typed.

use std::path::PathBuf;

use clap::Subcommand;

use super::{DefinitionArgs, PermitArgs};

/// `bosun fleet`.
#[derive(Debug, clap::Args)]
pub(crate) struct FleetArgs {
    #[command(subcommand)]
    pub(crate) command: FleetCommand,
}

/// What can be done with fleets.
#[derive(Debug, Subcommand)]
pub(crate) enum FleetCommand {
    /// Says what is wrong with a plan, with file, line and what to do; or its shape, and what would be done again
    Check(FleetCheckArgs),
    /// Prints the JSON Schema of plans
    Schema,
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
    pub(crate) permit: PermitArgs,
    #[command(flatten)]
    pub(crate) definitions: DefinitionArgs,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

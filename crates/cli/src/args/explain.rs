//! `bosun explain`, as it is typed.

use std::path::PathBuf;

use super::PermitArgs;

/// `bosun explain`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ExplainArgs {
    /// The call, such as 'shell(git push)', or a tool and what it would be given
    #[arg(required = true, num_args = 1..=2, value_name = "CALL")]
    pub(crate) call: Vec<String>,
    /// Works in this folder
    #[arg(short = 'C', long, value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) permit: PermitArgs,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

const EXAMPLES: &str = "\
Examples:
  bosun explain 'shell(git push)'
  bosun explain shell 'git push && rm x'
  bosun explain 'edit(src/main.rs)'
  bosun explain 'fetch(https://docs.rs/serde)'";

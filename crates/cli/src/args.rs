//! The command line, exactly as it is typed.

mod approvals;
mod catalog;
mod checkouts;
mod examples;
mod explain;
mod fleet;
mod help;
mod import;
mod lists;
mod mode;
mod permission;
mod run;
mod sdk;
mod serve;
mod sessions;
mod settings;
mod tasks;
mod todos;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand, ValueEnum};

pub(crate) use approvals::{ApprovalListArgs, ApprovalSelectArgs, ApprovalsArgs, ApprovalsCommand};
pub(crate) use catalog::{CatalogArgs, CatalogCommand, CatalogOptions, DefinitionArgs};
pub(crate) use checkouts::{CheckoutsArgs, CheckoutsCommand};
pub(crate) use explain::ExplainArgs;
pub(crate) use fleet::{FleetArgs, FleetCheckArgs, FleetCommand, FleetIsolation, FleetSelectArgs, FleetWorkArgs};
pub(crate) use help::{command, flag_and_command_names, subcommand_names};
pub(crate) use import::{ImportArgs, ImportedProduct};
pub(crate) use lists::{ItemArgs, ItemDetailArgs, ItemListArgs, ListSelectArgs, ListsArgs, ListsCommand};
pub(crate) use permission::{AskWait, PermissionArgs};
pub(crate) use run::{OutputFormat, RunArgs};
pub(crate) use sdk::{AdapterArgs, SdkArgs, SdkCommand, SdkFamily};
pub(crate) use serve::ServeArgs;
pub(crate) use sessions::{ExportFormat, SendTiming, SessionListArgs, SessionsArgs, SessionsCommand};
pub(crate) use settings::{ConfigArgs, ConfigCommand, ConfigShowArgs, RuleArgs, RuleScope, TrustArgs};
pub(crate) use tasks::{TaskArgs, TaskListArgs, TasksArgs, TasksCommand};
pub(crate) use todos::{NewTodoArgs, TodoArgs, TodoListArgs, TodoSessionArgs, TodosArgs, TodosCommand};

/// Runs coding agents that never lose work.
#[derive(Debug, Parser)]
#[command(name = "bosun", version, args_conflicts_with_subcommands = true)]
pub(crate) struct CliArgs {
    #[command(subcommand)]
    pub(crate) command: Option<CliCommand>,
    /// Begins a conversation with this; needs a terminal (-p runs a prompt anywhere)
    #[arg(value_name = "PROMPT", conflicts_with = "prompt")]
    pub(crate) opening: Option<String>,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// What can be done besides running a prompt.
#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    /// Lists, shows, exports, messages, stops and removes sessions
    #[command(args_conflicts_with_subcommands = true)]
    Sessions(SessionsArgs),
    /// Lists, shows, follows, messages and stops the agents and commands of sessions
    #[command(args_conflicts_with_subcommands = true)]
    Tasks(TasksArgs),
    /// Lists, shows and changes the items that agents and people share
    #[command(args_conflicts_with_subcommands = true)]
    Lists(ListsArgs),
    /// Lists, draws, adds and moves the todos of sessions
    #[command(args_conflicts_with_subcommands = true)]
    Todos(TodosArgs),
    /// Lists what waits for you, and allows, denies or answers it
    #[command(args_conflicts_with_subcommands = true)]
    Approvals(ApprovalsArgs),
    /// Splits a goal into todos, or takes them from a plan, and works through them with many agents at once
    #[command(args_conflicts_with_subcommands = true)]
    Fleet(FleetArgs),
    /// Runs programs written for other agents' SDKs: makes the programs that they are pointed at, and serves them
    Sdk(SdkArgs),
    /// Serves HTTP on this machine: REST for commands, server-sent events for what happens
    Serve(ServeArgs),
    /// Says whether a tool call would be allowed, asked about or denied, and why
    Explain(ExplainArgs),
    /// Lists providers, their keys and models, and what runs on this machine
    Models(ModelsArgs),
    /// Sums up what sessions spent
    Cost(CostArgs),
    /// Removes sessions that nobody touched for a long time, output of removed tasks, and results no fleet used
    Gc(GcArgs),
    /// Lists the checkouts that agents work in, and moves them to the trash and back
    #[command(args_conflicts_with_subcommands = true)]
    Checkouts(CheckoutsArgs),
    /// Shows Bosun at work on a small sample, offline and without a key
    Demo(DemoArgs),
    /// Lists, shows and checks agents, skills and plugins
    Catalog(CatalogArgs),
    /// Shows, checks and changes settings
    Config(ConfigArgs),
    /// Shows what the files of another product become in Bosun, and writes it
    Import(ImportArgs),
    /// Lets the files of a project change what Bosun does, as long as they stay as they are
    Trust(TrustArgs),
    /// Looks at keys, models, files, git, disk and more, and says what to do about what is not right
    Doctor(DoctorArgs),
    /// Kills itself in the middle of its work, and looks whether anything is lost
    Selftest(SelftestArgs),
    /// Prints what a shell needs to complete the command line
    Completions(CompletionsArgs),
    /// Prints the manual page
    Man(ManArgs),
    /// Checks scripts for the script model, and prints their schema
    Script(ScriptArgs),
}

/// `bosun models`.
#[derive(Debug, clap::Args)]
pub(crate) struct ModelsArgs {
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Forgets which providers asked to wait, for instance when more credit was bought
    #[arg(long)]
    pub(crate) reopen: bool,
}

/// `bosun cost`.
#[derive(Debug, clap::Args)]
pub(crate) struct CostArgs {
    /// Only these sessions; the beginning of an id is enough
    #[arg(value_name = "ID")]
    pub(crate) ids: Vec<String>,
    /// Only sessions of this folder
    #[arg(long, conflicts_with = "ids")]
    pub(crate) here: bool,
    /// Only turns that began in this time until now, such as 24h
    #[arg(long, value_name = "TIME", value_parser = config::parse_time)]
    pub(crate) since: Option<Duration>,
    /// What each line sums up
    #[arg(long, value_enum, default_value_t = CostGrouping::Model, value_name = "WHAT")]
    pub(crate) by: CostGrouping,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// As comma-separated values, for a spreadsheet
    #[arg(long, conflicts_with = "json")]
    pub(crate) csv: bool,
}

/// What a line of the costs sums up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CostGrouping {
    /// One session.
    Session,
    /// One model.
    Model,
    /// One agent definition.
    Agent,
    /// One task of one session.
    Task,
}

/// `bosun gc`.
#[derive(Debug, clap::Args)]
pub(crate) struct GcArgs {
    /// Also removes work of removed sessions that is on no branch of its repository
    #[arg(long)]
    pub(crate) unlanded: bool,
    /// Keeps sessions this many days after their last event (90, or `retention.days` in config.toml)
    #[arg(long, value_name = "N")]
    pub(crate) days: Option<u32>,
    /// Says what would be removed and removes nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `bosun demo`.
#[derive(Debug, clap::Args)]
pub(crate) struct DemoArgs {
    /// Makes the sample in this new folder instead of a temporary one
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Without pauses between the steps
    #[arg(long)]
    pub(crate) fast: bool,
}

/// `bosun doctor`.
#[derive(Debug, clap::Args)]
pub(crate) struct DoctorArgs {
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `bosun selftest`.
#[derive(Debug, clap::Args)]
pub(crate) struct SelftestArgs {
    /// The test, which is the only one so far: agents at work, whose owner is killed at random moments
    #[arg(long)]
    pub(crate) chaos: bool,
    /// How many times
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) runs: u32,
    /// Where the random moments come from: the same seed, the same moments
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..1 << 60))]
    pub(crate) seed: Option<u64>,
    /// Kills it before and after every kind of event instead
    #[arg(long, conflicts_with = "runs")]
    pub(crate) events: bool,
    /// How many agents are at work, in tens
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=500))]
    pub(crate) agents: u32,
    /// How many runs at once
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) jobs: u32,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `bosun completions`.
#[derive(Debug, clap::Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

/// `bosun man`.
#[derive(Debug, clap::Args)]
pub(crate) struct ManArgs {
    /// Writes a page for every command to this folder instead
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
}

/// `bosun script`.
#[derive(Debug, clap::Args)]
pub(crate) struct ScriptArgs {
    #[command(subcommand)]
    pub(crate) command: ScriptCommand,
}

/// What can be done with scripts.
#[derive(Debug, Subcommand)]
pub(crate) enum ScriptCommand {
    /// Reads scripts and says what is wrong with them
    Check {
        /// The files
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Prints the JSON Schema of scripts
    Schema,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        CliArgs::command().debug_assert();
    }

    #[test]
    fn a_prompt_without_a_text_comes_from_stdin() {
        let prompt = |args: &[&str]| CliArgs::try_parse_from(args).unwrap().run.prompt;
        assert_eq!(prompt(&["bosun", "-p"]).as_deref(), Some("-"));
        assert_eq!(prompt(&["bosun", "-p", "hi", "--quiet"]).as_deref(), Some("hi"));
        assert_eq!(prompt(&["bosun", "--continue"]), None);
    }
}

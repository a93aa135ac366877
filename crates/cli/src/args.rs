//! Command-line arguments, parsed with clap.

mod agents;
#[cfg(test)]
mod api_methods;
mod approvals;
mod catalog;
mod checkouts;
mod deferred;
mod examples;
mod explain;
mod fleet;
mod help;
mod import;
mod lists;
mod mcp;
mod mode;
mod permission;
mod run;
mod sdk;
mod serve;
mod service;
mod session_options;
mod sessions;
mod settings;
mod tasks;
mod todos;
mod values;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand, ValueEnum};
use protocol::api::UsageGrouping;

pub(crate) use agents::{AgentListArgs, AgentsArgs, AgentsCommand};
pub(crate) use approvals::{ApprovalListArgs, ApprovalSelectArgs, ApprovalsArgs, ApprovalsCommand};
pub(crate) use catalog::{CatalogArgs, CatalogCommand, CatalogOptions, DefinitionArgs};
pub(crate) use checkouts::{CheckoutsArgs, CheckoutsCommand};
pub(crate) use deferred::Deferred;
pub(crate) use explain::ExplainArgs;
pub(crate) use fleet::{FleetArgs, FleetCheckArgs, FleetCommand, FleetIsolation, FleetSelectArgs, FleetWorkArgs};
pub(crate) use help::{command, flag_and_command_names, fleet_subcommand_names, manual_command, subcommand_names};
pub(crate) use import::{ImportArgs, ImportedProduct};
pub(crate) use lists::{ItemArgs, ItemDetailArgs, ItemListArgs, ListSelectArgs, ListsArgs, ListsCommand};
pub(crate) use mcp::{McpAddArgs, McpArgs, McpCommand, McpScope, McpServeArgs, McpSourceArgs};
pub(crate) use permission::{AskWait, PermissionArgs};
pub(crate) use run::{OutputFormat, RunArgs};
pub(crate) use sdk::{AdapterArgs, SdkArgs, SdkCommand, SdkFamily};
pub(crate) use serve::ServeArgs;
pub(crate) use service::{ServiceArgs, ServiceCommand};
pub(crate) use sessions::{ExportFormat, SendTiming, SessionListArgs, SessionsArgs, SessionsCommand};
pub(crate) use settings::{ConfigArgs, ConfigCommand, ConfigShowArgs, RuleArgs, RuleScope, TrustArgs};
pub(crate) use tasks::{TaskArgs, TaskListArgs, TasksArgs, TasksCommand};
pub(crate) use todos::{NewTodoArgs, TodoArgs, TodoListArgs, TodoSessionArgs, TodosArgs, TodosCommand};

/// Runs fleets of coding agents, checks their work, survives kill -9.
#[derive(Debug, Parser)]
#[command(name = "bosun", version, args_conflicts_with_subcommands = true)]
pub(crate) struct CliArgs {
    #[command(subcommand)]
    pub(crate) command: Option<CliCommand>,
    /// Starts a conversation with this prompt; needs a terminal (-p runs a prompt anywhere)
    #[arg(value_name = "PROMPT", conflicts_with = "prompt")]
    pub(crate) opening: Option<String>,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// Subcommands.
#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    /// Starts, lists, attaches to, messages and stops sessions in the background
    #[command(args_conflicts_with_subcommands = true)]
    Agents(Deferred<AgentsArgs>),
    /// Lists, shows, exports, messages, stops and removes sessions
    #[command(args_conflicts_with_subcommands = true)]
    Sessions(Deferred<SessionsArgs>),
    /// Lists, shows, follows, messages and stops the agents and commands of sessions
    #[command(args_conflicts_with_subcommands = true)]
    Tasks(Deferred<TasksArgs>),
    /// Lists, shows and changes the items of lists that agents and users share
    #[command(args_conflicts_with_subcommands = true)]
    Lists(Deferred<ListsArgs>),
    /// Lists, graphs, adds and updates the todos of sessions
    #[command(args_conflicts_with_subcommands = true)]
    Todos(Deferred<TodosArgs>),
    /// Lists the tool calls and questions that wait for you, and allows, denies or answers them
    #[command(args_conflicts_with_subcommands = true)]
    Approvals(Deferred<ApprovalsArgs>),
    /// Splits a goal into todos, or reads them from a plan, and works through them with many agents at once
    #[command(args_conflicts_with_subcommands = true)]
    Fleet(Deferred<FleetArgs>),
    /// Runs programs written for other agents' SDKs: installs the executables they start, and serves their protocol
    Sdk(Deferred<SdkArgs>),
    /// Runs the session host, which keeps background sessions, and serves an HTTP API on this machine
    Serve(Deferred<ServeArgs>),
    /// Installs the session host as a systemd user unit, so that it starts when you log in
    Service(Deferred<ServiceArgs>),
    /// Shows whether a tool call would be allowed, asked about or denied, and why
    Explain(Deferred<ExplainArgs>),
    /// Lists providers, their keys and models, and the model servers running on this machine
    Models(Deferred<ModelsArgs>),
    /// Shows the cost and token usage of sessions
    Cost(Deferred<CostArgs>),
    /// Removes old idle sessions, output of removed tasks, and fleet results that are no longer used
    Gc(Deferred<GcArgs>),
    /// Lists the checkouts that agents work in, and moves them to the trash and back
    #[command(args_conflicts_with_subcommands = true)]
    Checkouts(Deferred<CheckoutsArgs>),
    /// Runs a fleet of agents on a small sample project, offline and without a key
    Demo(Deferred<DemoArgs>),
    /// Lists, shows and checks agents, skills and plugins
    Catalog(Deferred<CatalogArgs>),
    /// Lists, adds, removes and tests MCP servers, whose tools agents can use
    Mcp(Deferred<McpArgs>),
    /// Shows, checks and changes settings
    Config(Deferred<ConfigArgs>),
    /// Shows what the files of another product become in Bosun, and imports them
    Import(Deferred<ImportArgs>),
    /// Trusts a project: its files may configure Bosun until one of them changes
    Trust(Deferred<TrustArgs>),
    /// Checks keys, models, files, git, disk and more, and suggests a fix for each problem
    Doctor(Deferred<DoctorArgs>),
    /// Kills Bosun in the middle of its work, and checks that nothing is lost
    Selftest(Deferred<SelftestArgs>),
    /// Prints the completion script of a shell
    Completions(Deferred<CompletionsArgs>),
    /// Prints the manual page
    Man(Deferred<ManArgs>),
    /// Checks scripts for the script model, and prints their schema
    Script(Deferred<ScriptArgs>),
}

/// `bosun models`.
#[derive(Debug, clap::Args)]
pub(crate) struct ModelsArgs {
    /// Prints JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Forgets which providers asked to wait, for example after you bought more credit
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
    /// Only turns that started within this time, such as 24h
    #[arg(long, value_name = "TIME", value_parser = config::parse_time)]
    pub(crate) since: Option<Duration>,
    /// Groups the totals by this
    #[arg(long, value_enum, default_value_t = CostGrouping::Model, value_name = "WHAT")]
    pub(crate) by: CostGrouping,
    /// Prints JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Prints comma-separated values, for a spreadsheet
    #[arg(long, conflicts_with = "json")]
    pub(crate) csv: bool,
}

/// What a line of the cost table is the total of.
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

impl From<CostGrouping> for UsageGrouping {
    fn from(grouping: CostGrouping) -> UsageGrouping {
        match grouping {
            CostGrouping::Session => UsageGrouping::Session,
            CostGrouping::Model => UsageGrouping::Model,
            CostGrouping::Agent => UsageGrouping::Agent,
            CostGrouping::Task => UsageGrouping::Task,
        }
    }
}

/// `bosun gc`.
#[derive(Debug, clap::Args)]
pub(crate) struct GcArgs {
    /// Also removes work of removed sessions that is not on any branch of its repository
    #[arg(long)]
    pub(crate) unlanded: bool,
    /// Keeps sessions this many days after their last event (90, or `retention.days` in config.toml)
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = values::parse_count::<0, 100_000>)]
    pub(crate) days: Option<u32>,
    /// Shows what would be removed, and removes nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Prints JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `bosun demo`.
#[derive(Debug, clap::Args)]
pub(crate) struct DemoArgs {
    /// Creates the sample in this new folder instead of a temporary one
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Runs without pauses between the steps
    #[arg(long)]
    pub(crate) fast: bool,
}

/// `bosun doctor`.
#[derive(Debug, clap::Args)]
pub(crate) struct DoctorArgs {
    /// Prints JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `bosun selftest`.
#[derive(Debug, clap::Args)]
pub(crate) struct SelftestArgs {
    /// Kills the process that runs the agents at random moments (the only test so far)
    #[arg(long)]
    pub(crate) chaos: bool,
    /// How many runs
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = values::parse_count::<1, 100_000>)]
    pub(crate) runs: u32,
    /// Seed of the random moments; the same seed gives the same moments
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..1 << 60))]
    pub(crate) seed: Option<u64>,
    /// Kills it before and after every kind of event instead of at random moments
    #[arg(long, conflicts_with = "runs")]
    pub(crate) events: bool,
    /// Agents per run, rounded up to a multiple of ten
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = values::parse_count::<1, 500>)]
    pub(crate) agents: u32,
    /// How many runs at once
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = values::parse_count::<1, 64>)]
    pub(crate) jobs: u32,
    /// Prints JSON
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
    /// Writes a page for every command to this folder instead of stdout
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
}

/// `bosun script`.
#[derive(Debug, clap::Args)]
pub(crate) struct ScriptArgs {
    #[command(subcommand)]
    pub(crate) command: ScriptCommand,
}

/// `bosun script` subcommands.
#[derive(Debug, Subcommand)]
pub(crate) enum ScriptCommand {
    /// Reads scripts and reports their errors
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

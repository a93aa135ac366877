//! The command line, exactly as it is typed.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand, ValueEnum};

/// Runs coding agents that never lose work.
#[derive(Debug, Parser)]
#[command(name = "bosun", version, args_conflicts_with_subcommands = true, after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

const EXAMPLES: &str = "\
Examples:
  bosun demo                                         see it work, offline and without a key
  bosun -p \"fix the failing test\" --model script/fix.yaml --allow-all
  git diff | bosun -p --model script/review.yaml     the prompt from stdin
  bosun --continue -p \"and the docs\"                 go on with the last session of this folder
  bosun sessions                                     what there is

Exit codes: 0 all succeeded, 1 failed, 2 usage or config, 3 answered but a background
command failed, 4 turn limit, 5 cancelled, 6 budget, 7 parked on a quota.";

/// Options of a run.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct RunArgs {
    /// Runs this prompt and exits; without a text, or with `-`, it is read from stdin
    /// (one that begins with a dash: --prompt="- …")
    #[arg(short = 'p', long = "prompt", value_name = "PROMPT", num_args = 0..=1, default_missing_value = "-")]
    pub(crate) prompt: Option<String>,
    /// The model: `script/FILE` or `replay/FILE`, FILE from the folder to work in (also BOSUN_MODEL, or `model` in
    /// config.toml)
    #[arg(long, value_name = "PROVIDER/NAME")]
    pub(crate) model: Option<String>,
    /// How the result is written to stdout
    #[arg(long, value_enum, default_value_t = Format::Text, value_name = "FORMAT")]
    pub(crate) output_format: Format,
    /// Works in this folder
    #[arg(short = 'C', value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,
    /// Lets file tools reach this folder too (may be repeated)
    #[arg(long, value_name = "DIR")]
    pub(crate) add_dir: Vec<PathBuf>,
    /// Ends the run after this many turns
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_turns: Option<u32>,
    /// Goes on with the last session of this folder
    #[arg(long, short = 'c', conflicts_with = "resume")]
    pub(crate) r#continue: bool,
    /// Goes on with this session; the beginning of its id is enough
    #[arg(long, value_name = "ID")]
    pub(crate) resume: Option<String>,
    /// With --continue or --resume, and a prompt: goes on in a copy; the session itself stays as it is
    #[arg(long)]
    pub(crate) fork: bool,
    /// Permits every tool call; without it tools may only read
    #[arg(long)]
    pub(crate) allow_all: bool,
    /// Writes every answer of the model to this file, for `--model replay/FILE`
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// How long background commands may go on after the answer
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = crate::time::parse)]
    pub(crate) background_wait: Duration,
    /// How long to wait for a quota to reset
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = crate::time::parse)]
    pub(crate) park_wait: Duration,
    /// Leaves out the lines about tool calls
    #[arg(long, short = 'q')]
    pub(crate) quiet: bool,
}

/// How a result is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// The answer.
    Text,
    /// One object with the answer and every task, denial and figure.
    Json,
    /// Every event as it happens, one object a line, and the result last.
    Jsonl,
}

/// What can be done besides running a prompt.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Lists, shows, exports, messages, stops and removes sessions
    #[command(args_conflicts_with_subcommands = true)]
    Sessions(SessionsArgs),
    /// Removes sessions that nobody touched for a long time
    Gc(GcArgs),
    /// Shows Bosun at work on a small sample, offline and without a key
    Demo(DemoArgs),
    /// Checks scripts for the script model, and prints their schema
    Script(ScriptArgs),
}

/// `bosun sessions`.
#[derive(Debug, clap::Args)]
pub(crate) struct SessionsArgs {
    #[command(subcommand)]
    pub(crate) command: Option<SessionsCommand>,
    #[command(flatten)]
    pub(crate) list: ListArgs,
}

/// Options of a list of sessions.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct ListArgs {
    /// Only those of this folder
    #[arg(long)]
    pub(crate) here: bool,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// What can be done with sessions. An ID may be the beginning of one.
#[derive(Debug, Subcommand)]
pub(crate) enum SessionsCommand {
    /// Lists sessions, newest first
    List(ListArgs),
    /// Shows one session and its tasks
    Show {
        /// The session
        id: String,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Writes a session's whole log
    Export {
        /// The session
        id: String,
        /// Markdown to read, or JSON with every event
        #[arg(long, value_enum, default_value_t = ExportFormat::Markdown, value_name = "FORMAT")]
        format: ExportFormat,
        /// Writes to this file instead of stdout
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Removes sessions for good
    Rm {
        /// The sessions
        #[arg(required = true)]
        ids: Vec<String>,
    },
    /// Sends a message to a session, running or not
    Send {
        /// The session
        id: String,
        /// The message
        text: String,
        /// When it is read
        #[arg(long, value_enum, default_value_t = When::Steer, value_name = "WHEN")]
        when: When,
    },
    /// Stops the running turn of a session
    Interrupt {
        /// The session
        id: String,
    },
    /// Stops everything a session runs; it can be resumed
    Stop {
        /// The session
        id: String,
    },
    /// Prints a session's events as they happen, as JSON lines
    Watch {
        /// The session
        id: String,
        /// Only events after this sequence number
        #[arg(long, default_value_t = 0, value_name = "SEQ")]
        after: u64,
    },
}

/// How a session is exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// To read.
    Markdown,
    /// Every event.
    Json,
}

/// When a message is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    /// Between two turns.
    Steer,
    /// When the agent would end.
    FollowUp,
    /// Now: the running turn is dropped.
    Interrupt,
}

/// `bosun gc`.
#[derive(Debug, clap::Args)]
pub(crate) struct GcArgs {
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
        Args::command().debug_assert();
    }

    #[test]
    fn a_prompt_without_a_text_comes_from_stdin() {
        let prompt = |args: &[&str]| Args::try_parse_from(args).unwrap().run.prompt;
        assert_eq!(prompt(&["bosun", "-p"]).as_deref(), Some("-"));
        assert_eq!(prompt(&["bosun", "-p", "hi", "--quiet"]).as_deref(), Some("hi"));
        assert_eq!(prompt(&["bosun", "--continue"]), None);
    }
}

//! Arguments of a run.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use protocol::ListName;

use super::catalog::{AgentLimitArgs, DefinitionArgs};
use super::mcp::McpSourceArgs;
use super::mode::ModeArgs;
use super::permission::{AskWait, PermissionArgs, parse_wait};

/// Options of a run.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct RunArgs {
    /// Runs this prompt and exits; without a value, or with `-`, reads it from stdin
    /// (for a prompt that starts with a dash: --prompt="- …")
    #[arg(short = 'p', long = "prompt", value_name = "PROMPT", num_args = 0..=1, default_missing_value = "-")]
    pub(crate) prompt: Option<String>,
    /// The model: PROVIDER/NAME, NAME alone, or a family such as sonnet; PROVIDER is anthropic, openai, openai-chat,
    /// ollama, llamacpp, llama-server, lmstudio or one from config.toml; script/FILE and replay/FILE are relative to
    /// the working folder; `bosun models` lists the models (default: BOSUN_MODEL, then `model` in config.toml, then the
    /// model of the first provider with a key)
    #[arg(long, value_name = "PROVIDER/NAME")]
    pub(crate) model: Option<String>,
    /// Reasoning effort of the model, if its provider supports it
    #[arg(long, value_enum, value_name = "EFFORT")]
    pub(crate) effort: Option<EffortArg>,
    /// Sends this image with the prompt: PNG, JPEG, GIF or WebP, up to 5 MB (may be repeated, up to 10)
    #[arg(long, value_name = "FILE", requires = "prompt")]
    pub(crate) image: Vec<PathBuf>,
    /// Format of the result on stdout
    #[arg(long, value_enum, default_value_t = OutputFormat::Text, value_name = "FORMAT")]
    pub(crate) output_format: OutputFormat,
    /// Works in this folder
    #[arg(short = 'C', value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,
    /// Ends the run after this many turns
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = super::values::parse_count::<1, { u32::MAX }>)]
    pub(crate) max_turns: Option<u32>,
    /// Ends the session's work before it costs more than this many US dollars in total; needs a model with a price
    #[arg(long, value_name = "USD", allow_negative_numbers = true, value_parser = super::values::parse_dollars)]
    pub(crate) max_budget_usd: Option<u64>,
    /// Ends the session's work before it uses more than this many tokens in total
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = super::values::parse_tokens)]
    pub(crate) max_tokens_total: Option<u64>,
    /// Ends the run after this time, with one last answer, which may take up to a minute
    #[arg(long, value_name = "TIME", value_parser = super::values::parse_nonzero)]
    pub(crate) timeout: Option<Duration>,
    /// The list that the agents share: session, project, or team:NAME (also `lists.use` in config.toml)
    #[arg(long, value_name = "LIST")]
    pub(crate) list: Option<ListName>,
    /// Continues the last session of this folder
    #[arg(long, short = 'c', conflicts_with = "resume")]
    pub(crate) r#continue: bool,
    /// Resumes this session; the beginning of its id is enough
    #[arg(long, value_name = "ID")]
    pub(crate) resume: Option<String>,
    /// With --continue or --resume, and a prompt: continues in a copy and leaves the session unchanged
    #[arg(long)]
    pub(crate) fork: bool,
    /// Runs in the background: prints the session's id and returns; calls that need permission wait for
    /// `bosun approvals`
    #[arg(long, visible_alias = "bg", conflicts_with_all = ["image", "share", "background_wait"])]
    pub(crate) detach: bool,
    /// Writes every answer of the model to this file, for `--model replay/FILE`
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// After the answer, how long background commands may run (default 30s) and agents may be silent (default 10m)
    #[arg(long, value_name = "TIME", value_parser = config::parse_time)]
    pub(crate) background_wait: Option<Duration>,
    /// How long to wait for a quota to reset
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = config::parse_time)]
    pub(crate) park_wait: Duration,
    /// Shows no progress: only the answer and final errors
    #[arg(long, short = 'q')]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) mode: ModeArgs,
    #[command(flatten)]
    pub(crate) permissions: PermissionArgs,
    /// Never lets the model ask you a question
    #[arg(long)]
    pub(crate) no_ask_user: bool,
    /// How long a call waits for your decision before it is denied, or `forever` (default: 5m if stderr is a terminal
    /// and --quiet is not set, else 0s)
    #[arg(long, value_name = "TIME", value_parser = parse_wait)]
    pub(crate) ask_wait: Option<AskWait>,
    /// Talks to this agent instead of the default one; `bosun catalog list` shows them
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    #[command(flatten)]
    pub(crate) definitions: DefinitionArgs,
    /// Refuses to start if an agent, skill, hook or plugin has any problem, even one that is only a warning
    #[arg(long)]
    pub(crate) strict: bool,
    #[command(flatten)]
    pub(crate) limits: AgentLimitArgs,
    #[command(flatten)]
    pub(crate) mcp: McpSourceArgs,
}

impl RunArgs {
    /// Whether progress is shown besides the answer.
    pub(crate) fn shows_progress(&self) -> bool {
        self.output_format == OutputFormat::Text && !self.quiet
    }

    /// How long to wait for a decision; `None` means without limit. Without a terminal no user sees the question, so
    /// the default is not to wait.
    pub(crate) fn ask_wait(&self) -> Option<Duration> {
        const DEFAULT: Duration = Duration::from_secs(300);
        match self.ask_wait {
            Some(AskWait::Forever) => None,
            Some(AskWait::For(time)) => Some(time),
            None if std::io::stderr().is_terminal() && !self.quiet => Some(DEFAULT),
            None => Some(Duration::ZERO),
        }
    }
}

/// Format of the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// The answer.
    Text,
    /// One object with the answer, tasks, denials and usage.
    Json,
    /// Every event as it happens, one object per line, then the result.
    Jsonl,
}

/// Reasoning effort.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EffortArg {
    /// The least the model supports.
    Low,
    /// Between low and high.
    Medium,
    /// The most the model supports.
    High,
}

impl From<EffortArg> for protocol::ReasoningEffort {
    fn from(effort: EffortArg) -> protocol::ReasoningEffort {
        match effort {
            EffortArg::Low => protocol::ReasoningEffort::Low,
            EffortArg::Medium => protocol::ReasoningEffort::Medium,
            EffortArg::High => protocol::ReasoningEffort::High,
        }
    }
}

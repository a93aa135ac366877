//! What can be said about a run.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use protocol::ListName;

use super::catalog::{AgentLimitArgs, DefinitionArgs};
use super::mode::ModeArgs;
use super::permission::{AskWait, PermissionArgs, parse_wait};

/// Options of a run.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct RunArgs {
    /// Runs this prompt and exits; without a text, or with `-`, it is read from stdin
    /// (one that begins with a dash: --prompt="- …")
    #[arg(short = 'p', long = "prompt", value_name = "PROMPT", num_args = 0..=1, default_missing_value = "-")]
    pub(crate) prompt: Option<String>,
    /// The model: anthropic/NAME, openai/NAME, openai-chat/NAME, ollama/NAME, llamacpp/NAME, llama-server/NAME,
    /// lmstudio/NAME, a provider of config.toml, NAME alone or a family such as sonnet, or script/FILE and replay/FILE
    /// from the folder to work in; `bosun models` lists what there is (also BOSUN_MODEL, or `model` in
    /// config.toml; else that of the first key)
    #[arg(long, value_name = "PROVIDER/NAME")]
    pub(crate) model: Option<String>,
    /// How hard the model thinks before it answers, where its provider can be told
    #[arg(long, value_enum, value_name = "EFFORT")]
    pub(crate) effort: Option<EffortArg>,
    /// Shows the model this picture with the prompt: PNG, JPEG, GIF or WebP, up to 5 MB (may be repeated, up to 10)
    #[arg(long, value_name = "FILE", requires = "prompt")]
    pub(crate) image: Vec<PathBuf>,
    /// How the result is written to stdout
    #[arg(long, value_enum, default_value_t = OutputFormat::Text, value_name = "FORMAT")]
    pub(crate) output_format: OutputFormat,
    /// Works in this folder
    #[arg(short = 'C', value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,
    /// Ends the run after this many turns
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_turns: Option<u32>,
    /// Ends the session's work when it would cost more than this many US dollars in all; needs a model with a price
    #[arg(long, value_name = "USD", value_parser = crate::money::parse_dollars)]
    pub(crate) max_budget_usd: Option<u64>,
    /// Ends the session's work when it would use more than this many tokens in all
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_tokens_total: Option<u64>,
    /// Ends the run after this time, with one last answer, which may take up to a minute
    #[arg(long, value_name = "TIME", value_parser = crate::time::parse_nonzero)]
    pub(crate) timeout: Option<Duration>,
    /// The list that its agents share: session, project, or team:NAME (also `lists.use` in config.toml)
    #[arg(long, value_name = "LIST")]
    pub(crate) list: Option<ListName>,
    /// Goes on with the last session of this folder
    #[arg(long, short = 'c', conflicts_with = "resume")]
    pub(crate) r#continue: bool,
    /// Goes on with this session; the beginning of its id is enough
    #[arg(long, value_name = "ID")]
    pub(crate) resume: Option<String>,
    /// With --continue or --resume, and a prompt: goes on in a copy; the session itself stays as it is
    #[arg(long)]
    pub(crate) fork: bool,
    /// Writes every answer of the model to this file, for `--model replay/FILE`
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// How long after the answer background commands may go on (30s) and agents may be silent (10m)
    #[arg(long, value_name = "TIME", value_parser = config::parse_time)]
    pub(crate) background_wait: Option<Duration>,
    /// How long to wait for a quota to reset
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = config::parse_time)]
    pub(crate) park_wait: Duration,
    /// Shows nothing on the way: only the answer, and what went wrong in the end
    #[arg(long, short = 'q')]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) mode: ModeArgs,
    #[command(flatten)]
    pub(crate) permissions: PermissionArgs,
    /// Never lets the model ask you a question
    #[arg(long)]
    pub(crate) no_ask_user: bool,
    /// How long a call that needs your decision waits for it before it is denied, or for-ever (5m when stderr is a
    /// terminal and not --quiet, else 0s)
    #[arg(long, value_name = "TIME", value_parser = parse_wait)]
    pub(crate) ask_wait: Option<AskWait>,
    /// Talks to this agent instead of the usual one; `bosun catalog list` shows which there are
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    #[command(flatten)]
    pub(crate) definitions: DefinitionArgs,
    /// Refuses to start while anything is wrong with an agent, skill, hook or plugin
    #[arg(long)]
    pub(crate) strict: bool,
    #[command(flatten)]
    pub(crate) limits: AgentLimitArgs,
    /// (comes later) Servers of more tools
    #[arg(long, value_name = "FILE")]
    pub(crate) mcp_config: Vec<PathBuf>,
    /// (comes later) Only the servers of --mcp-config
    #[arg(long)]
    pub(crate) strict_mcp_config: bool,
}

impl RunArgs {
    /// The first flag that was typed and whose feature comes with a later version.
    pub(crate) fn unsupported_flag(&self) -> Option<&'static str> {
        let RunArgs { mcp_config, strict_mcp_config, .. } = self;
        let typed = [(!mcp_config.is_empty(), "--mcp-config"), (*strict_mcp_config, "--strict-mcp-config")];
        typed.into_iter().find(|(typed, _)| *typed).map(|(_, flag)| flag)
    }

    /// Whether a person reads what is told besides the answer.
    pub(crate) fn is_for_people(&self) -> bool {
        self.output_format == OutputFormat::Text && !self.quiet
    }

    /// How long a person is waited for; for ever when absent. Without somebody to see the question there is nobody
    /// to wait for.
    pub(crate) fn ask_wait(&self) -> Option<Duration> {
        const USUAL: Duration = Duration::from_secs(300);
        match self.ask_wait {
            Some(AskWait::ForEver) => None,
            Some(AskWait::For(time)) => Some(time),
            None if std::io::stderr().is_terminal() && !self.quiet => Some(USUAL),
            None => Some(Duration::ZERO),
        }
    }
}

/// How a result is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// The answer.
    Text,
    /// One object with the answer and every task, denial and figure.
    Json,
    /// Every event as it happens, one object a line, and the result last.
    Jsonl,
}

/// How hard a model thinks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EffortArg {
    /// As little as it can.
    Low,
    /// Somewhat.
    Medium,
    /// As much as it can.
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

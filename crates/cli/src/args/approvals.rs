//! Arguments of `bosun approvals`.

use clap::Subcommand;

use super::RuleScope;

/// `bosun approvals`.
#[derive(Debug, clap::Args)]
pub(crate) struct ApprovalsArgs {
    #[command(subcommand)]
    pub(crate) command: Option<ApprovalsCommand>,
    #[command(flatten)]
    pub(crate) list: ApprovalListArgs,
}

/// Selects the asks to list.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct ApprovalListArgs {
    /// Only approvals of this session; the beginning of its id is enough
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Prints JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Selects the asks to decide: the named ones, or all.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ApprovalSelectArgs {
    /// Numbers or ids of the calls; the beginning of an id is enough
    #[arg(value_name = "ID", required_unless_present_any = ["all", "session"], conflicts_with_all = ["all", "session"])]
    pub(crate) ids: Vec<String>,
    /// All pending calls and questions, in every session
    #[arg(long, conflicts_with = "session")]
    pub(crate) all: bool,
    /// All pending calls and questions of this session
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Prints JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `bosun approvals` subcommands.
#[derive(Debug, Subcommand)]
pub(crate) enum ApprovalsCommand {
    /// Lists pending calls and questions, oldest first
    List(ApprovalListArgs),
    /// Shows one call or question in full
    Show {
        /// Number or id of the call or question
        id: String,
        /// Prints JSON
        #[arg(long)]
        json: bool,
    },
    /// Allows calls, each of them once
    Allow(ApprovalSelectArgs),
    /// Denies calls, and leaves questions unanswered
    Deny {
        #[command(flatten)]
        chosen: ApprovalSelectArgs,
        /// Reason given to the agent
        #[arg(long, value_name = "WORDS", default_value = "", hide_default_value = true)]
        reason: String,
    },
    /// Allows a call, and writes a rule that allows similar calls from now on
    Always {
        /// The call
        id: String,
        /// The rule, such as 'shell(git *)', instead of the suggested one
        #[arg(long, value_name = "RULE")]
        rule: Option<String>,
        /// Settings file for the rule: yours for this project, or yours for all projects
        #[arg(long = "in", value_enum, default_value_t = RuleScope::Local, value_name = "PLACE")]
        scope: RuleScope,
        /// Prints JSON
        #[arg(long)]
        json: bool,
    },
    /// Answers a question
    Answer {
        /// The question
        id: String,
        /// The answer, or the number of a choice
        text: String,
        /// Prints JSON
        #[arg(long)]
        json: bool,
    },
}

//! What can be said about approvals.

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

/// Which asks are listed.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct ApprovalListArgs {
    /// Only those of this session; the beginning of its id is enough
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which asks are decided: those that are named, or all of them.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ApprovalSelectArgs {
    /// The calls: their numbers, or their ids, of which the beginning is enough
    #[arg(value_name = "ID", required_unless_present_any = ["all", "session"], conflicts_with_all = ["all", "session"])]
    pub(crate) ids: Vec<String>,
    /// All that waits, in every session
    #[arg(long, conflicts_with = "session")]
    pub(crate) all: bool,
    /// All that waits in this session
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// What can be done with what waits for a person.
#[derive(Debug, Subcommand)]
pub(crate) enum ApprovalsCommand {
    /// Lists what waits for a decision, oldest first
    List(ApprovalListArgs),
    /// Shows one call or question in full
    Show {
        /// Which
        id: String,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Lets calls run, each of them once
    Allow(ApprovalSelectArgs),
    /// Does not let calls run, and leaves questions unanswered
    Deny {
        #[command(flatten)]
        chosen: ApprovalSelectArgs,
        /// What the agent should know
        #[arg(long, value_name = "WORDS", default_value = "", hide_default_value = true)]
        reason: String,
    },
    /// Lets a call run, and writes a rule that allows its like from now on
    Always {
        /// The call
        id: String,
        /// The rule, such as 'shell(git *)', instead of the suggested one
        #[arg(long, value_name = "RULE")]
        rule: Option<String>,
        /// Whose settings the rule is written to
        #[arg(long = "in", value_enum, default_value_t = RuleScope::Local, value_name = "PLACE")]
        scope: RuleScope,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Answers a question
    Answer {
        /// The question
        id: String,
        /// The answer, or the number of a choice
        text: String,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
}

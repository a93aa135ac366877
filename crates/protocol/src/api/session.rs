//! API types for sessions, asks, modes, rules and plans.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{StopTaskParams, TaskParams};
use crate::{
    AgentLimits, Ask, AskDecision, AskId, Budget, Cost, DecidedBy, Image, ListName, MailDelivery, MailId,
    PermissionMode, ReasoningEffort, RuleEffect, RuleText, SessionId, SessionMode, TaskId, TaskOutcome, TaskState,
    Timestamp, Usage,
};

/// A session, as clients see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionView {
    /// Its id.
    pub id: SessionId,
    /// The folder it works in.
    pub cwd: String,
    /// The model it uses, as for `--model`.
    pub model: String,
    /// The permission mode: what happens to tool calls that no rule matches.
    pub permission: PermissionMode,
    /// How independently its root works.
    #[serde(default)]
    pub mode: SessionMode,
    /// The permission rules from its command line, oldest first.
    #[serde(default)]
    pub rules: Vec<RuleText>,
    /// Additional folders that its file tools may use.
    #[serde(default)]
    pub roots: Vec<String>,
    /// Whether its model may ask the user questions.
    #[serde(default)]
    pub ask_user: bool,
    /// Maximum turns that its agents may take together for one prompt.
    pub max_turns: Option<u32>,
    /// How many agents it may have.
    #[serde(default)]
    pub limits: AgentLimits,
    /// What it may spend in total.
    #[serde(default)]
    pub budget: Budget,
    /// How hard its model should think; the provider's default when absent.
    #[serde(default)]
    pub effort: Option<ReasoningEffort>,
    /// The list that its agents share.
    #[serde(default)]
    pub list: ListName,
    /// The beginning of its first prompt.
    pub title: String,
    /// When it began.
    pub created_at: Timestamp,
    /// When its last event was committed.
    pub updated_at: Timestamp,
    /// The root's state or, while the root is idle, that of agents below it that work, wait or were interrupted.
    pub state: TaskState,
    /// How the root's last activation ended.
    pub last_outcome: Option<TaskOutcome>,
    /// The process that runs it now.
    pub owner_pid: Option<u32>,
    /// How many events its log holds.
    pub events: u64,
    /// How many turns its agents took.
    pub turns: u64,
    /// What its agents used in total.
    pub usage: Usage,
    /// The cost of that usage, including model calls that were cut off.
    #[serde(default)]
    pub spent: Cost,
    /// Whether the price of everything in `spent` is known, so that its money amount is complete.
    #[serde(default)]
    pub priced: bool,
}

/// A message for a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SendParams {
    /// The task; the root when absent.
    #[serde(default)]
    pub task: Option<TaskId>,
    /// The text.
    pub text: String,
    /// Images attached to it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
    /// When it may be read.
    pub delivery: MailDelivery,
    /// The text to show to the user instead, if it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display: Option<String>,
}

/// A receipt for a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SendResult {
    /// The mail that holds it.
    pub mail: MailId,
}

/// One ask as every view shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AskView {
    /// The session it belongs to.
    pub session: SessionId,
    /// Its number in the session, from 1, in the order of asking; short enough to type.
    pub number: u64,
    /// The task whose call waits.
    pub task: TaskId,
    /// That task's path, such as `/root/tests`.
    pub path: String,
    /// When it was asked.
    pub asked_at: Timestamp,
    /// What is asked.
    pub ask: Ask,
    /// Its state.
    pub state: AskState,
}

/// The state of an ask.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum AskState {
    /// It is waiting for a decision.
    Open,
    /// It is decided.
    Decided {
        /// What was decided.
        decision: AskDecision,
        /// Who decided it.
        by: DecidedBy,
        /// When.
        at: Timestamp,
    },
    /// Its call ended without a decision.
    Withdrawn,
}

/// Which asks are wanted, and which page of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AsksParams {
    /// Whether to include asks that are decided or withdrawn.
    pub all: bool,
    /// How many rows to skip.
    pub offset: u64,
    /// How many rows at most; 100 when absent.
    pub limit: Option<u64>,
}

/// One page of the asks of a session, oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AsksResult {
    /// The rows.
    pub asks: Vec<AskView>,
    /// How many there are in total.
    pub total: u64,
}

/// The mode of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModeParams {
    /// How independently its root works.
    pub mode: SessionMode,
}

/// The permission mode: what happens to tool calls that no rule matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PermissionParams {
    /// The mode.
    pub mode: PermissionMode,
}

/// Changes of the permission rules, applied in order. They apply as long as this process runs the session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RulesParams {
    /// The changes.
    pub changes: Vec<RuleChange>,
}

/// A change of the permission rules.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum RuleChange {
    /// Adds a rule.
    Add {
        /// What the rule does with the calls it matches.
        effect: RuleEffect,
        /// The rule.
        rule: String,
    },
    /// Removes a rule that was added while the session ran. An allow rule may also be one from the command line.
    Remove {
        /// What the rule does with the calls it matches.
        effect: RuleEffect,
        /// The rule.
        rule: String,
    },
    /// Replaces all rules with this effect that were added while the session ran.
    Replace {
        /// What the rules do with the calls they match.
        effect: RuleEffect,
        /// The rules.
        rules: Vec<String>,
    },
}

/// A title for a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RenameSessionParams {
    /// The title, in one line.
    pub title: String,
}

/// What the user may want to say next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PromptSuggestion {
    /// The suggestion; none if nothing is obvious.
    pub text: Option<String>,
}

/// The plan of a session, if it has one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlanResult {
    /// The plan, in Markdown.
    pub text: Option<String>,
}

/// A plan to store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlanParams {
    /// The plan, in Markdown.
    pub text: String,
}

/// A decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DecideParams {
    /// The ask.
    pub ask: AskId,
    /// The decision.
    pub decision: AskDecision,
}

/// A decision over the API.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AsksDecideParams {
    /// The decision.
    #[serde(flatten)]
    pub decided: DecideParams,
    /// Whether to interrupt the turn as well, before the decision takes effect.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupt: bool,
}

/// Where a subscription begins, and how often it gets messages.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SubscribeParams {
    /// The last sequence number the client has seen; 0 for all.
    pub after: u64,
    /// The minimum time between two messages, in milliseconds: a single event is sent at once, events in quick
    /// succession are sent together.
    pub pause_ms: u64,
}

impl SubscribeParams {
    /// Everything after a sequence number, as soon as it happens.
    pub fn after(after: u64) -> SubscribeParams {
        SubscribeParams { after, ..SubscribeParams::default() }
    }
}

/// A command that the user gives from another process: over the session's socket, or in its file if no process runs it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum SessionCommand {
    /// Send a message.
    Send(SendParams),
    /// Stop the running turn.
    Interrupt,
    /// Stop every task and end the run.
    Stop,
    /// End the fleet; its remaining todos can be continued later.
    StopFleet,
    /// Decide on an ask.
    Decide(DecideParams),
    /// Stop a task and everything below it.
    StopTask(StopTaskParams),
    /// Move a task that the root waits for into the background.
    Promote(TaskParams),
    /// Remove the record of a task that has ended.
    Forget(TaskParams),
    /// Change the session mode.
    SetMode(ModeParams),
}

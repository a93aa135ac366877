//! API types for what sessions used and spent.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::UnreadableSession;
use crate::{Cost, SessionId, Timestamp, Usage};

/// Whose usage to add up, and how.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct UsageParams {
    /// Only this session.
    pub session: Option<SessionId>,
    /// Only sessions that work in this folder.
    pub cwd: Option<String>,
    /// Only turns that began at this time or later.
    pub since_at: Option<Timestamp>,
    /// What each line is the sum of.
    pub by: UsageGrouping,
}

/// What a line of a usage report is the sum of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum UsageGrouping {
    /// One session.
    Session,
    /// One model.
    #[default]
    Model,
    /// One agent definition.
    Agent,
    /// One task of one session.
    Task,
}

impl UsageGrouping {
    /// The grouping in one word.
    pub fn as_str(self) -> &'static str {
        match self {
            UsageGrouping::Session => "session",
            UsageGrouping::Model => "model",
            UsageGrouping::Agent => "agent",
            UsageGrouping::Task => "task",
        }
    }
}

/// What sessions used and spent. Each line is a sum of turns, and the total is the sum of the lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsageReport {
    /// What each line is the sum of.
    pub by: UsageGrouping,
    /// The lines, by name.
    pub lines: Vec<UsageLine>,
    /// The sum of all lines.
    pub total: UsageSum,
    /// The sessions that could not be read, and so are not included.
    pub unreadable: Vec<UnreadableSession>,
}

/// One line of a usage report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsageLine {
    /// A model, an agent, a session's title or a task's path.
    pub name: String,
    /// The session, if the line belongs to one.
    pub session: Option<SessionId>,
    /// The sum.
    pub sum: UsageSum,
}

/// The sum of some turns.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsageSum {
    /// How many turns were answered.
    pub turns: u64,
    /// What the answers used.
    pub usage: Usage,
    /// What was charged, including `unanswered`.
    pub spent: Cost,
    /// The part charged for requests without an answer.
    pub unanswered: Cost,
    /// Whether the price of everything in `spent` is known.
    pub priced: bool,
    /// The models that answered, as their providers named them.
    pub answered: BTreeSet<String>,
}

impl UsageSum {
    /// The sum of no turns.
    pub fn nothing() -> UsageSum {
        UsageSum { priced: true, ..UsageSum::default() }
    }
}

/// What all sessions spent today, in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TodayUsage {
    /// In millionths of a US dollar.
    pub spent_micros: u64,
    /// The limit of a day, `budget.day-usd`.
    pub limit_micros: Option<u64>,
    /// When the next day begins.
    pub ends_at: Timestamp,
}

//! External tasks: work that a client does itself and only reports to the session. The session stores the reports, so
//! that every view shows the work, and a client that reconnects finds its tasks again.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Timestamp;

/// The name that a client gives an external task; unique among the session's tasks that were not removed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ExternalTaskId(pub String);

impl fmt::Display for ExternalTaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The properties of an external task that its client names at its start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExternalTaskSpec {
    /// Its client's name for it.
    pub id: ExternalTaskId,
    /// Its display name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Whether its client can be asked to stop it.
    pub cancellable: bool,
    /// The connection that owns it.
    pub owner: String,
}

/// What the clients of an external task have reported of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExternalReport {
    /// What its client names; of the client that claimed it last.
    pub spec: ExternalTaskSpec,
    /// Whether anyone works on it.
    pub activity: ExternalActivity,
    /// Since when.
    pub since_at: Timestamp,
    /// The number of the client's latest report.
    pub sequence: u64,
    /// The current phase, as its client names it.
    #[serde(default)]
    pub phase: Option<String>,
    /// How much of it is done, in percent.
    #[serde(default)]
    pub percent: Option<u8>,
    /// The latest message from its client.
    #[serde(default)]
    pub message: Option<String>,
    /// When it was last reported on.
    pub updated_at: Timestamp,
    /// When another connection claimed it.
    #[serde(default)]
    pub claimed_at: Option<Timestamp>,
    /// How long it was worked on before its current activity, in milliseconds.
    #[serde(default)]
    pub worked_ms: u64,
    /// How it ended, if its client has reported that.
    #[serde(default)]
    pub end: Option<ExternalTaskEnd>,
}

/// Whether anyone works on an external task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ExternalActivity {
    /// Its client works on it.
    Working,
    /// Its client is connected but does not work on it.
    Idle,
    /// Its client is gone, or it has ended.
    Stopped,
}

/// How an external task ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ExternalTaskEnd {
    /// It completed.
    Completed {
        /// Its result.
        #[serde(default)]
        result: Option<Value>,
    },
    /// It failed.
    Failed {
        /// Why, for people.
        error: String,
        /// Why, for programs.
        #[serde(default)]
        code: Option<String>,
    },
    /// It was cancelled.
    Cancelled {
        /// Why.
        #[serde(default)]
        reason: Option<String>,
    },
}

/// One change that a client reports about its external task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ExternalTaskProgress {
    /// The client works on it.
    Running,
    /// The client does not work on it now.
    Idle,
    /// The current phase changed; no named phase when absent.
    Phase {
        /// The phase.
        #[serde(default)]
        phase: Option<String>,
    },
    /// The progress changed; unknown when absent.
    Percent {
        /// In percent.
        #[serde(default)]
        percent: Option<u8>,
    },
    /// A message for people.
    Message {
        /// The text.
        text: String,
    },
    /// It has ended.
    Ended {
        /// How.
        end: ExternalTaskEnd,
    },
}

impl ExternalReport {
    /// The report of a task that its client has just begun to work on.
    pub fn new(spec: ExternalTaskSpec, now: Timestamp) -> ExternalReport {
        ExternalReport {
            spec,
            activity: ExternalActivity::Working,
            since_at: now,
            sequence: 0,
            phase: None,
            percent: None,
            message: None,
            updated_at: now,
            claimed_at: None,
            worked_ms: 0,
            end: None,
        }
    }

    /// Returns the report with another activity, and with the time worked so far added up.
    #[must_use]
    pub fn with_activity(self, activity: ExternalActivity, now: Timestamp) -> ExternalReport {
        let worked = match self.activity {
            ExternalActivity::Working => now.0.saturating_sub(self.since_at.0),
            ExternalActivity::Idle | ExternalActivity::Stopped => 0,
        };
        let worked_ms = self.worked_ms.saturating_add(worked);
        ExternalReport { activity, since_at: now, updated_at: now, worked_ms, ..self }
    }

    /// Returns the report after one more change.
    #[must_use]
    pub fn with_progress(self, progress: ExternalTaskProgress, now: Timestamp) -> ExternalReport {
        match progress {
            ExternalTaskProgress::Running if self.activity == ExternalActivity::Working => self,
            ExternalTaskProgress::Idle if self.activity == ExternalActivity::Idle => self,
            ExternalTaskProgress::Running => self.with_activity(ExternalActivity::Working, now),
            ExternalTaskProgress::Idle => self.with_activity(ExternalActivity::Idle, now),
            ExternalTaskProgress::Phase { phase } => ExternalReport { phase, updated_at: now, ..self },
            ExternalTaskProgress::Percent { percent } => ExternalReport { percent, updated_at: now, ..self },
            ExternalTaskProgress::Message { text } => ExternalReport { message: Some(text), updated_at: now, ..self },
            ExternalTaskProgress::Ended { end } => {
                ExternalReport { end: Some(end), ..self.with_activity(ExternalActivity::Stopped, now) }
            }
        }
    }

    /// What its client does now, in one line: the phase, the progress and the latest message.
    pub fn summary(&self) -> Option<String> {
        let percent = self.percent.map(|percent| format!("{percent} %"));
        let head: Vec<String> = self.phase.clone().into_iter().chain(percent).collect();
        let parts: Vec<String> = Some(head.join(", ")).into_iter().chain(self.message.clone()).collect();
        let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        (!parts.is_empty()).then(|| parts.join(": "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_names_what_the_client_has_reported() {
        let id = ExternalTaskId("build".into());
        let spec = ExternalTaskSpec { id, title: None, cancellable: true, owner: "a".into() };
        let report = ExternalReport::new(spec, Timestamp(0));
        assert_eq!(report.summary(), None);
        let phase = ExternalTaskProgress::Phase { phase: Some("link".into()) };
        let report = report.with_progress(phase, Timestamp(1));
        let report = report.with_progress(ExternalTaskProgress::Percent { percent: Some(40) }, Timestamp(1));
        assert_eq!(report.summary().as_deref(), Some("link, 40 %"));
        let report = report.with_progress(ExternalTaskProgress::Message { text: "two left".into() }, Timestamp(2));
        assert_eq!(report.summary().as_deref(), Some("link, 40 %: two left"));
    }
}

//! What clients are told of the session itself.

use protocol::{At, AutopilotStop, Compaction, Terms};
use serde_json::json;

use super::Translator;
use super::wire::Wire;

impl Translator {
    pub(super) fn opened(&mut self, terms: Terms, at: At) -> Wire {
        let content = json!({
            "sessionId": self.called,
            "version": 1,
            "producer": "bosun",
            "copilotVersion": terms.version,
            "startTime": at.to_string(),
            "selectedModel": terms.model,
            "context": { "cwd": terms.cwd },
        });
        self.model = terms.model;
        Wire::kept("session.start", content)
    }

    pub(super) fn adopted(&mut self, terms: Terms, at: At, seq: u64) -> Wire {
        let content = json!({
            "resumeTime": at.to_string(),
            "eventCount": seq,
            "selectedModel": terms.model,
            "context": { "cwd": terms.cwd },
        });
        self.model = terms.model;
        Wire::kept("session.resume", content)
    }
}

/// That the session does not go on by itself any more.
pub(super) fn stopped(why: &AutopilotStop) -> Vec<Wire> {
    let reason = match why {
        AutopilotStop::Complete { .. } => "task_complete",
        AutopilotStop::Limit => "cap_reached",
        AutopilotStop::Blocked { .. } => "blocked",
        AutopilotStop::NoChange => "no_progress",
        AutopilotStop::Aborted { .. } => "aborted",
        AutopilotStop::Failed => "error",
    };
    let report = match why {
        AutopilotStop::Complete { summary } => {
            Some(json!({ "summary": summary, "success": true, "outcome": "completed" }))
        }
        AutopilotStop::Blocked { summary, reason } => {
            Some(json!({ "summary": summary, "success": false, "outcome": "blocked", "reason": reason }))
        }
        AutopilotStop::Limit | AutopilotStop::NoChange | AutopilotStop::Aborted { .. } | AutopilotStop::Failed => None,
    };
    let report = report.map(|report| Wire::kept("session.task_complete", report));
    report.into_iter().chain([Wire::told("session.autopilot_stopped", json!({ "reason": reason }))]).collect()
}

pub(super) fn compacted(compaction: Compaction) -> Wire {
    let content = json!({
        "success": true,
        "messagesRemoved": compaction.messages,
        "summaryContent": compaction.digest.unwrap_or_default(),
    });
    Wire::kept("session.compaction_complete", content)
}

//! What clients are told of the session itself.

use protocol::{AutopilotStop, Compaction, SessionConfig, Timestamp};
use serde_json::json;

use super::EventTranslator;
use super::event::CopilotEvent;

impl EventTranslator {
    pub(super) fn opened(&mut self, terms: SessionConfig, at: Timestamp) -> CopilotEvent {
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
        CopilotEvent::persistent("session.start", content)
    }

    pub(super) fn adopted(&mut self, terms: SessionConfig, at: Timestamp, seq: u64) -> CopilotEvent {
        let content = json!({
            "resumeTime": at.to_string(),
            "eventCount": seq,
            "selectedModel": terms.model,
            "context": { "cwd": terms.cwd },
        });
        self.model = terms.model;
        CopilotEvent::persistent("session.resume", content)
    }
}

/// That the session does not go on by itself any more.
pub(super) fn autopilot_stopped(why: &AutopilotStop) -> Vec<CopilotEvent> {
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
    let report = report.map(|report| CopilotEvent::persistent("session.task_complete", report));
    report
        .into_iter()
        .chain([CopilotEvent::transient("session.autopilot_stopped", json!({ "reason": reason }))])
        .collect()
}

pub(super) fn compacted(compaction: Compaction) -> CopilotEvent {
    let content = json!({
        "success": true,
        "messagesRemoved": compaction.messages,
        "summaryContent": compaction.digest.unwrap_or_default(),
    });
    CopilotEvent::persistent("session.compaction_complete", content)
}

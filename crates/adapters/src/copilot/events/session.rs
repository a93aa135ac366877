//! Events about the session itself.

use protocol::{AutopilotStop, Compaction, SessionConfig, Timestamp};
use serde_json::{Value, json};

use super::EventTranslator;
use super::event::CopilotEvent;
use crate::copilot::model_names::client_model_name;

impl EventTranslator {
    pub(super) fn session_opened(&mut self, config: SessionConfig, at: Timestamp) -> CopilotEvent {
        let mut content = json!({
            "sessionId": self.session_name,
            "version": 1,
            "producer": "bosun",
            "copilotVersion": config.version,
            "startTime": at.to_string(),
            "selectedModel": client_model_name(&config.model),
            "context": { "cwd": config.cwd },
        });
        add_effort(&mut content, &config);
        self.model = config.model;
        CopilotEvent::persistent("session.start", content)
    }

    pub(super) fn session_adopted(&mut self, config: SessionConfig, at: Timestamp, seq: u64) -> CopilotEvent {
        let mut content = json!({
            "resumeTime": at.to_string(),
            "eventCount": seq,
            "selectedModel": client_model_name(&config.model),
            "context": { "cwd": config.cwd },
        });
        add_effort(&mut content, &config);
        self.model = config.model;
        CopilotEvent::persistent("session.resume", content)
    }
}

fn add_effort(content: &mut Value, config: &SessionConfig) {
    if let Some(effort) = config.effort {
        content["reasoningEffort"] = effort.as_str().into();
    }
}

/// The events for the end of autopilot.
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

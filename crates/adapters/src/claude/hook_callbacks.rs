//! Hooks that are callbacks in the client.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use protocol::{HookAction, HookDialect, HookEvent, HookFailure, HookSpec};
use serde_json::{Value, json};
use uuid::Uuid;

use super::frames;
use super::wire::ControlChannel;
use crate::{session_id, session_uuid};

/// The default timeout of a callback, in seconds.
const DEFAULT_TIMEOUT_SECS: f64 = 60.0;

/// How long to wait for the disconnect of a client whose input has ended.
const DISCONNECT_GRACE: Duration = Duration::from_secs(2);

/// The hooks that a client declares, without those on unsupported events.
pub(super) fn hook_specs(hooks: &Value) -> Vec<HookSpec> {
    let events = hooks.as_object().into_iter().flatten();
    events
        .flat_map(|(name, matchers)| {
            let event = hooks::event_by_name(name);
            let matchers = matchers.as_array().map_or(&[][..], Vec::as_slice);
            event
                .into_iter()
                .flat_map(move |event| matchers.iter().flat_map(move |matcher| matcher_specs(event, name, matcher)))
        })
        .collect()
}

fn matcher_specs(event: HookEvent, name: &str, matcher: &Value) -> Vec<HookSpec> {
    let ids = matcher["hookCallbackIds"].as_array().map_or(&[][..], Vec::as_slice);
    let seconds = matcher["timeout"].as_f64().filter(|seconds| *seconds > 0.0).unwrap_or(DEFAULT_TIMEOUT_SECS);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "casts of floats saturate")]
    let timeout_ms = (seconds * 1000.0) as u64;
    let failure = match (matcher["onFailure"].as_str(), event) {
        (Some("continue"), _) => HookFailure::Open,
        // A guard that fails, times out or is gone has not allowed the call.
        (None, HookEvent::PreToolUse) | (Some(_), _) => HookFailure::Closed,
        (None, _other) => HookFailure::Open,
    };
    let spec = |id: &str| HookSpec {
        event,
        matcher: matcher["matcher"].as_str().filter(|text| !text.is_empty()).map(str::to_owned),
        action: HookAction::Client { id: id.to_owned() },
        timeout_ms,
        failure,
        dialect: HookDialect::Snake,
        source: format!("the client's {name}"),
        programs: Vec::new(),
    };
    ids.iter().filter_map(Value::as_str).map(spec).collect()
}

/// Calls the client's callbacks.
#[derive(Debug)]
pub(super) struct HookCallbacks {
    control: Arc<ControlChannel>,
    reporting: HookReporting,
}

/// Whether the client receives a message when one of its callbacks is called, and when it has answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HookReporting {
    On,
    Off,
}

/// One call of a callback, as it is reported.
struct ReportedHook {
    id: String,
    event: String,
    name: String,
    session: Uuid,
}

impl ReportedHook {
    fn of(payload: &Value) -> ReportedHook {
        let event = payload["hook_event_name"].as_str().unwrap_or_default().to_owned();
        let name = match payload["tool_name"].as_str() {
            Some(tool) => format!("{event}:{tool}"),
            None => event.clone(),
        };
        let session = payload["session_id"].as_str().and_then(session_id).map(session_uuid).unwrap_or_default();
        ReportedHook { id: Uuid::now_v7().to_string(), event, name, session }
    }

    fn started(&self) -> Value {
        let fields = json!({ "hook_id": self.id, "hook_name": self.name, "hook_event": self.event });
        frames::system_frame(self.session, "hook_started", fields)
    }

    fn ended(&self, answer: &Result<Value, String>) -> Value {
        let (output, stderr, outcome) = match answer {
            Ok(Value::Null) => ("{}".to_owned(), "", "success"),
            Ok(answer) => (answer.to_string(), "", "success"),
            Err(why) => (String::new(), why.as_str(), "error"),
        };
        let fields = json!({
            "hook_id": self.id, "hook_name": self.name, "hook_event": self.event, "output": output, "stdout": output,
            "stderr": stderr, "outcome": outcome,
        });
        frames::system_frame(self.session, "hook_response", fields)
    }
}

impl HookCallbacks {
    pub(super) fn new(control: Arc<ControlChannel>, reporting: HookReporting) -> HookCallbacks {
        HookCallbacks { control, reporting }
    }

    /// Sends a frame about a hook. A client that is gone needs none.
    async fn report(&self, frame: impl FnOnce() -> Value) {
        if self.reporting == HookReporting::On {
            self.control.writer().send(frame()).await.ok();
        }
    }

    /// Waits forever if the client has disconnected: it has not allowed the call, which stays open until the session
    /// closes. Returns if the client has only closed its input.
    async fn hang_if_disconnected(&self) {
        if tokio::time::timeout(DISCONNECT_GRACE, self.control.writer().gone()).await.is_ok() {
            std::future::pending::<()>().await;
        }
    }
}

fn payload_event(request: &Value) -> Option<&str> {
    request["input"]["hook_event_name"].as_str()
}

impl hooks::ClientHookCaller for HookCallbacks {
    fn call<'a>(
        &'a self,
        id: &'a str,
        mut payload: Value,
    ) -> Pin<Box<dyn Future<Output = Result<String, String>> + Send + 'a>> {
        Box::pin(async move {
            // Clients identify sessions by plain UUIDs.
            if let Some(session) = payload["session_id"].as_str().and_then(session_id) {
                payload["session_id"] = json!(session_uuid(session));
            }
            let tool_use = match payload["tool_use_id"].as_str() {
                Some(id) => id.to_owned(),
                None => Uuid::now_v7().to_string(),
            };
            let request =
                json!({ "subtype": "hook_callback", "callback_id": id, "input": payload, "tool_use_id": tool_use });
            let is_end = payload_event(&request) == Some("SessionEnd");
            let reported = ReportedHook::of(&request["input"]);
            self.report(|| reported.started()).await;
            let answer = self.control.request(request).await;
            self.report(|| reported.ended(&answer)).await;
            if answer.is_err() && self.control.is_closed() && !is_end {
                self.hang_if_disconnected().await;
            }
            match answer? {
                Value::Null => Ok("{}".to_owned()),
                answer @ Value::Object(_) => Ok(answer.to_string()),
                _other => Err("the callback's answer is not a JSON object".to_owned()),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hook_specs_keep_matcher_timeout_and_failure_policy() {
        let specs = hook_specs(&json!({
            "PreToolUse": [
                { "matcher": "Bash", "hookCallbackIds": ["hook_0", "hook_1"], "timeout": 1.5, "onFailure": "block" },
                { "matcher": null, "hookCallbackIds": ["hook_2"] },
                { "hookCallbackIds": ["hook_3"], "onFailure": "continue" },
            ],
            "FileChanged": [{ "hookCallbackIds": ["hook_3"] }],
            "Stop": null,
        }));
        let seen: Vec<_> = specs.iter().map(|spec| (spec.matcher.as_deref(), spec.timeout_ms, spec.failure)).collect();
        assert_eq!(
            seen,
            [
                (Some("Bash"), 1500, HookFailure::Closed),
                (Some("Bash"), 1500, HookFailure::Closed),
                (None, 60_000, HookFailure::Closed),
                (None, 60_000, HookFailure::Open),
            ]
        );
        assert!(specs.iter().all(|spec| spec.event == HookEvent::PreToolUse && spec.dialect == HookDialect::Snake));
    }
}

//! Telemetry events for clients that ask for them. Bosun itself sends telemetry nowhere.

use host::{Clock, SystemClock};
use serde_json::{Value, json};

use super::connection::CopilotConnection;

/// Reports that a client has opened a session.
pub(crate) async fn report_opened(connection: &CopilotConnection, kind: &'static str, opened: &Value) {
    if !connection.wants_telemetry() {
        return;
    }
    let session = &opened["sessionId"];
    let event = json!({
        "kind": kind,
        "created_at": SystemClock.now().to_string(),
        "session_id": session,
        "properties": {
            "version": env!("CARGO_PKG_VERSION"),
            "model": opened["modelState"]["modelId"],
            "mode": opened["mode"],
        },
        "metrics": {},
    });
    let notification = json!({ "sessionId": session, "restricted": false, "event": event });
    connection.peer().notify("gitHubTelemetry.event", notification).await;
}

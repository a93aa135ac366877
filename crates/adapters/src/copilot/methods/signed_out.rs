//! What belongs to the vendor's services, which Bosun does not use: accounts, quotas, remote control and sharing. The
//! answers are those of a program whose user is signed out, but for what a client itself says about a session.

use rpc::ErrorObject;
use serde_json::{Value, json};

use super::unhandled;
use crate::copilot::hosted_session::HostedSession;

/// The methods about the remote control of sessions.
pub(super) const REMOTE_CONTROL: [&str; 6] = [
    "sessions.connect",
    "sessions.getRemoteControlStatus",
    "sessions.setRemoteControlSteering",
    "sessions.startRemoteControl",
    "sessions.stopRemoteControl",
    "sessions.transferRemoteControl",
];

/// Answers a method that is about no session.
pub(super) fn call(method: &str, params: &Value) -> Result<Value, ErrorObject> {
    let off = || json!({ "state": "off" });
    Ok(match method {
        "account.getCurrentAuth" => json!({}),
        "account.getAllUsers" => json!([]),
        "account.logout" => json!({ "hasMoreUsers": false }),
        "account.getQuota" => return Err(not_available("there are no quotas")),
        "account.login" => return Err(not_available("nobody can sign in")),
        "agentRegistry.spawn" => {
            return Err(ErrorObject::internal("agentRegistry.spawn is not enabled: create a session instead"));
        }
        "sessions.getRemoteControlStatus" | "sessions.setRemoteControlSteering" => json!({ "status": off() }),
        "sessions.stopRemoteControl" => json!({ "status": off(), "stopped": false }),
        "sessions.transferRemoteControl" => json!({ "status": off(), "transferred": false }),
        "sessions.startRemoteControl" => return Err(not_available("no session can be controlled remotely")),
        "sessions.connect" => {
            let name = params["sessionId"].as_str().unwrap_or_default();
            return Err(not_available(&format!("there is no remote session {name}")));
        }
        other => return Err(unhandled(other)),
    })
}

/// Answers a method about a session.
pub(super) fn session_call(session: &HostedSession, method: &str, params: &Value) -> Result<Value, ErrorObject> {
    Ok(match method {
        "session.gitHubAuth.getStatus" => session
            .features
            .account()
            .unwrap_or_else(|| json!({ "isAuthenticated": false, "statusMessage": "Bosun uses no GitHub account" })),
        "session.gitHubAuth.getCurrentAuthInfo" | "session.gitHubAuth.refreshCopilotUser" => Value::Null,
        "session.gitHubAuth.getAllAuthAvailable" | "session.gitHubAuth.lastAuthErrors" => json!([]),
        "session.gitHubAuth.logout" | "session.gitHubAuth.logoutUser" => json!(false),
        "session.gitHubAuth.login" | "session.gitHubAuth.switchToAuth" => {
            return Err(not_available("nobody can sign in"));
        }
        "session.gitHubAuth.setCredentials" => match &params["credentials"] {
            Value::Null => {
                session.features.set_account(None);
                json!({ "success": true })
            }
            credentials => {
                session.features.set_account(Some(account_view(credentials)?));
                json!({ "success": true })
            }
        },
        "session.remote.enable" => match params["mode"].as_str() {
            Some("off") => json!({ "remoteSteerable": false }),
            _on => return Err(not_available("no session can be controlled remotely")),
        },
        "session.remote.disable" => Value::Null,
        "session.remote.notifySteerableChanged" => {
            let steerable = params["remoteSteerable"].as_bool();
            let steerable =
                steerable.ok_or_else(|| ErrorObject::bad_params("`remoteSteerable` is missing or not a boolean"))?;
            session.emit("session.remote_steerable_changed", json!({ "remoteSteerable": steerable }));
            Value::Null
        }
        other => return Err(unhandled(other)),
    })
}

/// The account that a client names for a session, without its keys. Bosun uses it for nothing.
fn account_view(credentials: &Value) -> Result<Value, ErrorObject> {
    let kind = credentials["type"].as_str().ok_or_else(|| ErrorObject::bad_params("`credentials.type` is missing"))?;
    let mut account = json!({ "isAuthenticated": true, "authType": kind });
    for field in ["host", "login"] {
        if let Some(text) = credentials[field].as_str() {
            account[field] = text.into();
        }
    }
    Ok(account)
}

fn not_available(what: &str) -> ErrorObject {
    ErrorObject::internal(format!("{what}: Bosun does not use the vendor's services"))
}

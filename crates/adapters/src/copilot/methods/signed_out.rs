//! What belongs to the vendor's services, which Bosun does not use: accounts, quotas, remote control and sharing. The
//! answers are those of a program whose user is signed out. Of a GitHub account that a client brings, they say what GitHub
//! says.

use rpc::ErrorObject;
use serde_json::{Value, json};
use server::SessionOpener;

use super::unhandled;
use crate::copilot::github_account::GitHubAccount;
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
pub(super) async fn call(opener: &dyn SessionOpener, method: &str, params: &Value) -> Result<Value, ErrorObject> {
    let off = || json!({ "state": "off" });
    Ok(match method {
        "account.getCurrentAuth" => json!({}),
        "account.getAllUsers" => json!([]),
        "account.logout" => json!({ "hasMoreUsers": false }),
        "account.getQuota" => match params["gitHubToken"].as_str() {
            Some(token) => GitHubAccount::of_token(opener, token).await.map_err(ErrorObject::internal)?.quota(),
            None => return Err(not_available("there are no quotas without a `gitHubToken`")),
        },
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
pub(super) async fn session_call(session: &HostedSession, method: &str, params: &Value) -> Result<Value, ErrorObject> {
    Ok(match method {
        "session.gitHubAuth.getStatus" => match session.features.account() {
            Some(account) => account.status(),
            None => json!({ "isAuthenticated": false, "statusMessage": "the client brought no GitHub account" }),
        },
        "session.gitHubAuth.getCurrentAuthInfo" | "session.gitHubAuth.refreshCopilotUser" => Value::Null,
        "session.gitHubAuth.getAllAuthAvailable" | "session.gitHubAuth.lastAuthErrors" => json!([]),
        "session.gitHubAuth.logout" | "session.gitHubAuth.logoutUser" => json!(false),
        "session.gitHubAuth.login" | "session.gitHubAuth.switchToAuth" => {
            return Err(not_available("nobody can sign in"));
        }
        "session.gitHubAuth.setCredentials" => {
            let account = match &params["credentials"] {
                Value::Null => None,
                credentials => Some(GitHubAccount::of_credentials(credentials)?),
            };
            session.features.set_account(account);
            json!({ "success": true })
        }
        "session.remote.enable" => match params["mode"].as_str() {
            Some("off") => json!({ "remoteSteerable": false }),
            _on => return Err(not_available("no session can be controlled remotely")),
        },
        "session.remote.disable" => Value::Null,
        "session.remote.notifySteerableChanged" => {
            let steerable = params["remoteSteerable"].as_bool();
            let steerable =
                steerable.ok_or_else(|| ErrorObject::bad_params("`remoteSteerable` is missing or not a boolean"))?;
            session.record("session.remote_steerable_changed", json!({ "remoteSteerable": steerable })).await?;
            json!({})
        }
        other => return Err(unhandled(other)),
    })
}

fn not_available(what: &str) -> ErrorObject {
    ErrorObject::internal(format!("{what}: Bosun does not use the vendor's services"))
}

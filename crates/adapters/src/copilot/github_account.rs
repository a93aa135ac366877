//! The GitHub account of a token that a client brings, as GitHub describes it. Bosun uses none of the account's services.

use std::time::Duration;

use net::{HttpClient, HttpTimeouts, NetworkRoute, RequestHeader, Secret};
use rpc::ErrorObject;
use serde_json::{Map, Value, json};
use server::SessionOpener;

/// The variable with the address of GitHub's API. Without it, GitHub is asked nothing.
const API_VARIABLE: &str = "COPILOT_DEBUG_GITHUB_API_URL";

/// Where accounts of GitHub's own API belong.
const GITHUB_HOST: &str = "https://github.com";

/// Maximum bytes of the description of an account.
const MAX_BODY_BYTES: usize = 256 << 10;

/// How long GitHub may take to answer; meanwhile the client waits for its session.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(15);

/// Maximum characters of a name in it.
const MAX_NAME_CHARS: usize = 256;

/// A GitHub account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GitHubAccount {
    /// How the client identified it: by a `token`, or as a `user`.
    kind: &'static str,
    host: String,
    login: String,
    plan: Option<String>,
    /// What is left of each quota, by the quota's name.
    quotas: Map<String, Value>,
}

/// Why an account is not known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AccountError {
    /// GitHub does not know the token.
    #[error("401 Unauthorized: GitHub does not accept the token")]
    Unauthorized,
    /// GitHub gave no answer that can be used.
    #[error("the GitHub account of the token is unknown: {0}")]
    Unknown(String),
}

impl GitHubAccount {
    /// Asks GitHub whose token this is, at the address that the user has set.
    pub(crate) async fn of_token(opener: &dyn SessionOpener, token: &str) -> Result<GitHubAccount, AccountError> {
        let api = opener.variable(API_VARIABLE).ok_or_else(|| {
            AccountError::Unknown(format!("GitHub is asked only if {API_VARIABLE} has the address of its API"))
        })?;
        let described = describe(opener.network_route(), &api, token).await?;
        GitHubAccount::read("token", GITHUB_HOST, &described)
            .ok_or_else(|| AccountError::Unknown("GitHub names no login".into()))
    }

    /// Reads the credentials that a client sets for a session.
    pub(crate) fn of_credentials(credentials: &Value) -> Result<GitHubAccount, ErrorObject> {
        let kind = match credentials["type"].as_str() {
            Some("user") => "user",
            Some("token") => "token",
            _other => return Err(ErrorObject::bad_params("`credentials.type`: use user or token")),
        };
        let host = name(&credentials["host"]).unwrap_or_else(|| GITHUB_HOST.to_owned());
        let mut described = credentials["copilotUser"].clone();
        if let (Some(login), false) = (credentials["login"].as_str(), described["login"].is_string()) {
            described = json!({ "login": login, "copilot_plan": described["copilot_plan"] });
        }
        let account = GitHubAccount::read(kind, &host, &described);
        account.ok_or_else(|| ErrorObject::bad_params("`credentials.login` is missing"))
    }

    fn read(kind: &'static str, host: &str, described: &Value) -> Option<GitHubAccount> {
        Some(GitHubAccount {
            kind,
            host: host.to_owned(),
            login: name(&described["login"])?,
            plan: name(&described["copilot_plan"]),
            quotas: described["quota_snapshots"].as_object().cloned().unwrap_or_default(),
        })
    }

    /// The account in the answer to `session.gitHubAuth.getStatus`.
    pub(crate) fn status(&self) -> Value {
        let GitHubAccount { kind, host, login, plan, .. } = self;
        let mut status = json!({ "isAuthenticated": true, "authType": kind, "host": host, "login": login });
        if let Some(plan) = plan {
            status["copilotPlan"] = plan.as_str().into();
        }
        status
    }

    /// The answer to `account.getQuota`.
    pub(crate) fn quota(&self) -> Value {
        let snapshots: Map<String, Value> =
            self.quotas.iter().map(|(name, left)| (name.clone(), quota_snapshot(left))).collect();
        json!({ "quotaSnapshots": snapshots })
    }
}

/// One quota in the SDK's format.
fn quota_snapshot(left: &Value) -> Value {
    let entitlement = left["entitlement"].as_f64().unwrap_or_default();
    let percent = left["percent_remaining"].as_f64().unwrap_or(100.0);
    let used = (entitlement * (1.0 - percent / 100.0)).max(0.0).round();
    let may_exceed = left["overage_permitted"] == true;
    let mut snapshot = json!({
        "isUnlimitedEntitlement": left["unlimited"] == true,
        "entitlementRequests": left["entitlement"].as_i64().unwrap_or_default(),
        "usedRequests": used,
        "usageAllowedWithExhaustedQuota": may_exceed,
        "remainingPercentage": percent,
        "overage": left["overage_count"].as_f64().unwrap_or_default(),
        "overageAllowedWithExhaustedQuota": may_exceed,
    });
    if let Some(reset) = left["timestamp_utc"].as_str() {
        snapshot["resetDate"] = reset.into();
    }
    snapshot
}

fn name(value: &Value) -> Option<String> {
    value.as_str().filter(|name| !name.is_empty()).map(|name| name.chars().take(MAX_NAME_CHARS).collect())
}

/// What GitHub says about the account of a token.
async fn describe(route: NetworkRoute, api: &str, token: &str) -> Result<Value, AccountError> {
    let unknown = |why: String| AccountError::Unknown(why.replace(token, "[token]"));
    let client = HttpClient::new(route, HttpTimeouts { first_byte: ANSWER_TIMEOUT, ..HttpTimeouts::default() });
    let url = format!("{}/copilot_internal/user", api.trim_end_matches('/'));
    let headers = [
        RequestHeader::plain("accept", "application/json"),
        RequestHeader::plain("user-agent", concat!("bosun/", env!("CARGO_PKG_VERSION"))),
        RequestHeader::bearer(Secret::new(token)),
    ];
    let answer = client.get(&url, &headers).await.map_err(|error| unknown(error.to_string()))?;
    match answer.status() {
        401 | 403 => return Err(AccountError::Unauthorized),
        status if !answer.is_success() => return Err(unknown(format!("GitHub answered {status}"))),
        _success => {}
    }
    let text = answer.text(MAX_BODY_BYTES).await.map_err(|error| unknown(error.to_string()))?;
    serde_json::from_str(&text).map_err(|error| unknown(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_of_a_quota_becomes_what_was_used() {
        let described = json!({
            "login": "ada",
            "quota_snapshots": {
                "chat": { "entitlement": 100, "overage_count": 2, "overage_permitted": true, "percent_remaining": 75,
                    "timestamp_utc": "2026-04-30T00:00:00Z" },
                "completions": { "unlimited": true },
            },
        });
        let quotas = GitHubAccount::read("token", GITHUB_HOST, &described).unwrap().quota()["quotaSnapshots"].clone();
        let chat = &quotas["chat"];
        assert_eq!((&chat["entitlementRequests"], &chat["usedRequests"]), (&json!(100), &json!(25.0)));
        assert_eq!((&chat["overage"], &chat["resetDate"]), (&json!(2.0), &json!("2026-04-30T00:00:00Z")));
        assert_eq!(chat["overageAllowedWithExhaustedQuota"], true);
        assert_eq!(quotas["completions"]["isUnlimitedEntitlement"], true);
    }

    #[test]
    fn credentials_name_an_account() {
        let user =
            json!({ "type": "user", "host": "https://h", "login": "ada", "copilotUser": { "copilot_plan": "pro" } });
        let status = GitHubAccount::of_credentials(&user).unwrap().status();
        let expected = json!({ "isAuthenticated": true, "authType": "user", "host": "https://h", "login": "ada", "copilotPlan": "pro" });
        assert_eq!(status, expected);
        for invalid in [json!({ "type": "hmac" }), json!({ "type": "user" }), json!({ "type": "user", "login": 7 })] {
            assert!(GitHubAccount::of_credentials(&invalid).is_err(), "{invalid}");
        }
    }
}

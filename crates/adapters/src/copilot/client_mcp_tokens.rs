//! Tokens for MCP servers that a session's clients supply: each request is announced as an event, and waits until a
//! client answers it.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use net::Secret;
use serde_json::{Value, json};
use tools::{BoxFuture, McpSuppliedToken, McpTokenRequest, McpTokenSource};

use super::pending_answers::PendingAnswers;
use super::session_clients::{EphemeralEvent, SessionClients};

/// The event for which clients that supply tokens register their interest.
pub(crate) const TOKEN_REQUIRED: &str = "mcp.oauth_required";

/// Asks a session's clients for tokens, as long as one of them is interested in the requests.
#[derive(Default)]
pub(crate) struct ClientMcpTokens {
    clients: Arc<SessionClients>,
    /// How many interests are registered.
    interests: AtomicUsize,
    pending: PendingAnswers,
}

impl ClientMcpTokens {
    pub(crate) fn new(clients: Arc<SessionClients>) -> ClientMcpTokens {
        ClientMcpTokens { clients, ..ClientMcpTokens::default() }
    }

    /// Registers an interest.
    pub(crate) fn add_interest(&self) {
        self.interests.fetch_add(1, Ordering::AcqRel);
    }

    /// Releases an interest; without one, pending requests have no answer.
    pub(crate) fn release_interest(&self) {
        let released =
            self.interests.fetch_update(Ordering::AcqRel, Ordering::Acquire, |interests| interests.checked_sub(1));
        if released == Ok(1) {
            self.pending.abandon_all();
        }
    }

    /// Answers a request; returns whether it was pending.
    pub(crate) fn answer(&self, request: &str, result: &Value) -> bool {
        self.pending.answer(request, result.clone())
    }

    async fn ask(&self, request: McpTokenRequest) -> Option<McpSuppliedToken> {
        let pending = self.pending.register();
        let id = pending.id().to_owned();
        self.clients.broadcast(&EphemeralEvent::new(TOKEN_REQUIRED, request_content(&id, &request)));
        let answer = pending.wait().await;
        self.clients.broadcast(&EphemeralEvent::new("mcp.oauth_completed", json!({ "requestId": id })));
        let answer = answer.filter(|answer| answer["kind"] == "token")?;
        let access = answer["accessToken"].as_str().filter(|token| !token.is_empty())?;
        Some(McpSuppliedToken { access: Secret::new(access), expires_in: answer["expiresIn"].as_u64() })
    }
}

fn request_content(id: &str, request: &McpTokenRequest) -> Value {
    let McpTokenRequest { server, url, reason, metadata_url, scope, error, metadata, client_id } = request;
    let mut content = json!({ "requestId": id, "serverName": server, "serverUrl": url, "reason": reason.as_str() });
    let challenge = [("resourceMetadataUrl", metadata_url), ("scope", scope), ("error", error)];
    for (name, value) in challenge {
        if let Some(value) = value {
            content["wwwAuthenticateParams"][name] = value.as_str().into();
        }
    }
    if let Some(metadata) = metadata {
        content["resourceMetadata"] = metadata.as_str().into();
    }
    if let Some(client) = client_id {
        content["staticClientConfig"] = json!({ "clientId": client });
    }
    content
}

impl fmt::Debug for ClientMcpTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("tokens of the session's clients")
    }
}

impl McpTokenSource for ClientMcpTokens {
    fn is_ready(&self) -> bool {
        self.interests.load(Ordering::Acquire) > 0 && !self.clients.has_no_other_client(None)
    }

    fn token(&self, request: McpTokenRequest) -> BoxFuture<'_, Option<McpSuppliedToken>> {
        Box::pin(self.ask(request))
    }
}

#[cfg(test)]
mod tests {
    use tools::McpTokenReason;

    use super::*;

    fn request() -> McpTokenRequest {
        McpTokenRequest {
            server: "docs".into(),
            url: "https://docs.example/mcp".into(),
            reason: McpTokenReason::Upscope,
            metadata_url: None,
            scope: Some("write".into()),
            error: Some("insufficient_scope".into()),
            metadata: None,
            client_id: None,
        }
    }

    #[test]
    fn a_request_says_what_the_server_wants() {
        let content = request_content("r1", &request());
        assert_eq!((&content["serverName"], &content["reason"]), (&json!("docs"), &json!("upscope")));
        assert_eq!(content["wwwAuthenticateParams"], json!({ "scope": "write", "error": "insufficient_scope" }));
    }

    #[tokio::test]
    async fn a_request_has_no_answer_once_nobody_is_interested() {
        let tokens = Arc::new(ClientMcpTokens::default());
        assert!(!tokens.is_ready());
        tokens.add_interest();
        let asked = tokens.token(request());
        tokio::pin!(asked);
        assert!(futures_util::poll!(&mut asked).is_pending());
        tokens.release_interest();
        assert!(asked.await.is_none());
        tokens.release_interest();
        assert!(!tokens.is_ready() && !tokens.answer("unknown", &json!({})));
    }
}

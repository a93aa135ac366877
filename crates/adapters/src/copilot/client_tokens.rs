//! Tokens of model providers that a client supplies, a fresh one for each request.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use model::{TokenError, TokenSource, TokenSupplier};
use net::Secret;
use serde_json::json;

use super::peer::ClientPeer;

/// The clients' name for the provider of a session with only one.
pub(crate) const DEFAULT_PROVIDER: &str = "default";

/// How long a client may take to supply a token.
const TOKEN_TIMEOUT: Duration = Duration::from_secs(60);

/// Asks a client for the tokens of one provider.
#[derive(Debug)]
pub(crate) struct ClientTokens {
    peer: Arc<ClientPeer>,
    /// The session's name for clients.
    session: String,
    /// The provider's name for clients.
    provider: String,
}

impl ClientTokens {
    pub(crate) fn source(peer: Arc<ClientPeer>, session: &str, provider: &str) -> TokenSource {
        TokenSource(Arc::new(ClientTokens { peer, session: session.to_owned(), provider: provider.to_owned() }))
    }

    async fn request(&self) -> Result<Secret, TokenError> {
        let params = json!({ "sessionId": self.session, "providerName": self.provider });
        let request = self.peer.request("providerToken.getToken", params);
        let answer = tokio::time::timeout(TOKEN_TIMEOUT, request).await;
        let answer = answer.map_err(|_late| TokenError("the client did not answer in time".into()))?;
        let answer = answer.map_err(|error| TokenError(error.in_one_line()))?;
        match answer["token"].as_str().filter(|token| !token.is_empty()) {
            Some(token) => Ok(Secret::new(token)),
            None => Err(TokenError("the client's answer has no `token`".into())),
        }
    }
}

impl TokenSupplier for ClientTokens {
    fn token(&self) -> BoxFuture<'_, Result<Secret, TokenError>> {
        self.request().boxed()
    }
}

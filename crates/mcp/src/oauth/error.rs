//! Why there is no access to a server.

use super::Challenge;

/// Why there is no access to a server that wants a token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OAuthError {
    /// The user must sign in.
    #[error("it needs a login: run `bosun mcp login {server}`")]
    LoginNeeded {
        /// The server.
        server: String,
    },
    /// The token does not permit the request.
    #[error("its login does not permit this; run `bosun mcp login {server}` to sign in with these scopes: {scopes}")]
    ScopesNeeded {
        /// The server.
        server: String,
        /// What it asks for.
        scopes: String,
    },
    /// The server refuses a token that it was given for these scopes.
    #[error("it refuses the token that its authorization server has just issued{0}")]
    TokenRefused(String),
    /// What the server or its authorization server publishes cannot be used.
    #[error("signing in to it is not possible: {0}")]
    Metadata(String),
    /// An address that the server names is not contacted.
    #[error("signing in to it is not possible: `{url}` {why}")]
    Address {
        /// The address.
        url: String,
        /// Why not.
        why: &'static str,
    },
    /// A request failed.
    #[error("signing in to it failed: {0}")]
    Request(String),
    /// The authorization server refused a request.
    #[error("its authorization server refused the {request}: {why}")]
    Refused {
        /// What was requested.
        request: &'static str,
        /// Its error, clipped.
        why: String,
    },
    /// Bosun is not registered.
    #[error(
        "its authorization server does not register clients by itself; register Bosun there, and set `oauth.clientId` \
         for `{server}`"
    )]
    NoClient {
        /// The server.
        server: String,
    },
    /// The answer to the login cannot be trusted.
    #[error("the login was not accepted: {0}")]
    Answer(String),
    /// The user did not sign in.
    #[error("nobody signed in: {0}")]
    NotSignedIn(String),
    /// The settings of the server are not complete.
    #[error("its settings for `oauth` cannot be used: {0}")]
    Settings(String),
    /// The file of logins cannot be used.
    #[error("{0}")]
    Store(String),
}

impl OAuthError {
    /// The server refuses a token that was issued as it asked.
    pub(crate) fn refused_token(challenge: &Challenge) -> OAuthError {
        let why = challenge.description.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
        OAuthError::TokenRefused(protocol::clip_middle(&why, 300))
    }

    /// Whether signing in with `bosun mcp login` may help.
    pub fn needs_login(&self) -> bool {
        matches!(self, OAuthError::LoginNeeded { .. } | OAuthError::ScopesNeeded { .. })
    }
}

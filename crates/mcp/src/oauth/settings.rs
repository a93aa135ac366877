//! How to sign in to one server.

use net::Secret;

/// How to sign in to one server, as far as it is not left to what the server publishes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct McpOAuthSettings {
    /// How a token is obtained.
    pub grant: OAuthGrant,
    /// Bosun's id at the authorization server, if it was registered there.
    pub client_id: Option<String>,
    /// The secret for it.
    pub client_secret: Option<Secret>,
    /// A private key for it in PEM, which signs requests instead of a secret.
    pub private_key: Option<Secret>,
    /// The address of a document that describes the client, which is its id at servers that accept such.
    pub client_metadata_url: Option<String>,
    /// Scopes to ask for, instead of those that the server names.
    pub scopes: Vec<String>,
    /// The port that the browser is sent back to; any free one when absent.
    pub callback_port: Option<u16>,
}

/// How a token is obtained.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OAuthGrant {
    /// The user signs in with a browser.
    #[default]
    AuthorizationCode,
    /// The client signs in for itself.
    ClientCredentials,
}

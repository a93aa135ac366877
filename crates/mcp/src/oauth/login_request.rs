//! Asks the user to sign in: the address of the login page (OAuth 2.1 with PKCE).

use std::fmt;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom, SystemRandom};
use tools::BoxFuture;

use super::OAuthError;
use super::discovery::Discovery;
use super::http_client::OAuthHttp;

/// Lets the user sign in.
pub trait LoginPrompter: Send + Sync + fmt::Debug {
    /// The address that the user's browser is sent back to.
    fn redirect_uri(&self) -> String;

    /// Shows the user the login page; returns the address that the browser was sent back to. The error text says why
    /// nobody signed in.
    fn log_in<'a>(&'a self, request: &'a LoginRequest) -> BoxFuture<'a, Result<String, String>>;
}

/// A login that the user is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginRequest {
    /// The address of the login page.
    pub url: String,
    /// What the address that the browser is sent back to contains as `state`; another one is not an answer.
    pub state: String,
}

/// A login request, and the secret that proves that the answer is used by who asked.
#[derive(Debug)]
pub(crate) struct PreparedLogin {
    pub(crate) request: LoginRequest,
    pub(crate) verifier: String,
}

/// Prepares the login of a client.
pub(crate) fn prepare(
    http: &OAuthHttp,
    discovery: &Discovery,
    client_id: &str,
    scopes: &[String],
    redirect_uri: &str,
) -> Result<PreparedLogin, OAuthError> {
    let server = &discovery.authorization_server;
    let metadata = |why: &str| OAuthError::Metadata(format!("its authorization server {why}"));
    if !server.code_challenge_methods_supported.iter().any(|method| method == "S256") {
        return Err(metadata("does not support PKCE with S256"));
    }
    let endpoint = server.authorization_endpoint.as_deref();
    let mut url = http.parse(endpoint.ok_or_else(|| metadata("has no login page"))?)?;
    let (state, verifier) = (random_text()?, random_text()?);
    let challenge = BASE64_URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.as_bytes()));
    url.query_pairs_mut()
        .append_pair("response_type", "code")
        .append_pair("client_id", client_id)
        .append_pair("redirect_uri", redirect_uri)
        .append_pair("state", &state)
        .append_pair("code_challenge", &challenge)
        .append_pair("code_challenge_method", "S256")
        .append_pair("resource", &discovery.resource.resource);
    if !scopes.is_empty() {
        url.query_pairs_mut().append_pair("scope", &scopes.join(" "));
    }
    if scopes.iter().any(|scope| scope == "offline_access") {
        // Without a new consent, OpenID providers issue no refresh token.
        url.query_pairs_mut().append_pair("prompt", "consent");
    }
    Ok(PreparedLogin { request: LoginRequest { url: url.into(), state }, verifier })
}

/// 256 random bits as text.
pub(crate) fn random_text() -> Result<String, OAuthError> {
    let mut bytes = [0; 32];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_unspecified| OAuthError::Request("the system has no random numbers".into()))?;
    Ok(BASE64_URL_SAFE_NO_PAD.encode(bytes))
}

//! Asks an authorization server for a token.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use net::{RequestHeader, Secret};
use protocol::Timestamp;
use serde::Deserialize;
use url::form_urlencoded::byte_serialize;

use super::client_assertion::{self, ASSERTION_TYPE};
use super::http_client::OAuthHttp;
use super::registration::{ClientAuthMethod, OAuthClient};
use super::{McpOAuthSettings, OAuthError};

/// Maximum bytes of a token.
const MAX_TOKEN_BYTES: usize = 64 * 1024;

/// Where to ask for tokens, and as whom.
#[derive(Debug)]
pub(crate) struct TokenEndpoint<'a> {
    pub(crate) http: &'a OAuthHttp,
    pub(crate) url: &'a str,
    pub(crate) issuer: &'a str,
    pub(crate) client: &'a OAuthClient,
    pub(crate) settings: &'a McpOAuthSettings,
    /// What the token is for.
    pub(crate) resource: &'a str,
    pub(crate) now: Timestamp,
}

/// What a token is given for.
pub(crate) enum TokenGrant<'a> {
    /// The user signed in.
    Code { code: String, verifier: String, redirect_uri: String },
    /// An earlier token, which has expired.
    Refresh(&'a str),
    /// The client is who it says.
    Client { scopes: &'a [String] },
}

/// A token.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct IssuedToken {
    pub(crate) access: String,
    pub(crate) refresh: Option<String>,
    pub(crate) expires_at: Option<Timestamp>,
    /// Its scopes, if the server says which.
    pub(crate) scopes: Option<Vec<String>>,
}

impl TokenEndpoint<'_> {
    pub(crate) async fn request(&self, grant: TokenGrant<'_>) -> Result<IssuedToken, OAuthError> {
        let mut form = grant.form();
        form.push(("resource", self.resource.to_owned()));
        let headers = self.identify(&mut form)?;
        let answer: TokenAnswer = self.http.post_form("token request", self.url, headers, &form).await?;
        answer.token(self.now)
    }

    /// Tells the server that a token is not used any more.
    pub(crate) async fn revoke(&self, endpoint: &str, token: &str) -> Result<(), OAuthError> {
        let mut form = vec![("token", token.to_owned())];
        let headers = self.identify(&mut form)?;
        self.http.notify_form("revocation", endpoint, headers, &form).await
    }

    /// Adds what proves who the client is to the form; returns what proves it in headers.
    fn identify(&self, form: &mut Vec<(&'static str, String)>) -> Result<Vec<RequestHeader>, OAuthError> {
        let OAuthClient { id, secret, method, .. } = self.client;
        let secret = secret.clone().unwrap_or_default();
        if *method == ClientAuthMethod::Basic {
            let encoded = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
            let pair = BASE64_STANDARD.encode(format!("{}:{}", encoded(id), encoded(&secret)));
            return Ok(vec![RequestHeader::secret("authorization", Secret::new(format!("Basic {pair}")))]);
        }
        form.push(("client_id", id.clone()));
        match method {
            ClientAuthMethod::Post => form.push(("client_secret", secret)),
            ClientAuthMethod::PrivateKey => {
                let key = self.settings.private_key.as_ref();
                let key = key.ok_or_else(|| OAuthError::Settings("there is no `privateKey`".into()))?;
                let assertion = client_assertion::sign(key, id, self.issuer, self.now)?;
                form.push(("client_assertion_type", ASSERTION_TYPE.to_owned()));
                form.push(("client_assertion", assertion));
            }
            ClientAuthMethod::None | ClientAuthMethod::Basic => {}
        }
        Ok(Vec::new())
    }
}

impl TokenGrant<'_> {
    fn form(self) -> Vec<(&'static str, String)> {
        match self {
            TokenGrant::Code { code, verifier, redirect_uri } => vec![
                ("grant_type", "authorization_code".into()),
                ("code", code),
                ("code_verifier", verifier),
                ("redirect_uri", redirect_uri),
            ],
            TokenGrant::Refresh(token) => {
                vec![("grant_type", "refresh_token".into()), ("refresh_token", token.to_owned())]
            }
            TokenGrant::Client { scopes: [] } => vec![("grant_type", "client_credentials".into())],
            TokenGrant::Client { scopes } => {
                vec![("grant_type", "client_credentials".into()), ("scope", scopes.join(" "))]
            }
        }
    }
}

/// The answer of an authorization server.
#[derive(Deserialize)]
struct TokenAnswer {
    access_token: String,
    token_type: String,
    expires_in: Option<f64>,
    refresh_token: Option<String>,
    scope: Option<String>,
}

impl TokenAnswer {
    fn token(self, now: Timestamp) -> Result<IssuedToken, OAuthError> {
        let TokenAnswer { access_token: access, token_type, expires_in, refresh_token: refresh, scope } = self;
        let is_token = |token: &str| {
            (1..=MAX_TOKEN_BYTES).contains(&token.len()) && token.bytes().all(|byte| byte.is_ascii_graphic())
        };
        if !token_type.eq_ignore_ascii_case("bearer") || !is_token(&access) {
            return Err(OAuthError::Request("its authorization server sent no usable bearer token".into()));
        }
        let expires_at = expires_in.map(|seconds| {
            // A negative or absurd time is clamped by the conversion.
            Timestamp(now.0.saturating_add((seconds * 1000.0) as u64))
        });
        let scopes = scope.map(|scope| scope.split_whitespace().map(str::to_owned).collect());
        Ok(IssuedToken { access, refresh: refresh.filter(|token| is_token(token)), expires_at, scopes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(answer: serde_json::Value) -> Option<IssuedToken> {
        serde_json::from_value::<TokenAnswer>(answer).ok()?.token(Timestamp(1000)).ok()
    }

    #[test]
    fn only_usable_tokens_are_taken() {
        use serde_json::json;
        let token = read(json!({ "access_token": "a", "token_type": "bearer", "expires_in": 2, "scope": "x y" }));
        let token = token.unwrap();
        assert_eq!((token.expires_at, token.scopes), (Some(Timestamp(3000)), Some(vec!["x".into(), "y".into()])));
        for (answer, expires) in [(-5.0, 1000), (1e300, u64::MAX)] {
            let token = read(json!({ "access_token": "a", "token_type": "Bearer", "expires_in": answer })).unwrap();
            assert_eq!(token.expires_at, Some(Timestamp(expires)));
        }
        for invalid in [
            json!({ "access_token": "a\r\nx: y", "token_type": "bearer" }),
            json!({ "access_token": "", "token_type": "bearer" }),
            json!({ "access_token": "a", "token_type": "DPoP" }),
            json!({ "access_token": "x".repeat(100_000), "token_type": "bearer" }),
            json!({ "token_type": "bearer" }),
        ] {
            assert!(read(invalid).is_none());
        }
        let broken = json!({ "access_token": "a", "token_type": "bearer", "refresh_token": "b c" });
        assert_eq!(read(broken).unwrap().refresh, None);
    }
}

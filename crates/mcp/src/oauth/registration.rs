//! Who Bosun is at an authorization server: registered by the user, described by a document, or registered now.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::http_client::OAuthHttp;
use super::metadata::AuthorizationServer;
use super::{McpOAuthSettings, OAuthError};

/// Maximum bytes of a client's id or secret.
const MAX_CREDENTIAL_BYTES: usize = 8 * 1024;

/// A client as an authorization server knows it. It is of no use at another one.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OAuthClient {
    pub(crate) id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) secret: Option<String>,
    pub(crate) method: ClientAuthMethod,
    /// The address that it was registered with, if it registered itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) redirect_uri: Option<String>,
}

/// How a client proves who it is when it asks for a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum ClientAuthMethod {
    /// Not at all.
    None,
    /// By its secret in the header `Authorization`.
    Basic,
    /// By its secret in the form.
    Post,
    /// By a signature of its key.
    PrivateKey,
}

impl std::fmt::Debug for OAuthClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OAuthClient").field("id", &self.id).field("method", &self.method).finish_non_exhaustive()
    }
}

impl ClientAuthMethod {
    fn parse(name: &str) -> Option<ClientAuthMethod> {
        match name {
            "none" => Some(ClientAuthMethod::None),
            "client_secret_basic" => Some(ClientAuthMethod::Basic),
            "client_secret_post" => Some(ClientAuthMethod::Post),
            "private_key_jwt" => Some(ClientAuthMethod::PrivateKey),
            _other => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            ClientAuthMethod::None => "none",
            ClientAuthMethod::Basic => "client_secret_basic",
            ClientAuthMethod::Post => "client_secret_post",
            ClientAuthMethod::PrivateKey => "private_key_jwt",
        }
    }

    /// The best of these methods that the server supports; the default one if it does not say.
    fn choose(server: &AuthorizationServer, candidates: &[ClientAuthMethod]) -> Option<ClientAuthMethod> {
        let Some(supported) = &server.token_endpoint_auth_methods_supported else { return candidates.first().copied() };
        let is_supported = |method: &&ClientAuthMethod| supported.iter().any(|name| name == method.name());
        candidates.iter().find(is_supported).copied()
    }
}

/// The client of the settings, if the user registered one.
pub(crate) fn configured_client(settings: &McpOAuthSettings, server: &AuthorizationServer) -> Option<OAuthClient> {
    let id = settings.client_id.clone()?;
    let secret = settings.client_secret.as_ref().map(|secret| secret.reveal().to_owned());
    let method = match (&settings.private_key, &secret) {
        (Some(_key), _) => ClientAuthMethod::PrivateKey,
        (None, Some(_)) => with_secret(server),
        (None, None) => ClientAuthMethod::None,
    };
    Some(OAuthClient { id, secret, method, redirect_uri: None })
}

/// The client that is described by a document, if the server accepts such.
pub(crate) fn described_client(settings: &McpOAuthSettings, server: &AuthorizationServer) -> Option<OAuthClient> {
    let id = settings.client_metadata_url.clone().filter(|_| server.client_id_metadata_document_supported)?;
    Some(OAuthClient { id, secret: None, method: ClientAuthMethod::None, redirect_uri: None })
}

/// Registers a client that is sent back to this address.
pub(crate) async fn register(
    http: &OAuthHttp,
    server: &AuthorizationServer,
    endpoint: &str,
    redirect_uri: &str,
) -> Result<OAuthClient, OAuthError> {
    let candidates = [ClientAuthMethod::None, ClientAuthMethod::Basic, ClientAuthMethod::Post];
    let wanted = ClientAuthMethod::choose(server, &candidates).unwrap_or(ClientAuthMethod::None);
    let request = json!({
        "client_name": "Bosun",
        "redirect_uris": [redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": wanted.name(),
        "application_type": "native",
    });
    let registered: Registration = http.post_json("registration", endpoint, &request).await?;
    let Registration { client_id: id, client_secret: secret, token_endpoint_auth_method } = registered;
    if id.is_empty()
        || id.len() > MAX_CREDENTIAL_BYTES
        || secret.as_ref().is_some_and(|it| it.len() > MAX_CREDENTIAL_BYTES)
    {
        return Err(OAuthError::Request("the id or the secret of the registration is empty or too long".into()));
    }
    let stated = token_endpoint_auth_method.as_deref().and_then(ClientAuthMethod::parse);
    let method = match (stated, &secret) {
        (Some(method), Some(_)) => method,
        (None, Some(_)) => with_secret(server),
        (Some(_) | None, None) => ClientAuthMethod::None,
    };
    Ok(OAuthClient { id, secret, method, redirect_uri: Some(redirect_uri.to_owned()) })
}

/// The method for a client with a secret.
fn with_secret(server: &AuthorizationServer) -> ClientAuthMethod {
    let candidates = [ClientAuthMethod::Basic, ClientAuthMethod::Post, ClientAuthMethod::None];
    ClientAuthMethod::choose(server, &candidates).unwrap_or(ClientAuthMethod::Basic)
}

/// The answer to a registration.
#[derive(Deserialize)]
struct Registration {
    client_id: String,
    client_secret: Option<String>,
    token_endpoint_auth_method: Option<String>,
}

#[cfg(test)]
mod tests {
    use net::Secret;

    use super::*;

    fn server(methods: Option<&[&str]>) -> AuthorizationServer {
        AuthorizationServer {
            token_endpoint_auth_methods_supported: methods
                .map(|methods| methods.iter().map(|&method| method.to_owned()).collect()),
            client_id_metadata_document_supported: true,
            ..AuthorizationServer::default()
        }
    }

    #[test]
    fn a_configured_client_uses_a_method_that_the_server_supports() {
        let with_secret = McpOAuthSettings {
            client_id: Some("me".into()),
            client_secret: Some(Secret::new("s")),
            ..McpOAuthSettings::default()
        };
        let method = |settings: &McpOAuthSettings, methods: Option<&[&str]>| {
            configured_client(settings, &server(methods)).map(|client| client.method)
        };
        assert_eq!(method(&with_secret, None), Some(ClientAuthMethod::Basic));
        assert_eq!(method(&with_secret, Some(&["client_secret_post", "x"])), Some(ClientAuthMethod::Post));
        assert_eq!(method(&with_secret, Some(&["x"])), Some(ClientAuthMethod::Basic));
        let public = McpOAuthSettings { client_secret: None, ..with_secret.clone() };
        assert_eq!(method(&public, Some(&["client_secret_post"])), Some(ClientAuthMethod::None));
        let keyed = McpOAuthSettings { private_key: Some(Secret::new("k")), ..public };
        assert_eq!(method(&keyed, None), Some(ClientAuthMethod::PrivateKey));
        assert_eq!(method(&McpOAuthSettings::default(), None), None);
        assert!(!format!("{:?}", configured_client(&with_secret, &server(None))).contains("\"s\""));
    }

    #[test]
    fn a_document_describes_the_client_only_where_that_is_supported() {
        let settings =
            McpOAuthSettings { client_metadata_url: Some("https://me.example".into()), ..McpOAuthSettings::default() };
        assert_eq!(
            described_client(&settings, &server(None)).map(|client| client.id).as_deref(),
            Some("https://me.example")
        );
        assert_eq!(described_client(&settings, &AuthorizationServer::default()), None);
    }
}

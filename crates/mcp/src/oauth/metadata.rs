//! What a server and its authorization server publish (RFC 9728, RFC 8414), and the checks that it belongs together.

use serde::Deserialize;
use url::Url;

use super::OAuthError;

/// What a server publishes about itself as a protected resource.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct ProtectedResource {
    /// Its identifier, which tokens are for.
    pub(crate) resource: String,
    /// The issuers of its tokens.
    #[serde(default)]
    pub(crate) authorization_servers: Vec<String>,
    pub(crate) scopes_supported: Option<Vec<String>>,
}

/// What an authorization server publishes about itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct AuthorizationServer {
    pub(crate) issuer: String,
    pub(crate) authorization_endpoint: Option<String>,
    pub(crate) token_endpoint: String,
    pub(crate) registration_endpoint: Option<String>,
    pub(crate) revocation_endpoint: Option<String>,
    pub(crate) scopes_supported: Option<Vec<String>>,
    pub(crate) code_challenge_methods_supported: Vec<String>,
    pub(crate) token_endpoint_auth_methods_supported: Option<Vec<String>>,
    pub(crate) client_id_metadata_document_supported: bool,
    pub(crate) authorization_response_iss_parameter_supported: bool,
}

impl ProtectedResource {
    /// Fails if this is not the metadata of the server at this address: a token for another resource must not be sent
    /// there.
    pub(crate) fn require_is_of(&self, server: &Url) -> Result<(), OAuthError> {
        let is_of_server = Url::parse(&self.resource).is_ok_and(|resource| {
            let (path, of_server) = (resource.path().trim_end_matches('/'), server.path());
            resource.origin() == server.origin()
                && resource.fragment().is_none()
                && of_server.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        });
        match is_of_server {
            true => Ok(()),
            false => Err(OAuthError::Metadata(format!(
                "its metadata is of another resource, `{}`",
                protocol::clip_middle(&self.resource, 200)
            ))),
        }
    }
}

impl AuthorizationServer {
    /// Fails if this is not the metadata of this issuer. Issuers are compared as texts, not as addresses (RFC 8414).
    pub(crate) fn require_is_of(&self, issuer: &str) -> Result<(), OAuthError> {
        match self.issuer == issuer {
            true => Ok(()),
            false => Err(OAuthError::Metadata(format!(
                "the metadata of the authorization server `{}` is of another issuer, `{}`",
                protocol::clip_middle(issuer, 200),
                protocol::clip_middle(&self.issuer, 200)
            ))),
        }
    }
}

/// Where the metadata of a resource may be, in the order in which it is looked for.
pub(crate) fn resource_metadata_urls(server: &Url) -> Vec<String> {
    well_known(server, "oauth-protected-resource")
}

/// Where the metadata of an issuer may be, in the order in which it is looked for.
pub(crate) fn issuer_metadata_urls(issuer: &Url) -> Vec<String> {
    let path = issuer.path().trim_end_matches('/');
    let oidc = "openid-configuration";
    let mut urls = vec![
        format!("{}/.well-known/oauth-authorization-server{path}", origin(issuer)),
        format!("{}/.well-known/{oidc}{path}", origin(issuer)),
    ];
    if !path.is_empty() {
        urls.push(format!("{}{path}/.well-known/{oidc}", origin(issuer)));
    }
    urls
}

/// The addresses of a well-known document for an address: with its path, and at the root.
fn well_known(of: &Url, name: &str) -> Vec<String> {
    let path = of.path().trim_end_matches('/');
    let root = format!("{}/.well-known/{name}", origin(of));
    match path {
        "" => vec![root],
        path => vec![format!("{root}{path}"), root],
    }
}

/// The scheme, host and port of an address.
pub(crate) fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn metadata_is_looked_for_where_the_protocol_says() {
        let at = "https://a.example:8443";
        assert_eq!(
            resource_metadata_urls(&url("https://a.example:8443/mcp/x?y")),
            [
                format!("{at}/.well-known/oauth-protected-resource/mcp/x"),
                format!("{at}/.well-known/oauth-protected-resource")
            ]
        );
        assert_eq!(issuer_metadata_urls(&url(at)).len(), 2);
        assert_eq!(
            issuer_metadata_urls(&url("https://a.example:8443/tenant/")),
            [
                format!("{at}/.well-known/oauth-authorization-server/tenant"),
                format!("{at}/.well-known/openid-configuration/tenant"),
                format!("{at}/tenant/.well-known/openid-configuration"),
            ]
        );
    }

    #[test]
    fn metadata_of_another_resource_or_issuer_is_refused() {
        let server = url("https://a.example/mcp/x");
        for (resource, is_its_own) in [
            ("https://a.example/mcp/x", true),
            ("https://a.example/mcp", true),
            ("https://a.example/mcp/", true),
            ("https://a.example", true),
            ("https://A.example:443/", true),
            ("https://a.example/mc", false),
            ("https://a.example/mcp/x/y", false),
            ("https://a.example/mcp/x#f", false),
            ("http://a.example/mcp/x", false),
            ("https://a.example:8443/mcp/x", false),
            ("https://b.example/mcp/x", false),
            ("mcp", false),
        ] {
            let metadata = ProtectedResource {
                resource: resource.into(),
                authorization_servers: Vec::new(),
                scopes_supported: None,
            };
            assert_eq!(metadata.require_is_of(&server).is_ok(), is_its_own, "{resource}");
        }
        let metadata = AuthorizationServer { issuer: "https://a.example".into(), ..AuthorizationServer::default() };
        assert!(metadata.require_is_of("https://a.example").is_ok());
        assert!(metadata.require_is_of("https://a.example/").is_err(), "issuers are not normalised");
    }
}

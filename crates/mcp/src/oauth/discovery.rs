//! Finds out who issues tokens for a server: from its refusal to the metadata of its authorization server.

use super::http_client::{HttpAnswer, OAuthHttp};
use super::metadata::{self, AuthorizationServer, ProtectedResource};
use super::{Challenge, OAuthError};

/// How tokens for a server are obtained.
#[derive(Debug, Clone)]
pub(crate) struct Discovery {
    pub(crate) resource: ProtectedResource,
    pub(crate) authorization_server: AuthorizationServer,
}

/// Looks for the metadata of a server and of its authorization server.
pub(crate) async fn discover(http: &OAuthHttp, challenge: &Challenge) -> Result<Discovery, OAuthError> {
    let resource = protected_resource(http, challenge).await?;
    let issuer = resource.authorization_servers.first().cloned();
    let issuer = issuer.ok_or_else(|| OAuthError::Metadata("its metadata names no authorization server".into()))?;
    let authorization_server = authorization_server(http, &issuer).await?;
    Ok(Discovery { resource, authorization_server })
}

/// Whether a server says who issues tokens for it.
pub(crate) async fn is_protected(http: &OAuthHttp) -> Result<bool, OAuthError> {
    for url in metadata::resource_metadata_urls(http.server()) {
        if let HttpAnswer::Found(resource) = http.get::<ProtectedResource>(&url).await? {
            return Ok(!resource.authorization_servers.is_empty());
        }
    }
    Ok(false)
}

/// The metadata of a server, as it publishes it; none if it publishes none.
pub(crate) async fn published_metadata(http: &OAuthHttp, challenge: &Challenge) -> Option<String> {
    let urls = match &challenge.resource_metadata {
        Some(url) => vec![url.clone()],
        None => metadata::resource_metadata_urls(http.server()),
    };
    for url in &urls {
        match http.text(url).await {
            Ok(HttpAnswer::Found(text)) => return Some(text),
            Ok(HttpAnswer::Missing) => {}
            Err(error) => tracing::debug!(%error, "the metadata of an MCP server is not known"),
        }
    }
    None
}

async fn protected_resource(http: &OAuthHttp, challenge: &Challenge) -> Result<ProtectedResource, OAuthError> {
    let urls = match &challenge.resource_metadata {
        Some(url) => vec![url.clone()],
        None => metadata::resource_metadata_urls(http.server()),
    };
    for url in &urls {
        if let HttpAnswer::Found(resource) = http.get::<ProtectedResource>(url).await? {
            resource.require_is_of(http.server())?;
            return Ok(resource);
        }
    }
    if challenge.resource_metadata.is_some() {
        return Err(OAuthError::Metadata(format!("its metadata is not at {}", urls.join(""))));
    }
    // A server of the revision 2025-03-26 is its own authorization server.
    let mut resource = http.server().clone();
    resource.set_query(None);
    resource.set_fragment(None);
    Ok(ProtectedResource {
        resource: resource.into(),
        authorization_servers: vec![metadata::origin(http.server())],
        scopes_supported: None,
    })
}

async fn authorization_server(http: &OAuthHttp, issuer: &str) -> Result<AuthorizationServer, OAuthError> {
    for url in metadata::issuer_metadata_urls(&http.parse(issuer)?) {
        if let HttpAnswer::Found(server) = http.get::<AuthorizationServer>(&url).await? {
            server.require_is_of(issuer)?;
            return Ok(server);
        }
    }
    let issuer = protocol::clip_middle(issuer, 200);
    Err(OAuthError::Metadata(format!("the authorization server `{issuer}` publishes no metadata")))
}

//! Ends the login to a server.

use host::Clock;
use net::NetworkRoute;
use url::Url;

use super::http_client::OAuthHttp;
use super::login_store::{LoginStore, LoginStoreError};
use super::token_request::TokenEndpoint;
use super::{McpOAuthSettings, OAuthError};

/// Removes the login to the server of this name and address, and has its authorization server forget the token, if that
/// offers it. Returns whether there was a login, and why the token is not forgotten.
pub async fn log_out(
    store: &LoginStore,
    (name, url): (&str, &str),
    settings: &McpOAuthSettings,
    route: NetworkRoute,
    clock: &dyn Clock,
) -> Result<(bool, Option<OAuthError>), LoginStoreError> {
    let login = store.get(name, url)?;
    let existed = store.remove(name, url)?;
    let Some(grant) = login.and_then(|login| login.grant) else { return Ok((existed, None)) };
    let (Some(endpoint), Ok(server)) = (&grant.revocation_endpoint, Url::parse(url)) else {
        return Ok((existed, None));
    };
    let http = OAuthHttp::new(server, route);
    let issuer = TokenEndpoint {
        http: &http,
        url: &grant.token_endpoint,
        issuer: &grant.issuer,
        client: &grant.client,
        settings,
        resource: &grant.resource,
        now: clock.now(),
    };
    // The access token ends with the refresh token it came with.
    let token = grant.refresh_token.as_ref().unwrap_or(&grant.access_token);
    Ok((existed, issuer.revoke(endpoint, token).await.err()))
}

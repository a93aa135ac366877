//! The token for one server: obtained when the server asks for one, renewed when it expires, replaced when it does not
//! permit enough.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use host::Clock;
use net::{NetworkRoute, Secret};
use protocol::Timestamp;
use tokio::sync::Mutex as AsyncMutex;
use tokio::time::timeout;
use tools::{McpSuppliedToken, McpTokenReason, McpTokenRequest, McpTokenSource};
use url::Url;

use super::discovery::{self, Discovery};
use super::http_client::OAuthHttp;
use super::login_store::{LoginStore, StoredGrant, StoredLogin};
use super::registration::{self, OAuthClient};
use super::token_request::{IssuedToken, TokenEndpoint, TokenGrant};
use super::{Challenge, LoginPrompter, McpOAuthSettings, OAuthError, OAuthGrant, answer, login_request, scopes};
use crate::session_secrets::SessionSecrets;

/// How long before its end a token is renewed.
const RENEWAL_MARGIN: Duration = Duration::from_secs(30);

/// How long a user may take to sign in.
pub const LOGIN_TIMEOUT: Duration = Duration::from_secs(10 * 60);

/// The most tokens that are looked for in what the server sends.
const MAX_USED_TOKENS: usize = 32;

/// What replaces a token in what its server sends.
const REDACTED: &str = "[redacted]";

/// What the token for a server is obtained with.
pub(crate) struct CredentialsSetup {
    pub(crate) server: String,
    pub(crate) url: Url,
    pub(crate) settings: McpOAuthSettings,
    pub(crate) route: NetworkRoute,
    pub(crate) clock: Arc<dyn Clock>,
    /// Where logins are kept; they end with the process when absent.
    pub(crate) store: Option<LoginStore>,
    /// Lets the user sign in; without it, only a login that exists is used.
    pub(crate) prompter: Option<Arc<dyn LoginPrompter>>,
    /// Told of every token.
    pub(crate) secrets: SessionSecrets,
}

/// The token for one server.
pub(crate) struct Credentials {
    setup: CredentialsSetup,
    http: OAuthHttp,
    state: AsyncMutex<CredentialsState>,
    /// The tokens that were used, which must not be shown.
    used: Mutex<Vec<Secret>>,
}

/// The grant in use.
#[derive(Default)]
struct CredentialsState {
    was_loaded: bool,
    grant: Option<StoredGrant>,
    /// The token that the session's client supplied instead.
    supplied: Option<SuppliedToken>,
    /// The scopes that were asked for when the token was issued.
    requested: Vec<String>,
}

/// A token that the session's client supplied.
struct SuppliedToken {
    access: Secret,
    expires_at: Option<Timestamp>,
}

impl Credentials {
    pub(crate) fn new(setup: CredentialsSetup) -> Credentials {
        let http = OAuthHttp::new(setup.url.clone(), setup.route.clone());
        Credentials { setup, http, state: AsyncMutex::default(), used: Mutex::default() }
    }

    /// The token for the next request; it is renewed first if it expires now. None if there is none.
    pub(crate) async fn token(&self) -> Option<Secret> {
        let mut state = self.state.lock().await;
        if let Some(token) = self.supplied_token(&mut state) {
            return Some(token);
        }
        // A user who signs in gets a new token, whatever the old one permits.
        if !state.was_loaded && self.setup.prompter.is_none() {
            state.grant = self.stored_grant().await;
        }
        state.was_loaded = true;
        let now = self.setup.clock.now();
        let is_ending = |grant: &StoredGrant| grant.expires_at.is_some_and(|end| end <= now.plus(RENEWAL_MARGIN));
        if state.grant.as_ref().is_some_and(is_ending)
            && let Err(error) = self.renew(&mut state).await
        {
            // The server has the last word on whether the token is valid.
            tracing::debug!(server = self.setup.server, %error, "a token is not renewed before it expires");
        }
        let token = Secret::new(&state.grant.as_ref()?.access_token);
        self.note_used(&token);
        Some(token)
    }

    /// Obtains a token that the server may accept after it refused a request with this one.
    pub(crate) async fn replace(&self, refused: Option<&Secret>, challenge: &Challenge) -> Result<(), OAuthError> {
        let mut state = self.state.lock().await;
        if let Some(source) = self.setup.secrets.tokens() {
            return self.replace_supplied(&mut state, source, refused, challenge).await;
        }
        let is_new = |grant: &StoredGrant| refused.is_none_or(|refused| refused.reveal() != grant.access_token);
        if state.grant.as_ref().is_some_and(is_new) {
            // Another request has replaced it meanwhile.
            return Ok(());
        }
        let stored = if self.setup.prompter.is_none() { self.stored_grant().await } else { None };
        if let Some(stored) = stored.filter(is_new) {
            // Another process has.
            state.grant = Some(stored);
            return Ok(());
        }
        if self.renew(&mut state).await.is_ok() {
            return Ok(());
        }
        self.obtain(&mut state, challenge).await
    }

    /// The token that was supplied, unless it has expired.
    fn supplied_token(&self, state: &mut CredentialsState) -> Option<Secret> {
        let now = self.setup.clock.now();
        state.supplied.take_if(|token| token.expires_at.is_some_and(|end| end <= now));
        let token = state.supplied.as_ref()?.access.clone();
        self.note_used(&token);
        Some(token)
    }

    /// Has the session's client supply another token than the one that was refused.
    async fn replace_supplied(
        &self,
        state: &mut CredentialsState,
        source: &dyn McpTokenSource,
        refused: Option<&Secret>,
        challenge: &Challenge,
    ) -> Result<(), OAuthError> {
        let is_new = |token: &SuppliedToken| refused.is_none_or(|refused| refused.reveal() != token.access.reveal());
        if state.supplied.as_ref().is_some_and(is_new) {
            // Another request has replaced it meanwhile.
            return Ok(());
        }
        let reasons: &[McpTokenReason] = match state.supplied.take() {
            None => &[McpTokenReason::Initial],
            Some(_refused) => &[McpTokenReason::Refresh, McpTokenReason::Reauth],
        };
        for reason in reasons {
            if self.supply(state, source, *reason, challenge).await {
                return Ok(());
            }
        }
        Err(self.note_login_needed(state, challenge).await)
    }

    /// Has the session's client supply a token; returns whether it did.
    async fn supply(
        &self,
        state: &mut CredentialsState,
        source: &dyn McpTokenSource,
        reason: McpTokenReason,
        challenge: &Challenge,
    ) -> bool {
        let request = McpTokenRequest {
            server: self.setup.server.clone(),
            url: self.setup.url.to_string(),
            reason,
            metadata_url: challenge.resource_metadata.clone(),
            scope: (!challenge.scopes.is_empty()).then(|| challenge.scopes.join(" ")),
            error: challenge.error.clone(),
            metadata: discovery::published_metadata(&self.http, challenge).await,
            client_id: self.setup.settings.client_id.clone(),
        };
        let supplied = timeout(LOGIN_TIMEOUT, source.token(request)).await.ok().flatten();
        let Some(McpSuppliedToken { access, expires_in }) = supplied else { return false };
        self.setup.secrets.report(&access);
        let expires_at = expires_in.map(|seconds| self.setup.clock.now().plus(Duration::from_secs(seconds)));
        state.supplied = Some(SuppliedToken { access, expires_at });
        true
    }

    /// Obtains a token with the scopes that a request needs.
    pub(crate) async fn extend(&self, challenge: &Challenge) -> Result<(), OAuthError> {
        let mut state = self.state.lock().await;
        if let Some(source) = self.setup.secrets.tokens() {
            return match self.supply(&mut state, source, McpTokenReason::Upscope, challenge).await {
                true => Ok(()),
                false => Err(self.note_login_needed(&mut state, challenge).await),
            };
        }
        if !challenge.scopes.is_empty() && challenge.scopes.iter().all(|scope| state.requested.contains(scope)) {
            return Err(OAuthError::refused_token(challenge));
        }
        self.obtain(&mut state, challenge).await
    }

    /// Has the user sign in, unless that happened already. Returns whether the server wants that at all: it may ask only
    /// for some requests.
    pub(crate) async fn log_in(&self) -> Result<bool, OAuthError> {
        let mut state = self.state.lock().await;
        if state.grant.is_none() {
            if !discovery::is_protected(&self.http).await? {
                return Ok(false);
            }
            self.obtain(&mut state, &Challenge::default()).await?;
        }
        Ok(true)
    }

    /// Why a request cannot be made although its token was replaced.
    pub(crate) async fn give_up(&self, challenge: &Challenge) -> OAuthError {
        if self.setup.settings.grant == OAuthGrant::AuthorizationCode && self.setup.prompter.is_none() {
            return self.note_login_needed(&mut *self.state.lock().await, challenge).await;
        }
        OAuthError::refused_token(challenge)
    }

    /// Removes tokens from what the server sent.
    pub(crate) fn redact(&self, text: String) -> String {
        lock(&self.used).iter().fold(text, |text, token| match text.contains(token.reveal()) {
            true => text.replace(token.reveal(), REDACTED),
            false => text,
        })
    }

    /// Asks for another token in place of one that has expired.
    async fn renew(&self, state: &mut CredentialsState) -> Result<(), OAuthError> {
        let needed = || OAuthError::LoginNeeded { server: self.setup.server.clone() };
        let grant = state.grant.as_ref().ok_or_else(needed)?;
        let refresh = grant.refresh_token.as_deref().ok_or_else(needed)?;
        match self.endpoint_of(grant).request(TokenGrant::Refresh(refresh)).await {
            Ok(token) => {
                let grant = grant.renewed_by(token);
                self.keep(state, grant).await
            }
            Err(error) => {
                // A refresh token is often valid once, and another process may have been faster.
                let stored = self.stored_grant().await.filter(|stored| stored.access_token != grant.access_token);
                state.grant = Some(stored.ok_or(error)?);
                Ok(())
            }
        }
    }

    /// Asks for a token from the beginning.
    async fn obtain(&self, state: &mut CredentialsState, challenge: &Challenge) -> Result<(), OAuthError> {
        // A token must not travel unencrypted.
        self.http.parse(self.setup.url.as_str())?;
        if self.setup.settings.grant == OAuthGrant::AuthorizationCode && self.setup.prompter.is_none() {
            return Err(self.note_login_needed(state, challenge).await);
        }
        let discovery = discovery::discover(&self.http, challenge).await?;
        let scopes = self.scopes_to_request(state, &discovery, challenge).await;
        let (client, token) = match (&self.setup.settings.grant, &self.setup.prompter) {
            (OAuthGrant::AuthorizationCode, Some(prompter)) => {
                self.sign_in(state, &discovery, &scopes, &**prompter).await?
            }
            (OAuthGrant::AuthorizationCode, None) | (OAuthGrant::ClientCredentials, _) => {
                self.identify(&discovery, &scopes).await?
            }
        };
        let Discovery { resource, authorization_server: server } = discovery;
        let grant = StoredGrant {
            issuer: server.issuer,
            token_endpoint: server.token_endpoint,
            revocation_endpoint: server.revocation_endpoint,
            resource: resource.resource,
            client,
            access_token: token.access,
            refresh_token: token.refresh,
            expires_at: token.expires_at,
            scopes: token.scopes.unwrap_or_else(|| scopes.clone()),
        };
        state.requested = scopes;
        self.keep(state, grant).await
    }

    /// Lets the user sign in.
    async fn sign_in(
        &self,
        state: &CredentialsState,
        discovery: &Discovery,
        scopes: &[String],
        prompter: &dyn LoginPrompter,
    ) -> Result<(OAuthClient, IssuedToken), OAuthError> {
        let redirect_uri = prompter.redirect_uri();
        let client = self.client(state, discovery, &redirect_uri).await?;
        let login = login_request::prepare(&self.http, discovery, &client.id, scopes, &redirect_uri)?;
        let answer = match timeout(LOGIN_TIMEOUT, prompter.log_in(&login.request)).await {
            Ok(answer) => answer.map_err(OAuthError::NotSignedIn)?,
            Err(_elapsed) => {
                let minutes = LOGIN_TIMEOUT.as_secs() / 60;
                return Err(OAuthError::NotSignedIn(format!("it took more than {minutes} minutes")));
            }
        };
        let code = answer::read_code(&answer, &login.request.state, &discovery.authorization_server)?;
        let grant = TokenGrant::Code { code, verifier: login.verifier, redirect_uri };
        let token = self.endpoint(discovery, &client).request(grant).await?;
        Ok((client, token))
    }

    /// Has the client sign in for itself.
    async fn identify(
        &self,
        discovery: &Discovery,
        scopes: &[String],
    ) -> Result<(OAuthClient, IssuedToken), OAuthError> {
        let client = registration::configured_client(&self.setup.settings, &discovery.authorization_server);
        let client = client.ok_or_else(|| OAuthError::Settings("there is no `clientId`".into()))?;
        let token = self.endpoint(discovery, &client).request(TokenGrant::Client { scopes }).await?;
        Ok((client, token))
    }

    /// The client for a login. One that was registered at another authorization server, or to be sent back to another
    /// address, is not used.
    async fn client(
        &self,
        state: &CredentialsState,
        discovery: &Discovery,
        redirect_uri: &str,
    ) -> Result<OAuthClient, OAuthError> {
        let (settings, server) = (&self.setup.settings, &discovery.authorization_server);
        let given = registration::configured_client(settings, server)
            .or_else(|| registration::described_client(settings, server));
        if let Some(client) = given {
            return Ok(client);
        }
        let known = state.grant.as_ref().filter(|grant| grant.issuer == server.issuer).map(|grant| &grant.client);
        if let Some(client) = known.filter(|client| client.redirect_uri.as_deref() == Some(redirect_uri)) {
            return Ok(client.clone());
        }
        match &server.registration_endpoint {
            Some(endpoint) => registration::register(&self.http, server, endpoint, redirect_uri).await,
            None => Err(OAuthError::NoClient { server: self.setup.server.clone() }),
        }
    }

    async fn scopes_to_request(
        &self,
        state: &CredentialsState,
        discovery: &Discovery,
        challenge: &Challenge,
    ) -> Vec<String> {
        let Discovery { resource, authorization_server } = discovery;
        let missing = self.stored_login().await.map(|login| login.missing_scopes).unwrap_or_default();
        let mut challenged = challenge.scopes.clone();
        challenged.extend(missing.into_iter().filter(|scope| !challenge.scopes.contains(scope)));
        let same_issuer = state.grant.as_ref().filter(|grant| grant.issuer == authorization_server.issuer);
        let granted = match same_issuer {
            Some(grant) => grant.scopes.iter().chain(&state.requested).cloned().collect(),
            None => Vec::new(),
        };
        scopes::to_request(
            &self.setup.settings.scopes,
            &challenged,
            resource.scopes_supported.as_deref(),
            &granted,
            authorization_server.scopes_supported.as_deref(),
        )
    }

    fn endpoint<'a>(&'a self, discovery: &'a Discovery, client: &'a OAuthClient) -> TokenEndpoint<'a> {
        let Discovery { resource, authorization_server } = discovery;
        TokenEndpoint {
            http: &self.http,
            url: &authorization_server.token_endpoint,
            issuer: &authorization_server.issuer,
            client,
            settings: &self.setup.settings,
            resource: &resource.resource,
            now: self.setup.clock.now(),
        }
    }

    fn endpoint_of<'a>(&'a self, grant: &'a StoredGrant) -> TokenEndpoint<'a> {
        TokenEndpoint {
            http: &self.http,
            url: &grant.token_endpoint,
            issuer: &grant.issuer,
            client: &grant.client,
            settings: &self.setup.settings,
            resource: &grant.resource,
            now: self.setup.clock.now(),
        }
    }

    /// Remembers that the user must sign in, so that lists of servers can say so.
    async fn note_login_needed(&self, state: &mut CredentialsState, challenge: &Challenge) -> OAuthError {
        let server = self.setup.server.clone();
        let (grant, error) = match challenge.wants_more_scopes() {
            // The token stays of use for what it permits.
            true => (state.grant.clone(), OAuthError::ScopesNeeded { server, scopes: challenge.scopes.join(" ") }),
            false => (None, OAuthError::LoginNeeded { server }),
        };
        let missing_scopes = challenge.scopes.clone();
        if let Err(error) = self.store(StoredLogin { missing_scopes, ..self.login(grant) }).await {
            tracing::warn!(server = self.setup.server, %error, "it is not noted that a server needs a login");
        }
        error
    }

    /// Uses a new token from now on.
    async fn keep(&self, state: &mut CredentialsState, grant: StoredGrant) -> Result<(), OAuthError> {
        for secret in [Some(&grant.access_token), grant.refresh_token.as_ref()].into_iter().flatten() {
            self.note_used(&Secret::new(secret));
        }
        state.was_loaded = true;
        state.grant = Some(grant.clone());
        match self.store(self.login(Some(grant))).await {
            Err(error) if self.setup.prompter.is_none() => {
                // The token is of use as long as the process runs.
                tracing::warn!(server = self.setup.server, %error, "a renewed token is not stored");
                Ok(())
            }
            stored => stored,
        }
    }

    fn login(&self, grant: Option<StoredGrant>) -> StoredLogin {
        let (name, url) = (self.setup.server.clone(), self.setup.url.to_string());
        StoredLogin { name, url, missing_scopes: Vec::new(), grant }
    }

    async fn store(&self, login: StoredLogin) -> Result<(), OAuthError> {
        let Some(store) = self.setup.store.clone() else { return Ok(()) };
        match tokio::task::spawn_blocking(move || store.put(login)).await {
            Ok(stored) => stored.map_err(|error| OAuthError::Store(error.to_string())),
            Err(error) => Err(OAuthError::Store(error.to_string())),
        }
    }

    async fn stored_grant(&self) -> Option<StoredGrant> {
        self.stored_login().await?.grant
    }

    async fn stored_login(&self) -> Option<StoredLogin> {
        let store = self.setup.store.clone()?;
        let (name, url) = (self.setup.server.clone(), self.setup.url.to_string());
        match tokio::task::spawn_blocking(move || store.get(&name, &url)).await.ok()? {
            Ok(login) => login,
            Err(error) => {
                tracing::warn!(server = self.setup.server, %error, "the file of logins is not read");
                None
            }
        }
    }

    fn note_used(&self, token: &Secret) {
        let mut used = lock(&self.used);
        if !used.contains(token) {
            self.setup.secrets.report(token);
            used.push(token.clone());
        }
        let excess = used.len().saturating_sub(MAX_USED_TOKENS);
        used.drain(..excess);
    }
}

impl StoredGrant {
    /// The grant with a renewed token. A server that sends no new refresh token accepts the old one again.
    fn renewed_by(&self, token: IssuedToken) -> StoredGrant {
        let mut grant = self.clone();
        grant.access_token = token.access;
        grant.refresh_token = token.refresh.or(grant.refresh_token);
        grant.expires_at = token.expires_at;
        grant.scopes = token.scopes.unwrap_or(grant.scopes);
        grant
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").field("server", &self.setup.server).finish_non_exhaustive()
    }
}

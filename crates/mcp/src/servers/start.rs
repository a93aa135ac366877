//! Starting a server, and signing in to it.

use std::sync::Arc;

use host::Guardian;
use net::Secret;
use url::Url;

use super::connection::{ConnectionState, Failures};
use super::{LoginOutcome, McpLogins, ServerSlot};
use crate::http::{HttpTransport, HttpTransportSetup};
use crate::oauth::{Credentials, CredentialsSetup};
use crate::stdio::StdioTransport;
use crate::{
    McpAddress, McpNegotiation, McpOAuthSettings, McpOptions, McpRevision, McpServer, McpServerSettings, McpTimeouts,
    McpTransport, SamplingPolicy, ServerLog,
};

impl ServerSlot {
    /// Starts the server. A program that ends when it is asked for the newest revision is started again without that.
    pub(super) async fn start(&self, guardian: &Guardian) -> Result<Arc<McpServer>, McpStartError> {
        let negotiation = self.settings.revision.map_or(McpNegotiation::NewestFirst, McpNegotiation::Only);
        match self.start_with(guardian, negotiation).await {
            Err(McpStartError { is_early_end: true, .. }) => {
                self.start_with(guardian, McpNegotiation::Only(McpRevision::Session)).await
            }
            started => started,
        }
    }

    pub(super) async fn start_with(
        &self,
        guardian: &Guardian,
        negotiation: McpNegotiation,
    ) -> Result<Arc<McpServer>, McpStartError> {
        let failed = |why: String| McpStartError { why, is_early_end: false, needs_auth: false };
        let transport: Arc<dyn McpTransport> = match &self.settings.address {
            McpAddress::Program(program) => {
                let folder = self.config.logs.as_deref();
                let log = folder.map(|folder| ServerLog::at(ServerLog::path(folder, &self.settings.name)));
                let started = StdioTransport::start(guardian, program, &self.config.env, log.unwrap_or_default());
                Arc::new(started.await.map_err(failed)?)
            }
            McpAddress::Url { url, headers, oauth } => {
                let credentials = self.credentials(url, headers, oauth).map_err(failed)?;
                let (route, url, headers) = (self.config.route.clone(), url.clone(), headers.clone());
                let setup = HttpTransportSetup { route, url, headers, credentials };
                Arc::new(HttpTransport::new(setup).map_err(|error| failed(error.to_string()))?)
            }
        };
        let McpServerSettings { start_timeout, call_timeout, task_timeout, .. } = self.settings;
        let (initialize, list, call, task) = (start_timeout, start_timeout, call_timeout, task_timeout);
        let options = McpOptions {
            timeouts: McpTimeouts { initialize, list, call, task },
            negotiation,
            sampling: if self.settings.sampling { SamplingPolicy::Allowed } else { SamplingPolicy::Refused },
            roots: self.config.roots.clone(),
            tasks: self.config.tasks,
            ..McpOptions::default()
        };
        let connected = McpServer::connect(&self.settings.name, Arc::clone(&transport), options).await;
        connected.map_err(|error| McpStartError {
            is_early_end: transport.closed().is_some() && negotiation == McpNegotiation::NewestFirst,
            needs_auth: error.needs_login(),
            why: error.to_string(),
        })
    }

    /// The token for a server at this address; none if the user set one in its headers.
    pub(super) fn credentials(
        &self,
        url: &str,
        headers: &[(String, Secret)],
        oauth: &McpOAuthSettings,
    ) -> Result<Option<Arc<Credentials>>, String> {
        if headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization")) {
            return Ok(None);
        }
        let McpLogins { store, prompter, clock } = self.config.logins.clone();
        let setup = CredentialsSetup {
            server: self.settings.name.clone(),
            url: Url::parse(url).map_err(|error| format!("its address is not valid: {error}"))?,
            settings: oauth.clone(),
            route: self.config.route.clone(),
            clock,
            store,
            prompter,
            secrets: self.secrets.clone(),
        };
        Ok(Some(Arc::clone(self.credentials.get_or_init(|| Arc::new(Credentials::new(setup))))))
    }

    /// Signs in to the server.
    pub(super) async fn log_in(&self, guardian: &Guardian) -> Result<LoginOutcome, String> {
        if matches!(self.settings.address, McpAddress::Program(_)) {
            return Err("it is a program, which needs no login".into());
        }
        let tools = self.check(guardian).await?.tools.len();
        let Some(credentials) = self.credentials.get() else {
            return Err("its `headers` have `Authorization`; remove that to sign in instead".into());
        };
        match credentials.log_in().await {
            Ok(true) => Ok(LoginOutcome::SignedIn { tools }),
            Ok(false) => Ok(LoginOutcome::NotNeeded),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Tells the server that the session is over.
    pub(super) async fn close(&self) {
        let state =
            std::mem::replace(&mut *self.connection.lock().await, ConnectionState::Disconnected(Failures::default()));
        if let ConnectionState::Connected(connection) = state {
            connection.server.close().await;
        }
    }
}

/// Why a server did not start.
pub(super) struct McpStartError {
    pub(super) why: String,
    /// Its program ended before the revision was negotiated.
    is_early_end: bool,
    /// It refused the credentials.
    pub(super) needs_auth: bool,
}

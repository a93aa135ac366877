//! Changes of a session's servers while it runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use host::Guardian;
use net::Secret;
use protocol::api::{McpServerStatus, McpServerView, SetMcpServersResult};
use protocol::{McpServerKind, McpServerSpec};
use tools::{BoxFuture, McpControlError, McpServerControl, McpTokenSource, SecretSink};

use crate::phase::PhaseReport;
use crate::servers::ServerEntry;
use crate::{McpAddress, McpServerSettings, McpServers};

/// The most servers of one session.
const MAX_SERVERS: usize = 128;

impl McpServerControl for McpServers {
    fn servers(&self) -> Vec<McpServerView> {
        let mut views: Vec<McpServerView> = self.entries().iter().map(|entry| entry.view()).collect();
        views.sort_by(|a, b| (a.agent.is_some(), &a.name).cmp(&(b.agent.is_some(), &b.name)));
        views
    }

    fn set_enabled(&self, server: &str, enabled: bool) -> Result<(), McpControlError> {
        self.entry(server)?.set_enabled(enabled);
        Ok(())
    }

    fn reconnect<'a>(&'a self, server: &'a str, guardian: &'a Guardian) -> BoxFuture<'a, Result<(), McpControlError>> {
        Box::pin(async move {
            let entry = self.entry(server)?;
            if !entry.is_enabled() {
                return Err(McpControlError::Disabled(server.to_owned()));
            }
            let unusable = |why: String| McpControlError::Unusable { server: server.to_owned(), why };
            match (&entry.slot, &entry.defined.settings) {
                (Some(slot), _) => slot.reconnect(guardian).await.map_err(unusable),
                (None, Err(why)) => Err(unusable(why.clone())),
                (None, Ok(_)) => Err(unusable("it has no settings".into())),
            }
        })
    }

    fn secrets(&self) -> Vec<Secret> {
        let entries = self.entries();
        let settings = entries.iter().filter_map(|entry| entry.defined.settings.as_ref().ok());
        settings.flat_map(McpServerSettings::secrets).cloned().collect()
    }

    fn report_secrets(&self, sink: Arc<dyn SecretSink>) {
        self.session_secrets().report_to(sink);
    }

    fn use_tokens_of(&self, source: Arc<dyn McpTokenSource>) {
        self.session_secrets().use_tokens_of(source);
    }

    fn set_servers(&self, servers: &BTreeMap<String, McpServerSpec>) -> Result<SetMcpServersResult, McpControlError> {
        let defined = self.config().definer.as_ref().ok_or(McpControlError::Fixed)?.define(servers);
        let mut result = SetMcpServersResult::default();
        let mut entries = self.entries_mut();
        let (mut kept, replaced): (Vec<Arc<ServerEntry>>, Vec<_>) = entries.drain(..).partition(|entry| {
            let wanted = defined.iter().find(|defined| defined.key() == entry.defined.key());
            match (entry.is_added, wanted) {
                (_, Some(wanted)) => *wanted == entry.defined && wanted.settings.is_ok(),
                (is_added, None) => !is_added,
            }
        });
        for gone in replaced {
            gone.set_enabled(false);
            let key = gone.defined.key();
            if !defined.iter().any(|defined| defined.key() == key) {
                result.removed.push(key);
            }
        }
        for mut defined in defined {
            let key = defined.key();
            if kept.iter().any(|entry| entry.defined.key() == key) {
                continue;
            }
            if kept.len() >= MAX_SERVERS {
                defined.settings = Err(format!("a session has at most {MAX_SERVERS} servers"));
            }
            match &defined.settings {
                Ok(_) => result.added.push(key),
                Err(why) => drop(result.errors.insert(key, why.clone())),
            }
            if kept.len() < MAX_SERVERS {
                let entry = ServerEntry::new(defined, self.config(), self.session_secrets());
                kept.push(Arc::new(entry.added_by_client()));
            }
        }
        *entries = kept;
        result.removed.sort();
        Ok(result)
    }
}

impl McpServers {
    fn entry(&self, key: &str) -> Result<Arc<ServerEntry>, McpControlError> {
        self.entry_with_key(key).ok_or_else(|| McpControlError::Unknown {
            server: key.to_owned(),
            known: self.entries().iter().map(|entry| entry.defined.key()).collect(),
        })
    }
}

impl ServerEntry {
    fn view(&self) -> McpServerView {
        let PhaseReport { status, error, identity } = self.report();
        let transport = self.defined.settings.as_ref().ok().map(|settings| match settings.address {
            McpAddress::Program(_) => McpServerKind::Stdio,
            McpAddress::Url { .. } => McpServerKind::Http,
        });
        McpServerView {
            name: self.defined.key(),
            status,
            error,
            scope: self.defined.scope,
            origin: self.defined.origin.clone(),
            agent: self.defined.agent.clone(),
            transport,
            address: self.defined.address.clone(),
            server_info: identity,
            tools: self
                .slot
                .as_ref()
                .filter(|_| status != McpServerStatus::Disabled)
                .and_then(|slot| slot.known_tools()),
        }
    }

    fn report(&self) -> PhaseReport {
        let report = |status, error| PhaseReport { status, error, identity: None };
        match (self.is_enabled(), &self.slot, &self.defined.settings) {
            (false, ..) => report(McpServerStatus::Disabled, None),
            (true, Some(slot), _) => slot.phase.report(),
            (true, None, Err(why)) => report(McpServerStatus::Failed, Some(why.clone())),
            (true, None, Ok(_)) => report(McpServerStatus::Ready, None),
        }
    }
}

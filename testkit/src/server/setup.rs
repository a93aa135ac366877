//! The setup of a server.

use std::path::{Path, PathBuf};
use std::time::Duration;

use model::ScriptModel;

use super::{FaultPlan, Hint, ModelServer};

/// The setup of a server.
#[derive(Debug)]
#[must_use = "no server runs before `start`"]
pub struct ServerSetup {
    pub(super) script: ScriptModel,
    pub(super) faults: FaultPlan,
    pub(super) rate: Option<(u32, Hint)>,
    pub(super) latency: Duration,
    pub(super) context: Option<u64>,
    pub(super) key: Option<String>,
    pub(super) models: Vec<String>,
    pub(super) keep: RequestRetention,
    pub(super) bodies: Option<PathBuf>,
    pub(super) port: u16,
}

/// What is recorded of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestRetention {
    /// All of them.
    Everything,
    /// Only the totals.
    Totals,
}

impl ServerSetup {
    /// A server without faults that plays this script.
    pub fn new(script: ScriptModel) -> ServerSetup {
        ServerSetup {
            script,
            faults: FaultPlan::none(),
            rate: None,
            latency: Duration::ZERO,
            context: None,
            key: None,
            models: vec!["test-model".into()],
            keep: RequestRetention::Everything,
            bodies: None,
            port: 0,
        }
    }

    /// Sets the faults.
    pub fn faults(self, faults: FaultPlan) -> ServerSetup {
        ServerSetup { faults, ..self }
    }

    /// Limits the requests per second; answers the others with 429.
    pub fn allow(self, per_second: u32, hint: Hint) -> ServerSetup {
        ServerSetup { rate: Some((per_second, hint)), ..self }
    }

    /// Sets the delay before each answer.
    pub fn latency(self, latency: Duration) -> ServerSetup {
        ServerSetup { latency, ..self }
    }

    /// Refuses conversations of more tokens than this, counted as four bytes of the request each.
    pub fn context(self, tokens: u64) -> ServerSetup {
        ServerSetup { context: Some(tokens), ..self }
    }

    /// Refuses any other key.
    pub fn key(self, key: &str) -> ServerSetup {
        ServerSetup { key: Some(key.into()), ..self }
    }

    /// Sets the models to list.
    pub fn models(self, names: &[&str]) -> ServerSetup {
        ServerSetup { models: names.iter().map(|name| (*name).into()).collect(), ..self }
    }

    /// Sets what is recorded.
    pub fn keep(self, keep: RequestRetention) -> ServerSetup {
        ServerSetup { keep, ..self }
    }

    /// Writes the body of each request to a file in this folder, named by its number.
    pub fn bodies(self, folder: &Path) -> ServerSetup {
        ServerSetup { bodies: Some(folder.to_owned()), ..self }
    }

    /// Sets the port; 0 means any free one.
    pub fn port(self, port: u16) -> ServerSetup {
        ServerSetup { port, ..self }
    }

    /// Starts the server.
    #[track_caller]
    pub fn start(self) -> ModelServer {
        ModelServer::start(self)
    }
}

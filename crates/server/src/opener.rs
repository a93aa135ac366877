//! The interface through which a session host opens sessions. The program that starts the host knows settings, keys and
//! models; the host does not.

use std::collections::BTreeMap;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;

use host::Home;
use model::{ClientProvider, Provider, TurnHeaders};
use net::{NetworkRoute, RequestCarrier, Secret};
use protocol::api::{AgentView, BeginFleetParams, FleetParams, Method};
use protocol::{Refusal, SessionId, SessionOptions};
use rpc::ErrorObject;
use runtime::{ClientExtensions, Session, SessionStart};
use serde_json::Value;

/// A session that is being opened.
pub type OpenSessionFuture<'a> = Pin<Box<dyn Future<Output = Result<Session, OpenRefusal>> + Send + 'a>>;

/// An answer that is being found.
pub type AnswerFuture<'a> = Pin<Box<dyn Future<Output = Result<Value, ErrorObject>> + Send + 'a>>;

/// Opens sessions in this process.
pub trait SessionOpener: Send + Sync + 'static {
    /// Where sessions are stored.
    fn home(&self) -> &Home;

    /// Opens a session in this process.
    fn open(&self, request: OpenRequest) -> OpenSessionFuture<'_>;

    /// The options and the fleet of a session that begins with a fleet: a plan becomes todos.
    fn prepare_fleet(&self, request: BeginFleetParams) -> Result<(SessionOptions, FleetParams), OpenRefusal> {
        match request.plan {
            None => Ok((request.session, request.fleet)),
            Some(_) => Err(OpenRefusal { words: "this program reads no plans".into(), hint: None }),
        }
    }

    /// The agents and models available in a folder, or in this process's folder.
    fn catalog(&self, _cwd: Option<&Path>) -> Result<HostCatalog, OpenRefusal> {
        Ok(HostCatalog::default())
    }

    /// Answers a method of the API whose source is the user's settings.
    fn answer(&self, method: Method, _params: Value) -> AnswerFuture<'_> {
        Box::pin(std::future::ready(Err(ErrorObject::unknown_method(method.name()))))
    }

    /// The value of an environment variable, unless it is unset or empty.
    fn variable(&self, name: &str) -> Option<String> {
        let _unused = name;
        None
    }

    /// Proxies and certificates for requests that concern no session.
    fn network_route(&self) -> NetworkRoute {
        NetworkRoute::default()
    }
}

/// The agents and models available in a folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostCatalog {
    /// The available agents.
    pub agents: Vec<AgentView>,
    /// The available models, in the syntax of `--model`.
    pub models: Vec<String>,
    /// The default model.
    pub default_model: Option<String>,
}

/// A request to open a session.
#[derive(Debug)]
pub struct OpenRequest {
    /// Whether to start, resume or fork it.
    pub start: SessionStart,
    /// The id of a new session.
    pub id: Option<SessionId>,
    /// Its options.
    pub options: SessionOptions,
    /// Tools, hooks and system text of the client.
    pub client_extensions: ClientExtensions,
    /// The model provider, if the client supplies its own.
    pub provider: Option<ClientProvider>,
    /// Further model providers that the client supplies, by name.
    pub named_providers: BTreeMap<String, Provider>,
    /// The client's name in requests to models.
    pub client_name: Option<String>,
    /// Carries the requests to models instead of the network, if the client does that.
    pub carrier: Option<Arc<dyn RequestCarrier>>,
    /// Headers that the client adds to the requests of some turns.
    pub turn_headers: TurnHeaders,
    /// Texts of the client that the session must not write.
    pub secrets: Vec<Secret>,
}

impl OpenRequest {
    /// A request without any options.
    pub fn new(start: SessionStart) -> OpenRequest {
        OpenRequest {
            start,
            id: None,
            options: SessionOptions::default(),
            client_extensions: ClientExtensions::default(),
            provider: None,
            named_providers: BTreeMap::new(),
            client_name: None,
            carrier: None,
            turn_headers: TurnHeaders::default(),
            secrets: Vec::new(),
        }
    }
}

/// Why a session was not opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{words}{}", .hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default())]
pub struct OpenRefusal {
    /// The reason, as text for people.
    pub words: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl From<OpenRefusal> for Refusal {
    fn from(OpenRefusal { words, hint }: OpenRefusal) -> Refusal {
        Refusal { message: words, hint }
    }
}

impl From<Refusal> for OpenRefusal {
    fn from(Refusal { message, hint }: Refusal) -> OpenRefusal {
        OpenRefusal { words: message, hint }
    }
}

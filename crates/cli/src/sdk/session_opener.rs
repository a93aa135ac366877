//! Opens sessions for adapters, with the settings that a run from the command line would have.

use std::path::Path;

use client::SessionHandle;
use config::{PreparedFleet, SessionRequest, StartNoticeKind};
use host::Home;
use model::ClientProvider;
use net::NetworkRoute;
use protocol::api::{AgentView, BeginFleetParams, FleetParams, Method};
use protocol::{Hinted as _, SessionOptions};
use runtime::{Session, SessionSettings, SessionStart};
use serde_json::Value;
use server::{AnswerFuture, HostCatalog, OpenRefusal, OpenRequest, OpenSessionFuture, SessionOpener};

use crate::error::CliError;
use crate::setup::{Setup, working_folder};

/// Notices that are for users of the command line: clients choose models and rules themselves.
const HIDDEN_NOTICES: [StartNoticeKind; 2] = [StartNoticeKind::DefaultModel, StartNoticeKind::UnknownTool];

/// Opens sessions for adapters.
pub(crate) struct LocalSessionOpener {
    setup: Setup,
    /// The provider of sessions whose client names none.
    provider: Option<ClientProvider>,
}

impl LocalSessionOpener {
    pub(crate) fn new(setup: Setup) -> LocalSessionOpener {
        LocalSessionOpener { setup, provider: None }
    }

    /// Sets the provider of sessions whose client names none.
    pub(crate) fn with_provider(self, provider: Option<ClientProvider>) -> LocalSessionOpener {
        LocalSessionOpener { provider, ..self }
    }

    async fn open_session(&self, request: OpenRequest) -> Result<Session, CliError> {
        let OpenRequest {
            start,
            id,
            options,
            client_extensions,
            provider,
            named_providers,
            client_name,
            carrier,
            turn_headers,
            secrets,
        } = request;
        let previous = match start {
            SessionStart::New => None,
            SessionStart::Resume(id) | SessionStart::Fork(id) => Some(SessionHandle::new(&self.setup.home, id).view()?),
        };
        let request = SessionRequest {
            client_provider: self.provider_of(provider),
            named_providers,
            client_name,
            carrier,
            turn_headers,
            ..SessionRequest::new(&options, previous.as_ref())
        };
        let mut settings = self.setup.assemble(request, &HIDDEN_NOTICES)?;
        settings.secrets = settings.secrets.iter().cloned().chain(secrets).collect();
        Ok(Session::open(SessionSettings { id, client_extensions, ..settings }, start).await?)
    }

    /// The provider of a session. A client's provider without a model has the default model of the others.
    fn provider_of(&self, provider: Option<ClientProvider>) -> Option<ClientProvider> {
        let default_model = self.provider.as_ref().and_then(|provider| provider.model.clone());
        let with_model =
            |provider: ClientProvider| ClientProvider { model: provider.model.or(default_model), ..provider };
        provider.map(with_model).or_else(|| self.provider.clone())
    }

    fn list_agents_and_models(&self, cwd: Option<&Path>) -> Result<HostCatalog, CliError> {
        let agents = self.setup.sources().folder_agents(&SessionOptions::default(), &working_folder(cwd)?)?;
        let of_provider = self.provider.as_ref().and_then(|provider| provider.model.as_ref());
        Ok(HostCatalog {
            agents: agents.catalog.agents.iter().map(AgentView::from).collect(),
            models: agents.models.available(),
            default_model: of_provider.map(|model| format!("{}/{model}", ClientProvider::NAME)).or(agents.model),
        })
    }
}

impl SessionOpener for LocalSessionOpener {
    fn home(&self) -> &Home {
        &self.setup.home
    }

    fn catalog(&self, cwd: Option<&Path>) -> Result<HostCatalog, OpenRefusal> {
        self.list_agents_and_models(cwd).map_err(refusal)
    }

    fn prepare_fleet(&self, request: BeginFleetParams) -> Result<(SessionOptions, FleetParams), OpenRefusal> {
        let PreparedFleet { session, fleet } = config::prepare_fleet(request).map_err(|error| error.refusal())?;
        Ok((session, fleet))
    }

    fn open(&self, request: OpenRequest) -> OpenSessionFuture<'_> {
        Box::pin(async move { self.open_session(request).await.map_err(refusal) })
    }

    fn answer(&self, method: Method, params: Value) -> AnswerFuture<'_> {
        Box::pin(config::answer_settings_method(self.setup.sources(), &self.setup.config, method, params))
    }

    fn variable(&self, name: &str) -> Option<String> {
        self.setup.env.text(name)
    }

    fn network_route(&self) -> NetworkRoute {
        self.setup.env.network_route()
    }
}

/// A failure for clients of an adapter.
pub(crate) fn refusal(failure: CliError) -> OpenRefusal {
    let (message, hint) = failure.into_message_and_hint();
    OpenRefusal { words: message, hint }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use adapters::copilot::CopilotProviderParams;
    use config::Env;
    use protocol::api::{SendParams, SessionView};
    use protocol::{MailDelivery, PermissionMode};
    use serde_json::json;
    use testkit::server::ModelServer;

    use super::*;

    const KEY: &str = "sk-client-0123456789";

    const ECHO: &str = "
version: 1
rules:
  - answer: [{ say: 'the key is sk-client-0123456789' }]
";

    fn open_request(server: &ModelServer, cwd: &Path) -> OpenRequest {
        let params = json!({
            "type": "openai",
            "baseUrl": server.openai_url(),
            "apiKey": KEY,
            "headers": { "x-team": "blue" },
            "modelId": "any-name",
        });
        let mut provider = CopilotProviderParams::read(&params).and_then(CopilotProviderParams::into_provider).unwrap();
        provider.provider.extra.model_names.insert("any-name".into(), "wire-name".into());
        let options = SessionOptions {
            cwd: Some(cwd.to_owned()),
            permission: Some(PermissionMode::AllowAll),
            ..SessionOptions::default()
        };
        let client_name = Some("my-app 1.0".to_owned());
        OpenRequest { options, provider: Some(provider), client_name, ..OpenRequest::new(SessionStart::New) }
    }

    #[tokio::test]
    async fn client_provider_gets_its_key_and_the_key_is_not_stored() {
        let server = ModelServer::script(ECHO).start();
        let (root, work) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let env = Env::from(vec![("HOME".into(), work.path().into())]);
        let opener = LocalSessionOpener::new(Setup::with_home_at(env, root.path().to_owned()).unwrap());
        let session = opener.open(open_request(&server, work.path())).await.unwrap();
        let (client, _events) = session.connect().await.unwrap();
        let message = SendParams {
            task: None,
            text: "hello".into(),
            images: Vec::new(),
            delivery: MailDelivery::FollowUp,
            display: None,
        };
        let _sent: Value = client.call(Method::SessionSend, message).await.unwrap();
        session.status().wait_for(|status| status.quiet && server.count() > 0).await.unwrap();
        let view: SessionView = client.call(Method::SessionGet, json!({})).await.unwrap();
        assert_eq!(view.model, "client/any-name");
        session.leave().await.unwrap();
        let requests = server.requests();
        assert_eq!(requests[0].header("authorization"), Some(format!("Bearer {KEY}").as_str()));
        assert_eq!(requests[0].header("x-team"), Some("blue"));
        assert_eq!(requests[0].json()["model"], "wire-name");
        let program = concat!("bosun/", env!("CARGO_PKG_VERSION"), " my-app 1.0");
        assert_eq!(requests[0].header("user-agent"), Some(program));
        for file in fs::read_dir(root.path().join("sessions").join(view.id.to_string())).unwrap() {
            let bytes = fs::read(file.unwrap().path()).unwrap_or_default();
            assert!(!bytes.windows(KEY.len()).any(|part| part == KEY.as_bytes()));
        }
    }

    #[tokio::test]
    async fn provider_without_a_model_is_refused() {
        let (root, work) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let env = Env::from(vec![("HOME".into(), work.path().into())]);
        let opener = LocalSessionOpener::new(Setup::with_home_at(env, root.path().to_owned()).unwrap());
        let provider = CopilotProviderParams::read(&json!({ "baseUrl": "http://127.0.0.1:9/v1" }))
            .and_then(CopilotProviderParams::into_provider)
            .unwrap();
        let request = OpenRequest { provider: Some(provider), ..OpenRequest::new(SessionStart::New) };
        let refused = opener.open(request).await.unwrap_err();
        assert!(refused.words.contains("has no model"), "{refused}");
    }
}

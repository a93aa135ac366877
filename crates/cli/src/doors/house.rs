//! Opens sessions for doors, with the same settings that a run from the command line would have.

use std::path::Path;

use clap::Parser;
use doors::{ClientProvider, House, Opening, Order, Refusal, Staff};
use host::Home;
use protocol::api::{AgentView, SessionView};
use runtime::{Session, Start};
use store::Reader;

use crate::args::{Args, RunArgs};
use crate::failure::Failure;
use crate::setup::{Setup, folder};

/// Opens sessions for doors.
pub(crate) struct Quarters {
    setup: Setup,
    /// The provider of sessions whose client brings none.
    provider: Option<ClientProvider>,
}

impl Quarters {
    pub(crate) fn new(setup: Setup) -> Quarters {
        Quarters { setup, provider: None }
    }

    /// The same, with a provider for sessions whose client brings none.
    pub(crate) fn with_provider(self, provider: Option<ClientProvider>) -> Quarters {
        Quarters { provider, ..self }
    }

    async fn take(&self, order: Order) -> Result<Session, Failure> {
        let Order { start, id, cwd, flags, guests, provider } = order;
        let words = std::iter::once("bosun".to_owned()).chain(flags);
        let mut args = Args::try_parse_from(words).map_err(|error| Failure::usage(error.to_string()))?.run;
        args.directory = cwd.or(args.directory);
        args.quiet = true;
        let before = match start {
            Start::New => None,
            Start::Resume(id) | Start::Fork(id) => Some(Reader::open(&self.setup.home, id)?.session_view()?),
        };
        let provider = provider.or_else(|| self.provider.clone());
        if let Some(provider) = &provider {
            args.model = Some(model(provider, &args, before.as_ref())?);
        }
        let mut settings = self.setup.settings_with(&args, before.as_ref(), provider)?;
        settings.id = id;
        settings.guests = guests;
        Ok(Session::open(settings, start).await?)
    }

    fn staffed(&self, cwd: Option<&Path>) -> Result<Staff, Failure> {
        let args = Args::try_parse_from(["bosun"]).map_err(|error| Failure::usage(error.to_string()))?.run;
        let staffing = self.setup.staffing(&args.permit, &args.definitions, args.file()?, &folder(cwd)?)?;
        Ok(Staff {
            agents: staffing.catalog.agents.iter().map(AgentView::from).collect(),
            models: staffing.models.available(),
            model: staffing.model,
        })
    }
}

impl House for Quarters {
    fn home(&self) -> &Home {
        &self.setup.home
    }

    fn staff(&self, cwd: Option<&Path>) -> Result<Staff, Refusal> {
        self.staffed(cwd).map_err(refusal)
    }

    fn open(&self, order: Order) -> Opening<'_> {
        Box::pin(async move { self.take(order).await.map_err(refusal) })
    }
}

/// The model of a client's own provider, by the name that it is asked for and kept by.
fn model(provider: &ClientProvider, args: &RunArgs, before: Option<&SessionView>) -> Result<String, Failure> {
    let own = |spec: &str| spec.split_once('/').filter(|(place, _)| *place == ClientProvider::NAME).is_some();
    let before = before.map(|before| before.model.clone()).filter(|spec| own(spec));
    let wanted = provider.model.clone().or_else(|| args.model.clone()).or(before);
    let wanted = wanted.ok_or_else(|| Failure::usage("the client's provider has no model; name one as `model`"))?;
    Ok(if own(&wanted) { wanted } else { format!("{}/{wanted}", ClientProvider::NAME) })
}

fn refusal(failure: Failure) -> Refusal {
    let (words, hint) = failure.in_words();
    Refusal { words, hint }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use config::Env;
    use doors::copilot::Offer;
    use protocol::Delivery;
    use protocol::api::{Method, SendParams};
    use serde_json::{Value, json};
    use testkit::server::ModelServer;

    use super::*;

    const KEY: &str = "sk-client-0123456789";

    const ECHO: &str = "
version: 1
rules:
  - answer: [{ say: 'the key is sk-client-0123456789' }]
";

    fn order(server: &ModelServer, cwd: &Path) -> Order {
        let given = json!({
            "type": "openai",
            "baseUrl": server.openai_url(),
            "apiKey": KEY,
            "headers": { "x-team": "blue" },
            "modelId": "any-name",
        });
        let provider = Offer::read(&given).and_then(Offer::provider).unwrap();
        let flags = vec!["--allow-all".into()];
        Order { cwd: Some(cwd.to_owned()), flags, provider: Some(provider), ..Order::new(Start::New) }
    }

    #[tokio::test]
    async fn d1_a_client_s_own_provider_is_asked_with_its_key_which_is_written_nowhere() {
        let server = ModelServer::script(ECHO).start();
        let (root, work) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let env = Env::from(vec![("HOME".into(), work.path().into())]);
        let quarters = Quarters::new(Setup::at(env, root.path().to_owned()).unwrap());
        let session = quarters.open(order(&server, work.path())).await.unwrap();
        let (client, _events) = session.link().await.unwrap();
        let said = SendParams {
            task: None,
            text: "hello".into(),
            images: Vec::new(),
            delivery: Delivery::FollowUp,
            display: None,
        };
        let _sent: Value = client.call(Method::SessionSend, said).await.unwrap();
        session.status().wait_for(|status| status.quiet && server.count() > 0).await.unwrap();
        let view: SessionView = client.call(Method::SessionGet, json!({})).await.unwrap();
        assert_eq!(view.model, "client/any-name");
        session.leave().await.unwrap();
        let asked = server.requests();
        assert_eq!(asked[0].header("authorization"), Some(format!("Bearer {KEY}").as_str()));
        assert_eq!(asked[0].header("x-team"), Some("blue"));
        assert_eq!(asked[0].json()["model"], "any-name");
        for file in fs::read_dir(root.path().join("sessions").join(view.id.to_string())).unwrap() {
            let bytes = fs::read(file.unwrap().path()).unwrap_or_default();
            assert!(!bytes.windows(KEY.len()).any(|part| part == KEY.as_bytes()));
        }
    }

    #[tokio::test]
    async fn d1_a_provider_without_a_model_is_refused_in_words() {
        let (root, work) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let env = Env::from(vec![("HOME".into(), work.path().into())]);
        let quarters = Quarters::new(Setup::at(env, root.path().to_owned()).unwrap());
        let provider = Offer::read(&json!({ "baseUrl": "http://127.0.0.1:9/v1" })).and_then(Offer::provider).unwrap();
        let order = Order { provider: Some(provider), ..Order::new(Start::New) };
        let refused = quarters.open(order).await.unwrap_err();
        assert!(refused.words.contains("has no model"), "{refused}");
    }
}

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

    fn variable(&self, name: &str) -> Option<String> {
        self.setup.env.text(name)
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

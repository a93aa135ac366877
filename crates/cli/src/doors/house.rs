//! Opens sessions for doors, with the same settings that a run from the command line would have.

use clap::Parser;
use doors::{House, Opening, Order, Refusal};
use host::Home;
use runtime::{Session, Start};
use store::Reader;

use crate::args::Args;
use crate::failure::Failure;
use crate::setup::Setup;

/// Opens sessions for doors.
pub(crate) struct Quarters {
    setup: Setup,
}

impl Quarters {
    pub(crate) fn new(setup: Setup) -> Quarters {
        Quarters { setup }
    }

    async fn take(&self, order: Order) -> Result<Session, Failure> {
        let Order { start, id, cwd, flags, guests } = order;
        let words = std::iter::once("bosun".to_owned()).chain(flags);
        let mut args = Args::try_parse_from(words).map_err(|error| Failure::usage(error.to_string()))?.run;
        args.directory = cwd.or(args.directory);
        args.quiet = true;
        let before = match start {
            Start::New => None,
            Start::Resume(id) | Start::Fork(id) => Some(Reader::open(&self.setup.home, id)?.session_view()?),
        };
        let mut settings = self.setup.settings(&args, before.as_ref())?;
        settings.id = id;
        settings.guests = guests;
        Ok(Session::open(settings, start).await?)
    }
}

impl House for Quarters {
    fn home(&self) -> &Home {
        &self.setup.home
    }

    fn open(&self, order: Order) -> Opening<'_> {
        Box::pin(async move { self.take(order).await.map_err(refusal) })
    }

    fn variable(&self, name: &str) -> Option<String> {
        self.setup.env.text(name)
    }
}

fn refusal(failure: Failure) -> Refusal {
    let (words, hint) = failure.in_words();
    Refusal { words, hint }
}

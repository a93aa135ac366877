//! A model that thinks for a moment before it answers, so that people can follow.

use std::io::IsTerminal;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{FutureExt, StreamExt};
use model::{Deltas, Facts, Model, Request};

use crate::args::DemoArgs;

/// How fast the demo goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pace {
    /// As fast as it can.
    Fast,
    /// So that a person can read along.
    Readable,
}

/// Nobody reads along in a pipe.
pub(super) fn of(args: &DemoArgs) -> Pace {
    if args.fast || !std::io::stdout().is_terminal() { Pace::Fast } else { Pace::Readable }
}

impl Pace {
    /// The model at this pace.
    pub(super) fn apply(self, model: Arc<dyn Model>) -> Arc<dyn Model> {
        match self {
            Pace::Fast => model,
            Pace::Readable => Arc::new(Paced(model)),
        }
    }
}

const PAUSE: Duration = Duration::from_millis(1200);

#[derive(Debug)]
struct Paced(Arc<dyn Model>);

impl Model for Paced {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn facts(&self) -> &Facts {
        self.0.facts()
    }

    fn ask(&self, request: Request) -> Deltas {
        let answer = self.0.ask(request);
        tokio::time::sleep(PAUSE).map(|()| answer).flatten_stream().boxed()
    }
}

//! A model that pauses before each answer, so that users can follow.

use std::io::IsTerminal;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{FutureExt, StreamExt};
use model::{Deltas, Model, ModelFacts, ModelRequest};

use crate::args::DemoArgs;

/// Speed of the demo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DemoPace {
    /// Without pauses.
    Fast,
    /// Slow enough to read along.
    Readable,
}

/// The pace for these arguments. Without a terminal, no user reads along.
pub(super) fn pace_for(args: &DemoArgs) -> DemoPace {
    if args.fast || !std::io::stdout().is_terminal() { DemoPace::Fast } else { DemoPace::Readable }
}

impl DemoPace {
    /// Wraps the model to run at this pace.
    pub(super) fn apply(self, model: Arc<dyn Model>) -> Arc<dyn Model> {
        match self {
            DemoPace::Fast => model,
            DemoPace::Readable => Arc::new(PacedModel(model)),
        }
    }
}

const PAUSE: Duration = Duration::from_millis(1200);

#[derive(Debug)]
struct PacedModel(Arc<dyn Model>);

impl Model for PacedModel {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn facts(&self) -> &ModelFacts {
        self.0.facts()
    }

    fn send(&self, request: ModelRequest) -> Deltas {
        let answer = self.0.send(request);
        tokio::time::sleep(PAUSE).map(|()| answer).flatten_stream().boxed()
    }
}

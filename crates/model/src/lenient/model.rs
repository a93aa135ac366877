//! A model whose written calls are read.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use futures_util::{StreamExt, stream};

use super::reader::Reader;
use crate::{Calls, Deltas, Facts, Model, Request};

/// A small model, with the calls that it writes as text read as calls.
#[derive(Debug)]
pub struct Lenient {
    model: Arc<dyn Model>,
}

impl Lenient {
    /// Reads what `model` answers.
    pub fn new(model: Arc<dyn Model>) -> Lenient {
        Lenient { model }
    }
}

impl Model for Lenient {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn facts(&self) -> &Facts {
        self.model.facts()
    }

    fn learn(&self) -> BoxFuture<'_, ()> {
        self.model.learn()
    }

    fn ask(&self, request: Request) -> Deltas {
        let tools = match request.calls {
            Calls::Allowed => Arc::clone(&request.tools),
            Calls::Forbidden => Arc::default(),
        };
        let mut reader = Reader::new(tools, request.turn);
        let read = move |delta| match delta {
            Ok(delta) => reader.read(delta).into_iter().map(Ok).collect(),
            Err(error) => vec![Err(error)],
        };
        self.model.ask(request).map(read).flat_map(stream::iter).boxed()
    }
}

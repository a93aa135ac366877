//! A wrapper that parses the calls a model writes as text.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use futures_util::{StreamExt, stream};

use super::reader::CallReader;
use crate::{Deltas, Model, ModelFacts, ModelRequest, ToolCallPolicy};

/// A small model whose text is parsed for tool calls.
#[derive(Debug)]
pub struct LenientModel {
    model: Arc<dyn Model>,
}

impl LenientModel {
    /// Wraps `model`.
    pub fn new(model: Arc<dyn Model>) -> LenientModel {
        LenientModel { model }
    }
}

impl Model for LenientModel {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn facts(&self) -> &ModelFacts {
        self.model.facts()
    }

    fn refresh_facts(&self) -> BoxFuture<'_, ()> {
        self.model.refresh_facts()
    }

    fn send(&self, request: ModelRequest) -> Deltas {
        let tools = match request.call_policy {
            ToolCallPolicy::Allowed => Arc::clone(&request.tools),
            ToolCallPolicy::Forbidden => Arc::default(),
        };
        let mut reader = CallReader::new(tools, request.turn);
        let read = move |delta| match delta {
            Ok(delta) => reader.read(delta).into_iter().map(Ok).collect(),
            Err(error) => vec![Err(error)],
        };
        self.model.send(request).map(read).flat_map(stream::iter).boxed()
    }
}

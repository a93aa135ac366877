//! What a session needs of its client before it is opened: the tools of its servers, and the form that answers must have.

use std::sync::Arc;

use tools::Tool;

use super::args::Args;
use super::hello::Hello;
use super::servers::{self, Servers};
use super::structured::{self, Structured};
use super::wire::Control;
use crate::Refusal;

/// What the client brings along.
#[derive(Debug)]
pub(super) struct Brought {
    /// Its MCP servers.
    pub(super) servers: Servers,
    /// The form that answers must have, if it wants one.
    pub(super) structured: Option<Structured>,
}

impl Brought {
    /// Reads what it says, and greets its servers.
    pub(super) async fn fetch(args: &Args, hello: &Hello, control: &Arc<Control>) -> Result<Brought, Refusal> {
        let refused = |words: String| Refusal { words, hint: None };
        let named = servers::named(&args.mcp_configs, &hello.request).map_err(refused)?;
        let schema = structured::wanted(args.json_schema.as_deref(), &hello.request).map_err(refused)?;
        let structured = schema.as_ref().map(Structured::new).transpose().map_err(refused)?;
        Ok(Brought { servers: Servers::greet(control, named).await, structured })
    }

    /// The tools that the session has because of it.
    pub(super) fn tools(&self) -> Vec<Arc<dyn Tool>> {
        self.servers.tools().into_iter().chain(self.structured.as_ref().map(Structured::tool)).collect()
    }
}

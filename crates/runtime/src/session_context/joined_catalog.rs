//! The tools of programs outside that a session's client has, together with those of the session's settings.

use std::sync::Arc;

use futures_util::future::join;
use host::Guardian;
use tools::{BoxFuture, CatalogListing, McpServerControl, OutsidePrompt, RemoteTasks, Tool, ToolCatalog, ToolError};

/// Two catalogues as one. Of sources with the same name, that of the client counts.
#[derive(Debug)]
pub(super) struct JoinedCatalog {
    client: Arc<dyn ToolCatalog>,
    session: Arc<dyn ToolCatalog>,
}

impl JoinedCatalog {
    /// Both catalogues, as far as there are any.
    pub(super) fn join(
        client: &Option<Arc<dyn ToolCatalog>>,
        session: &Option<Arc<dyn ToolCatalog>>,
    ) -> Option<Arc<dyn ToolCatalog>> {
        match (client.clone(), session.clone()) {
            (Some(client), Some(session)) => Some(Arc::new(JoinedCatalog { client, session })),
            (client, session) => client.or(session),
        }
    }

    /// The catalogue that has a source.
    fn of_source(&self, source: &str) -> &Arc<dyn ToolCatalog> {
        if self.client.sources().iter().any(|own| own == source) { &self.client } else { &self.session }
    }
}

impl ToolCatalog for JoinedCatalog {
    fn for_agent(self: Arc<Self>, definition: &str) -> Arc<dyn ToolCatalog> {
        let client = Arc::clone(&self.client).for_agent(definition);
        Arc::new(JoinedCatalog { client, session: Arc::clone(&self.session).for_agent(definition) })
    }

    fn sources(&self) -> Vec<String> {
        let client = self.client.sources();
        let session = self.session.sources().into_iter().filter(|source| !client.contains(source));
        let session: Vec<String> = session.collect();
        client.into_iter().chain(session).collect()
    }

    fn tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.client.tool(name).or_else(|| self.session.tool(name))
    }

    fn list<'a>(&'a self, query: &'a str, guardian: &'a Guardian) -> BoxFuture<'a, CatalogListing> {
        Box::pin(async move {
            let query_text = query.to_lowercase();
            let names_client = self.client.sources().iter().any(|source| query_text.contains(&source.to_lowercase()));
            if names_client {
                // Nothing of the session needs to be started for it.
                return self.client.list(query, guardian).await;
            }
            let (mut listing, session) =
                join(self.client.list(query, guardian), self.session.list(query, guardian)).await;
            listing.tools.extend(session.tools);
            listing.problems.extend(session.problems);
            listing
        })
    }

    fn remote_tasks(&self) -> Option<&dyn RemoteTasks> {
        self.session.remote_tasks()
    }

    fn resources<'a>(&'a self, source: &'a str, guardian: &'a Guardian) -> BoxFuture<'a, Result<String, ToolError>> {
        self.of_source(source).resources(source, guardian)
    }

    fn read_resource<'a>(
        &'a self,
        source: &'a str,
        uri: &'a str,
        guardian: &'a Guardian,
    ) -> BoxFuture<'a, Result<String, ToolError>> {
        self.of_source(source).read_resource(source, uri, guardian)
    }

    fn prompt<'a>(
        &'a self,
        name: &'a str,
        arguments: &'a str,
        guardian: &'a Guardian,
    ) -> BoxFuture<'a, Result<OutsidePrompt, ToolError>> {
        self.session.prompt(name, arguments, guardian)
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            join(self.client.close(), self.session.close()).await;
        })
    }

    fn control(&self) -> Option<&dyn McpServerControl> {
        self.session.control()
    }
}

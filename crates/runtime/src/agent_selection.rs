//! Selection of the root's agent: the one the session started with, or one selected since.

use kernel::KernelInput;
use protocol::{AgentSpec, TaskId};

use crate::definition;
use crate::session_context::SessionContext;

impl SessionContext {
    /// The agent selected for the root, unless it is the default one.
    pub(crate) fn selected_agent(&self, root: TaskId) -> Option<AgentSpec> {
        self.log.roster.definition(root).map(|definition| (*definition).clone())
    }

    /// The input that makes another agent the root's agent, or the reason why it cannot be selected.
    pub(crate) fn selection_input(&self, wanted: Option<&str>) -> Result<KernelInput, String> {
        let catalog = &self.catalog.definitions;
        let Some(wanted) = wanted else { return Ok(KernelInput::SelectAgent { definition: None, model: None }) };
        let Some(agent) = catalog.agent(wanted).filter(|agent| agent.user_invocable) else {
            let names = catalog.agents.iter().filter(|agent| agent.user_invocable).map(|agent| agent.name.as_str());
            return Err(format!("there is no agent `{wanted}`; there are: {}", names.collect::<Vec<_>>().join(", ")));
        };
        if agent.isolation.is_some() {
            return Err(format!("`{wanted}` works in a checkout of its own; start it as a subagent"));
        }
        let model = definition::main_model(agent, &*self.catalog.models, &self.catalog.model_spec)?;
        Ok(KernelInput::SelectAgent { definition: Some(definition::definition_of(agent)?), model })
    }
}

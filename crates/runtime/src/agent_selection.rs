//! Which agent the session's own is: the one that it began as, or one that was chosen since.

use kernel::KernelInput;
use protocol::{AgentSpec, TaskId};

use crate::agent::SessionContext;
use crate::definition;

impl SessionContext {
    /// The agent that the session's own goes on as, unless it is the usual one.
    pub(crate) fn selected_agent(&self, root: TaskId) -> Option<AgentSpec> {
        self.roster.definition(root).map(|definition| (*definition).clone())
    }

    /// What has the session's own agent go on as another; says in words why it cannot.
    pub(crate) fn selection_input(&self, wanted: Option<&str>) -> Result<KernelInput, String> {
        let catalog = &self.settings.catalog;
        let Some(wanted) = wanted else { return Ok(KernelInput::SelectAgent { definition: None, model: None }) };
        let Some(agent) = catalog.agent(wanted).filter(|agent| agent.user_invocable) else {
            let names = catalog.agents.iter().filter(|agent| agent.user_invocable).map(|agent| agent.name.as_str());
            return Err(format!("there is no agent `{wanted}`; there are: {}", names.collect::<Vec<_>>().join(", ")));
        };
        if agent.isolation.is_some() {
            return Err(format!("`{wanted}` works in a checkout of its own; start it as a subagent"));
        }
        let model = definition::main_model(agent, &self.settings)?;
        Ok(KernelInput::SelectAgent { definition: Some(definition::definition_of(agent)?), model })
    }
}

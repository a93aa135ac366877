//! Selection of the root's agent: the one the session started with, or one selected since.

use kernel::KernelInput;
use protocol::{AgentSpec, Hinted, TaskId};

use crate::definition::{self, DefinitionError};
use crate::session_context::SessionContext;

/// Why an agent cannot become the root's agent.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AgentSelectionError {
    #[error("there is no agent `{wanted}`")]
    Unknown { wanted: String, known: String },
    #[error("`{0}` works in a checkout of its own")]
    OwnCheckout(String),
    #[error(transparent)]
    Definition(#[from] DefinitionError),
}

impl Hinted for AgentSelectionError {
    fn hint(&self) -> Option<String> {
        match self {
            AgentSelectionError::Unknown { known, .. } => Some(format!("available: {known}")),
            AgentSelectionError::OwnCheckout(_) => Some("start it as a subagent".into()),
            AgentSelectionError::Definition(error) => error.hint(),
        }
    }
}

impl SessionContext {
    /// The agent selected for the root, unless it is the default one.
    pub(crate) fn selected_agent(&self, root: TaskId) -> Option<AgentSpec> {
        self.log.roster.definition(root).map(|definition| (*definition).clone())
    }

    /// The input that makes another agent the root's agent.
    pub(crate) fn selection_input(&self, wanted: Option<&str>) -> Result<KernelInput, AgentSelectionError> {
        let catalog = &self.catalog.definitions;
        let Some(wanted) = wanted else { return Ok(KernelInput::SelectAgent { definition: None, model: None }) };
        let Some(agent) = catalog.agent(wanted).filter(|agent| agent.user_invocable) else {
            let names = catalog.agents.iter().filter(|agent| agent.user_invocable).map(|agent| agent.name.as_str());
            let known = names.collect::<Vec<_>>().join(", ");
            return Err(AgentSelectionError::Unknown { wanted: wanted.to_owned(), known });
        };
        if agent.isolation.is_some() {
            return Err(AgentSelectionError::OwnCheckout(wanted.to_owned()));
        }
        let model = definition::main_model(agent, &*self.catalog.models, &self.catalog.model_spec)?;
        Ok(KernelInput::SelectAgent { definition: Some(definition::definition_of(agent)?), model })
    }
}

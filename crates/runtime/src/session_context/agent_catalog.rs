//! The agents that a session can run, and what they are made of.

use std::collections::BTreeSet;
use std::sync::Arc;

use model::Model;
use protocol::AgentSpec;
use tools::{Tool, ToolCatalog};

use super::SessionSkills;
use super::joined_catalog::JoinedCatalog;
use crate::catalog::Catalog;
use crate::client_extensions::ClientExtensions;
use crate::instructions::Instructions;
use crate::models::{CostGuard, ModelResolveError, ModelResolver};
use crate::prepared_agent::PreparedAgents;
use crate::session_model::AddedModels;
use crate::settings::SessionSettings;
use crate::system_text::TransformedSections;

/// Definitions, models, tools and prompts.
#[derive(Debug)]
pub(crate) struct AgentCatalog {
    /// The available agents, skills, hooks and slash commands.
    pub(crate) definitions: Arc<Catalog>,
    /// The skills as they are now.
    pub(crate) skills: SessionSkills,
    /// The definition of the root's agent, if it is not the default one.
    pub(crate) main_agent: Option<AgentSpec>,
    /// The model that the session started with.
    pub(crate) model: Arc<dyn Model>,
    /// Its name, as `--model` takes it.
    pub(crate) model_spec: String,
    /// Further models that agents may use.
    pub(crate) models: Arc<dyn ModelResolver>,
    /// Models that were added while the session ran.
    pub(crate) added_models: AddedModels,
    /// The policy for agents whose model is much more expensive.
    pub(crate) cost_guard: CostGuard,
    /// Extensions from the program that drives the session.
    pub(crate) client_extensions: ClientExtensions,
    /// Tools of programs outside, such as those of MCP servers.
    pub(crate) tool_catalog: Option<Arc<dyn ToolCatalog>>,
    /// The user's instruction files.
    pub(crate) instructions: Instructions,
    pub(crate) prepared_agents: PreparedAgents,
    /// The sections of the root's system prompt that the program has rewritten.
    pub(crate) transformed_sections: TransformedSections,
    /// Tools that are not offered to every agent. A call to one of them that started under an earlier owner of the
    /// session continues even if this owner does not offer it.
    pub(crate) tools_for_started_calls: Vec<Arc<dyn Tool>>,
}

/// The tools that a run has from outside Bosun.
#[derive(Debug, Default)]
pub(crate) struct OutsideTools {
    /// Those of the programs that are connected to the session.
    pub(crate) of_programs: Vec<Arc<dyn Tool>>,
    /// Those that are found when a model searches for them.
    pub(crate) catalog: Option<Arc<dyn ToolCatalog>>,
}

impl AgentCatalog {
    pub(crate) fn new(settings: &SessionSettings, instructions: Instructions) -> AgentCatalog {
        AgentCatalog {
            definitions: Arc::clone(&settings.catalog),
            skills: SessionSkills::new(
                &settings.catalog.skills,
                &settings.disabled_skills,
                settings.skill_source.clone(),
            ),
            main_agent: settings.main_agent.clone(),
            model: Arc::clone(&settings.model),
            model_spec: settings.model_spec.clone(),
            models: Arc::clone(&settings.models),
            added_models: AddedModels::default(),
            cost_guard: settings.cost_guard,
            client_extensions: settings.client_extensions.clone(),
            tool_catalog: JoinedCatalog::join(&settings.client_extensions.catalog, &settings.tool_catalog),
            instructions,
            prepared_agents: PreparedAgents::default(),
            transformed_sections: TransformedSections::default(),
            tools_for_started_calls: tools_for_started_calls(),
        }
    }

    /// The catalogue of one run, whose agent uses this model.
    pub(crate) fn of_run(
        definitions: Catalog,
        instructions: Instructions,
        outside: OutsideTools,
        model_spec: &str,
        models: Arc<dyn ModelResolver>,
    ) -> Result<AgentCatalog, ModelResolveError> {
        Ok(AgentCatalog {
            skills: SessionSkills::new(&definitions.skills, &BTreeSet::new(), None),
            definitions: Arc::new(definitions),
            main_agent: None,
            model: models.open(model_spec)?,
            model_spec: model_spec.to_owned(),
            models,
            added_models: AddedModels::default(),
            cost_guard: CostGuard::default(),
            client_extensions: ClientExtensions { tools: outside.of_programs, ..ClientExtensions::default() },
            tool_catalog: outside.catalog,
            instructions,
            prepared_agents: PreparedAgents::default(),
            transformed_sections: TransformedSections::default(),
            tools_for_started_calls: tools_for_started_calls(),
        })
    }

    /// A model by its name.
    pub(crate) fn model_by_spec(&self, spec: &str) -> Result<Arc<dyn Model>, ModelResolveError> {
        if spec == self.model_spec {
            return Ok(Arc::clone(&self.model));
        }
        // A provider that a program adds precedes those of the settings, as one does that it brings from the start.
        if let Some((name, provider)) = self.client_extensions.joined_providers.of_model(spec) {
            return self.models.open_joined(spec, &name, provider);
        }
        self.added_models.get(spec).map_or_else(|| self.models.open(spec), Ok)
    }
}

/// Tools that are not offered to every agent.
fn tools_for_started_calls() -> Vec<Arc<dyn Tool>> {
    [tools::ask_user(), tools::task(&[])].into_iter().chain(tools::subagent_tools()).collect()
}

//! Agent and feature settings: merging layers and filling in defaults.

use crate::file::{AgentSettings, ExpensiveModelSetting, FeatureSettings};

/// How many times more expensive than the session's model an agent's model may be.
const COST_FACTOR: f64 = 4.0;

/// Recommended maximum length of all agent descriptions together, in characters.
const DESCRIPTION_LIMIT: usize = 15_000;

/// Where agents come from, and which models they get.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentConfig {
    /// The address of a remote catalogue, if there is one.
    pub catalog: Option<String>,
    /// The variable with the catalogue's access token.
    pub catalog_token_env: Option<String>,
    /// The model of agents that prefer a small one.
    pub small_model: Option<String>,
    /// The model of agents that prefer one of another family.
    pub other_model: Option<String>,
    /// How many times more expensive than the session's model an agent's model may be.
    pub cost_factor: f64,
    /// Policy for agents whose model is more expensive.
    pub expensive_model: ExpensiveModelSetting,
    /// Whether agents may use a model whose price is unknown.
    pub allow_unpriced: bool,
    /// Recommended maximum length of all agent descriptions together, in characters.
    pub description_limit: usize,
}

impl AgentSettings {
    /// The built-in defaults, for display.
    pub(crate) fn built_in() -> AgentSettings {
        AgentSettings {
            cost_factor: Some(COST_FACTOR),
            expensive_model: Some(ExpensiveModelSetting::default()),
            allow_unpriced: Some(false),
            description_limit: Some(DESCRIPTION_LIMIT),
            ..AgentSettings::default()
        }
    }

    pub(crate) fn over(self, weaker: AgentSettings) -> AgentSettings {
        AgentSettings {
            catalog: self.catalog.or(weaker.catalog),
            catalog_token_env: self.catalog_token_env.or(weaker.catalog_token_env),
            small_model: self.small_model.or(weaker.small_model),
            other_model: self.other_model.or(weaker.other_model),
            cost_factor: self.cost_factor.or(weaker.cost_factor),
            expensive_model: self.expensive_model.or(weaker.expensive_model),
            allow_unpriced: self.allow_unpriced.or(weaker.allow_unpriced),
            description_limit: self.description_limit.or(weaker.description_limit),
        }
    }

    pub(crate) fn resolve(self) -> AgentConfig {
        let AgentSettings { catalog, catalog_token_env, small_model, other_model, .. } = self;
        let AgentSettings { cost_factor, expensive_model, allow_unpriced, description_limit, .. } = self;
        AgentConfig {
            catalog,
            catalog_token_env,
            small_model,
            other_model,
            cost_factor: cost_factor.unwrap_or(COST_FACTOR),
            expensive_model: expensive_model.unwrap_or_default(),
            allow_unpriced: allow_unpriced.unwrap_or_default(),
            description_limit: description_limit.unwrap_or(DESCRIPTION_LIMIT),
        }
    }
}

impl FeatureSettings {
    pub(crate) fn over(self, weaker: FeatureSettings) -> FeatureSettings {
        FeatureSettings {
            multi_turn: self.multi_turn.or(weaker.multi_turn),
            mcp_tasks: self.mcp_tasks.or(weaker.mcp_tasks),
            subconscious: self.subconscious.or(weaker.subconscious),
            coordinator: self.coordinator.or(weaker.coordinator),
            proactive: self.proactive.or(weaker.proactive),
            parallelism_prompts: self.parallelism_prompts.or(weaker.parallelism_prompts),
            prompt_suggestions: self.prompt_suggestions.or(weaker.prompt_suggestions),
            session_titles: self.session_titles.or(weaker.session_titles),
        }
    }

    /// Keys of enabled features that this version does not support.
    pub(crate) fn enabled_but_unsupported(&self) -> Vec<&'static str> {
        let FeatureSettings {
            multi_turn: _,
            mcp_tasks: _,
            subconscious,
            coordinator,
            proactive,
            parallelism_prompts: _,
            prompt_suggestions: _,
            session_titles: _,
        } = self;
        let all = [
            (subconscious, "features.subconscious"),
            (coordinator, "features.coordinator"),
            (proactive, "features.proactive"),
        ];
        all.into_iter().filter(|(on, _)| **on == Some(true)).map(|(_, key)| key).collect()
    }
}

//! What a program decides about agent definitions while the session runs: their models and efforts, and which of them
//! are not started. It applies to agents that start later.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use protocol::{AgentSpec, ReasoningEffort};

/// What a program decides about agent definitions. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct AgentOverrides(Arc<Mutex<AgentOverrideSet>>);

/// What a program decides about one definition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentOverride {
    /// The model of agents for which no other is requested.
    pub model: Option<String>,
    /// The effort of agents for which no other is requested.
    pub effort: Option<ReasoningEffort>,
}

#[derive(Debug, Default)]
struct AgentOverrideSet {
    agents: BTreeMap<String, AgentOverride>,
    disabled: BTreeSet<String>,
    /// The number of changes.
    version: u64,
}

impl AgentOverrides {
    /// Replaces everything that was decided.
    pub fn replace(
        &self,
        agents: impl IntoIterator<Item = (String, AgentOverride)>,
        disabled: impl IntoIterator<Item = String>,
    ) {
        let mut set = self.lock();
        set.agents = agents.into_iter().map(|(name, agent)| (AgentSpec::normalize_name(&name), agent)).collect();
        set.disabled = disabled.into_iter().map(|name| AgentSpec::normalize_name(&name)).collect();
        set.version += 1;
    }

    /// What was decided about a definition.
    pub(crate) fn of(&self, agent: &str) -> AgentOverride {
        self.lock().agents.get(&AgentSpec::normalize_name(agent)).cloned().unwrap_or_default()
    }

    /// Whether no agent of this definition may be started by others.
    pub(crate) fn is_disabled(&self, agent: &str) -> bool {
        self.lock().disabled.contains(&AgentSpec::normalize_name(agent))
    }

    /// Differs after every change.
    pub(crate) fn version(&self) -> u64 {
        self.lock().version
    }

    fn lock(&self) -> MutexGuard<'_, AgentOverrideSet> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_replaces_the_one_before() {
        let overrides = AgentOverrides::default();
        let small = AgentOverride { model: Some("a/small".into()), effort: Some(ReasoningEffort::Low) };
        overrides.clone().replace([("Code Review".to_owned(), small.clone())], ["explore".to_owned()]);
        assert_eq!(overrides.of("code-review"), small);
        assert!(overrides.is_disabled("Explore") && !overrides.is_disabled("code-review"));
        let version = overrides.version();
        overrides.replace([], []);
        assert_eq!((overrides.of("code-review"), overrides.is_disabled("explore")), (AgentOverride::default(), false));
        assert_ne!(overrides.version(), version);
    }
}

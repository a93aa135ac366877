//! Agent definitions as a session stores them: by their digests, and with the models they request.

use data_encoding::HEXLOWER;
use kernel::AgentDefinition;
use protocol::{AgentSpec, DefinitionId, DefinitionSource, Hinted, ModelUse};
use sha2::{Digest, Sha256};

use crate::models::ModelResolver;

/// Why an agent cannot be started with its definition.
#[derive(Debug, thiserror::Error)]
pub enum DefinitionError {
    /// It needs something that Bosun does not support.
    #[error("`{agent}` cannot be started: {unsupported} (see {source_file})")]
    Unsupported {
        /// The agent.
        agent: String,
        /// What it needs.
        unsupported: String,
        /// Where it is defined.
        source_file: DefinitionSource,
    },
    /// It cannot be stored.
    #[error("cannot store `{agent}`: {source}")]
    Unstorable {
        /// The agent.
        agent: String,
        /// Why.
        source: serde_json::Error,
    },
    /// None of the models that it names can be used.
    #[error("no model that `{agent}` wants can be used ({problems})")]
    NoModel {
        /// The agent.
        agent: String,
        /// Each model, with the reason.
        problems: String,
    },
}

impl Hinted for DefinitionError {
    fn hint(&self) -> Option<String> {
        match self {
            DefinitionError::NoModel { .. } => Some("change its file, or name a model".into()),
            DefinitionError::Unsupported { .. } | DefinitionError::Unstorable { .. } => None,
        }
    }
}

/// The definition of an agent with its digest.
pub fn definition_of(agent: &AgentSpec) -> Result<AgentDefinition, DefinitionError> {
    let name = || agent.name.clone();
    if !agent.unsupported.is_empty() {
        let (unsupported, source_file) = (agent.unsupported.join("; "), agent.source.clone());
        return Err(DefinitionError::Unsupported { agent: name(), unsupported, source_file });
    }
    // Hooks may hold keys, and apply only while their source is trusted: they are not stored, and every run reads them.
    let stored = AgentSpec { hooks: Vec::new(), ..agent.clone() };
    let json = serde_json::to_vec(&stored).map_err(|source| DefinitionError::Unstorable { agent: name(), source })?;
    let digest = Sha256::digest(&json);
    let id = DefinitionId(HEXLOWER.encode(&digest[..16]));
    Ok(AgentDefinition { id, spec: Box::new(stored) })
}

/// The first usable model that the root's agent requests; `None` for the session's model.
pub(crate) fn main_model(
    main: &AgentSpec,
    models: &dyn ModelResolver,
    session_model: &str,
) -> Result<Option<ModelUse>, DefinitionError> {
    let mut problems = Vec::new();
    for wanted in &main.models {
        if wanted == "inherit" || wanted == session_model {
            return Ok(None);
        }
        match models.open(wanted) {
            Ok(_model) => {
                let requested = Some(wanted.clone());
                return Ok(Some(ModelUse { requested, effective: models.full_name(wanted), why: None }));
            }
            Err(why) => problems.push(format!("{wanted}: {why}")),
        }
    }
    if problems.is_empty() {
        return Ok(None);
    }
    Err(DefinitionError::NoModel { agent: main.name.clone(), problems: problems.join("; ") })
}

//! Agent definitions as a session stores them: by their digests, and with the models they request.

use data_encoding::HEXLOWER;
use kernel::AgentDefinition;
use protocol::{AgentSpec, DefinitionId, ModelUse};
use sha2::{Digest, Sha256};

use crate::models::ModelResolver;

/// The definition of an agent with its digest, or the reason why it cannot be used.
pub fn definition_of(agent: &AgentSpec) -> Result<AgentDefinition, String> {
    if !agent.unsupported.is_empty() {
        let unsupported = agent.unsupported.join("; ");
        return Err(format!("`{}` cannot be started: {unsupported} (see {})", agent.name, agent.source));
    }
    // Hooks may hold keys, and apply only while their source is trusted: they are not stored, and every run reads them.
    let stored = AgentSpec { hooks: Vec::new(), ..agent.clone() };
    let json = serde_json::to_vec(&stored).map_err(|error| format!("cannot store `{}`: {error}", agent.name))?;
    let digest = Sha256::digest(&json);
    let id = DefinitionId(HEXLOWER.encode(&digest[..16]));
    Ok(AgentDefinition { id, spec: Box::new(stored) })
}

/// The first usable model that the root's agent requests; `None` for the session's model.
pub(crate) fn main_model(
    main: &AgentSpec,
    models: &dyn ModelResolver,
    session_model: &str,
) -> Result<Option<ModelUse>, String> {
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
    let problems = problems.join("; ");
    Err(format!("no model that `{}` wants can be used ({problems}); change its file, or name a model", main.name))
}

//! Definitions as a session keeps them: under their digests, and with the models they want.

use kernel::AgentDefinition;
use protocol::{AgentSpec, DefinitionId, ModelUse};
use sha2::{Digest, Sha256};

use crate::settings::SessionSettings;

/// A definition under its digest; says in words why it cannot be used.
pub(crate) fn definition_of(agent: &AgentSpec) -> Result<AgentDefinition, String> {
    if !agent.unsupported.is_empty() {
        let wants = agent.unsupported.join("; ");
        return Err(format!("`{}` cannot be started: {wants} (see {})", agent.name, agent.source));
    }
    // Its hooks may hold keys, and count only while whoever wrote them is trusted: every run reads them anew.
    let kept = AgentSpec { hooks: Vec::new(), ..agent.clone() };
    let json = serde_json::to_vec(&kept).map_err(|error| format!("`{}` cannot be kept: {error}", agent.name))?;
    let digest = Sha256::digest(&json);
    let id = DefinitionId(digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect());
    Ok(AgentDefinition { id, spec: Box::new(kept) })
}

/// The model that the session's own agent wants, the first that can be had; the session's when it wants none.
pub(crate) fn main_model(main: &AgentSpec, settings: &SessionSettings) -> Result<Option<ModelUse>, String> {
    let mut problems = Vec::new();
    for wanted in &main.models {
        if wanted == "inherit" || *wanted == settings.model_spec {
            return Ok(None);
        }
        match settings.models.open(wanted) {
            Ok(_model) => {
                let requested = Some(wanted.clone());
                return Ok(Some(ModelUse { requested, effective: settings.models.full_name(wanted), why: None }));
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

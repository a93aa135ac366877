//! The agents and models available in a folder, whether or not a model is chosen.

use std::path::Path;
use std::sync::Arc;

use protocol::{ReasoningEffort, Refusal, SessionOptions};
use runtime::{Catalog, ModelResolver};

use super::{ConfiguredModelSet, SettingsSources, models};

/// The agents and models available in a folder.
#[derive(Debug)]
pub struct FolderAgents {
    /// The agents, skills and commands.
    pub catalog: Catalog,
    /// The models.
    pub models: Arc<dyn ModelResolver>,
    /// The model that a session would have.
    pub model: Option<String>,
    /// The model's reasoning effort.
    pub effort: Option<ReasoningEffort>,
}

impl SettingsSources<'_> {
    /// The agents and models that a session with these options would find in a folder (a canonical path).
    pub fn folder_agents(&self, options: &SessionOptions, cwd: &Path) -> Result<FolderAgents, Refusal> {
        let layers = self.layers(options, None, cwd)?;
        let mut config = layers.config();
        let access = config.access(self.env).map_err(Refusal::new)?;
        let _shown_when_a_session_starts = models::apply_default_model(&mut config, &access);
        let models = ConfiguredModelSet::new(&access.providers, cwd, &config.agents);
        let catalog = self.load_catalog(&layers, options)?.catalog(&models);
        let model = config.model.as_deref().map(|spec| access.providers.full_name(spec, cwd));
        Ok(FolderAgents { catalog, models: Arc::new(models), model, effort: config.effort })
    }
}

//! The providers and models of a folder.

use std::collections::BTreeMap;
use std::path::Path;

use client::StoreError;
use host::{Clock, Home, SystemClock};
use model::{ModelListing, Provider, ProviderKey};
use protocol::api::{ClosedModelView, ModelView, ModelsResult, ProviderView};
use protocol::{SessionOptions, Timestamp};

use super::probe::{ProbeResult, probe_local_servers};
use crate::assemble::SettingsSources;
use crate::methods::error::SettingsMethodError;
use crate::provider::ModelAccess;

impl SettingsSources<'_> {
    /// The providers and models of a folder. Servers on this machine are asked for theirs.
    pub async fn models(&self, cwd: &Path) -> Result<ModelsResult, SettingsMethodError> {
        let access = self.layers(&SessionOptions::default(), None, cwd)?.config().access(self.env)?;
        let closed = closed_models(self.home, SystemClock.now())?;
        Ok(ModelsResult { providers: provider_views(&access, &probe_local_servers(&access).await), closed })
    }
}

fn provider_views(access: &ModelAccess, probes: &BTreeMap<String, ProbeResult>) -> Vec<ProviderView> {
    let view = |(name, provider): (&String, &Provider)| ProviderView {
        name: name.clone(),
        base_url: provider.base_url.clone(),
        has_key: !matches!(provider.key, ProviderKey::Missing { .. }),
        models: model_views(provider, probes.get(name)),
    };
    access.providers.by_name.iter().map(view).collect()
}

/// The models that the server reported, then other known ones.
fn model_views(provider: &Provider, probe: Option<&ProbeResult>) -> Vec<ModelView> {
    let running = probe.map(ProbeResult::models).unwrap_or_default();
    let known = provider.models.keys().filter(|name| !running.contains(name));
    let views = running.iter().map(|name| (name, true)).chain(known.map(|name| (name, false)));
    let view = |(name, running): (&String, bool)| {
        let ModelListing { price, context_tokens, max_output_tokens } = provider.listing(name);
        ModelView { name: name.clone(), running, context_tokens, max_output_tokens, price }
    };
    views.map(view).collect()
}

/// The models that are closed now because their provider asked to wait.
pub fn closed_models(home: &Home, now: Timestamp) -> Result<Vec<ClosedModelView>, StoreError> {
    let closed = runtime::closed_models(home, now)?.into_iter();
    Ok(closed.map(|closed| ClosedModelView { model: without_account(&closed.key), until: closed.until }).collect())
}

/// The name as `--model` takes it, without the account between provider and model.
fn without_account(key: &str) -> String {
    let mut parts = key.splitn(3, '/');
    match (parts.next(), parts.next(), parts.next()) {
        (Some(provider), Some(_account), Some(model)) => format!("{provider}/{model}"),
        _ => key.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closed_models_are_named_without_account() {
        assert_eq!(without_account("openai/1a2b/gpt-x"), "openai/gpt-x");
        assert_eq!(without_account("box/none/org/model"), "box/org/model");
        assert_eq!(without_account("odd"), "odd");
    }
}

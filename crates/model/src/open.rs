//! Opens the model that a `--model` argument names.

use std::path::Path;
use std::sync::Arc;

use crate::wire::RemoteModel;
use crate::{
    LenientModel, Model, ModelTier, ProviderKey, Providers, RecordingError, ReplayModel, ScriptError, ScriptModel,
};

/// Why a model cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenModelError {
    /// No provider has this name, nor a model with this short name.
    #[error("unknown model or provider `{provider}`; use {known}")]
    Provider {
        /// The requested provider, or the whole name if it names none.
        provider: String,
        /// The forms of the names that exist.
        known: String,
    },
    /// The provider needs a file.
    #[error("`{provider}` needs a file; write {provider}/FILE")]
    NoFile {
        /// The provider.
        provider: &'static str,
    },
    /// The provider needs a model.
    #[error("`{provider}` has many models; write {provider}/MODEL")]
    NoModel {
        /// The provider.
        provider: String,
    },
    /// The provider needs a key.
    #[error("{provider} needs a key; put it in the environment variable {variable}")]
    NoKey {
        /// The provider.
        provider: String,
        /// The variable for the key.
        variable: String,
    },
    /// The script cannot be used.
    #[error(transparent)]
    Script(#[from] ScriptError),
    /// The recording cannot be used.
    #[error(transparent)]
    Recording(#[from] RecordingError),
}

/// Opens `provider/MODEL` (the model's name may contain slashes), a short name of such a model, or `script/FILE` or
/// `replay/FILE`, where a relative path starts at `base`.
pub fn open(spec: &str, base: &Path, providers: &Providers) -> Result<Arc<dyn Model>, OpenModelError> {
    let spec = providers.full_name(spec, base);
    let (provider, name) = spec.split_once('/').unwrap_or((&spec, ""));
    let path = base.join(name);
    match provider {
        "script" if name.is_empty() => Err(OpenModelError::NoFile { provider: "script" }),
        "replay" if name.is_empty() => Err(OpenModelError::NoFile { provider: "replay" }),
        "script" => Ok(Arc::new(ScriptModel::load(&path)?)),
        "replay" => Ok(Arc::new(ReplayModel::load(&path)?)),
        provider => {
            let model = Arc::new(
                open_remote(provider, name, providers).map_err(|error| prefer_missing_key(error, &spec, providers))?,
            );
            Ok(match model.facts().tier {
                ModelTier::Capable => model,
                ModelTier::Small => Arc::new(LenientModel::new(model)),
            })
        }
    }
}

fn open_remote(provider: &str, model: &str, providers: &Providers) -> Result<RemoteModel, OpenModelError> {
    let Some(config) = providers.by_name.get(provider) else {
        return Err(OpenModelError::Provider { provider: provider.into(), known: known_providers(providers) });
    };
    if model.is_empty() {
        return Err(OpenModelError::NoModel { provider: provider.into() });
    }
    if let ProviderKey::Missing { variable } = &config.key {
        return Err(OpenModelError::NoKey { provider: provider.into(), variable: variable.clone() });
    }
    let client = match &providers.carrier {
        Some(carrier) => net::HttpClient::carried(Arc::clone(carrier), providers.timeouts),
        None => net::HttpClient::new(providers.route.clone(), providers.timeouts),
    };
    Ok(RemoteModel::new(provider, model, config.clone(), client).with_turn_headers(providers.turn_headers.clone()))
}

/// Reports the missing key for a short name of a model whose provider has no key, instead of an unknown provider.
fn prefer_missing_key(error: OpenModelError, spec: &str, providers: &Providers) -> OpenModelError {
    match (&error, providers.missing_key(spec)) {
        (OpenModelError::Provider { .. }, Some((provider, variable))) => OpenModelError::NoKey { provider, variable },
        (_other, _) => error,
    }
}

fn known_providers(providers: &Providers) -> String {
    let names = providers.by_name.keys().map(|name| format!("{name}/MODEL, "));
    names.chain(["script/FILE or replay/FILE".into()]).collect()
}

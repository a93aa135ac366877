//! Opens the model that a `--model` argument names.

use std::path::Path;
use std::sync::Arc;

use crate::wire::Remote;
use crate::{Key, Lenient, Model, Providers, RecordingError, Replay, Script, ScriptError, Skill};

/// Why a model cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The provider is none of ours.
    #[error("unknown model provider `{provider}`; known are {known}")]
    Provider {
        /// What was asked for.
        provider: String,
        /// What could have been.
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
        /// Where the key should be.
        variable: String,
    },
    /// The script cannot be used.
    #[error(transparent)]
    Script(#[from] ScriptError),
    /// The recording cannot be used.
    #[error(transparent)]
    Recording(#[from] RecordingError),
}

/// Whether what follows the provider is the name of a file.
pub fn is_file(provider: &str) -> bool {
    matches!(provider, "script" | "replay")
}

/// Opens `provider/MODEL`, where the model's name may hold slashes of its own, a short name of such a model, or
/// `script/FILE` or `replay/FILE`, where a relative file is looked for in `base`.
pub fn open(spec: &str, base: &Path, providers: &Providers) -> Result<Arc<dyn Model>, OpenError> {
    let spec = providers.in_full(spec, base);
    let (provider, name) = spec.split_once('/').unwrap_or((&spec, ""));
    let path = base.join(name);
    match provider {
        "script" if name.is_empty() => Err(OpenError::NoFile { provider: "script" }),
        "replay" if name.is_empty() => Err(OpenError::NoFile { provider: "replay" }),
        "script" => Ok(Arc::new(Script::load(&path)?)),
        "replay" => Ok(Arc::new(Replay::load(&path)?)),
        provider => {
            let model = Arc::new(remote(provider, name, providers).map_err(|error| only_key(error, &spec, providers))?);
            Ok(match model.facts().skill {
                Skill::Able => model,
                Skill::Small => Arc::new(Lenient::new(model)),
            })
        }
    }
}

fn remote(provider: &str, model: &str, providers: &Providers) -> Result<Remote, OpenError> {
    let Some(at) = providers.places.get(provider) else {
        return Err(OpenError::Provider { provider: provider.into(), known: known(providers) });
    };
    if model.is_empty() {
        return Err(OpenError::NoModel { provider: provider.into() });
    }
    if let Key::Missing { variable } = &at.key {
        return Err(OpenError::NoKey { provider: provider.into(), variable: variable.clone() });
    }
    let client = net::Client::new(providers.route.clone(), providers.patience);
    Ok(Remote::new(provider, model, at.clone(), client))
}

/// A short name of a model whose provider has no key is no unknown provider.
fn only_key(error: OpenError, spec: &str, providers: &Providers) -> OpenError {
    match (&error, providers.lacks_key(spec)) {
        (OpenError::Provider { .. }, Some((provider, variable))) => OpenError::NoKey { provider, variable },
        (_other, _) => error,
    }
}

fn known(providers: &Providers) -> String {
    let places = providers.places.keys().map(|name| format!("{name}/MODEL, "));
    places.chain(["script/FILE and replay/FILE".into()]).collect()
}

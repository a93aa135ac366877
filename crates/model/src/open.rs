//! Opens the model that a `--model` argument names.

use std::path::Path;
use std::sync::Arc;

use crate::{Model, Providers, RecordingError, Replay, Script, ScriptError};

/// Why a model cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The provider is none of ours.
    #[error("unknown model provider `{provider}`; known are script/FILE and replay/FILE")]
    Provider {
        /// What was asked for.
        provider: String,
    },
    /// The provider needs a file.
    #[error("`{provider}` needs a file; write {provider}/FILE")]
    NoFile {
        /// The provider.
        provider: &'static str,
    },
    /// The script cannot be used.
    #[error(transparent)]
    Script(#[from] ScriptError),
    /// The recording cannot be used.
    #[error(transparent)]
    Recording(#[from] RecordingError),
}

/// Opens `provider/FILE`; a relative file is looked for in `base`.
pub fn open(spec: &str, base: &Path, _providers: &Providers) -> Result<Arc<dyn Model>, OpenError> {
    let (provider, file) = spec.split_once('/').unwrap_or((spec, ""));
    let path = base.join(file);
    match provider {
        "script" if file.is_empty() => Err(OpenError::NoFile { provider: "script" }),
        "replay" if file.is_empty() => Err(OpenError::NoFile { provider: "replay" }),
        "script" => Ok(Arc::new(Script::load(&path)?)),
        "replay" => Ok(Arc::new(Replay::load(&path)?)),
        other => Err(OpenError::Provider { provider: other.into() }),
    }
}

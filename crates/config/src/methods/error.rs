//! Why a method on settings was not carried out.

use std::io;

use host::HomeError;
use protocol::api::RefusalKind;
use protocol::{Hinted, Refusal};
use rpc::ErrorObject;

use crate::read::ConfigError;
use crate::trust::TrustError;

/// Why a method on settings was not carried out. Texts may quote untrusted input.
#[derive(Debug, thiserror::Error)]
pub enum SettingsMethodError {
    /// The request, or a file that it depends on, cannot be used.
    #[error("{}", .0.message)]
    Refused(#[from] Refusal),
    /// A settings file cannot be used.
    #[error(transparent)]
    Settings(#[from] ConfigError),
    /// The files of a project cannot be read.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// Bosun's home cannot be used.
    #[error(transparent)]
    Home(#[from] HomeError),
    /// A file of Bosun's home cannot be used.
    #[error(transparent)]
    Store(#[from] client::StoreError),
    /// A session does not answer.
    #[error(transparent)]
    Client(#[from] client::ClientError),
    /// A checkout cannot be moved.
    #[error(transparent)]
    Checkout(#[from] git::GitError),
    /// A folder cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Hinted for SettingsMethodError {
    fn hint(&self) -> Option<String> {
        match self {
            SettingsMethodError::Refused(refusal) => refusal.hint.clone(),
            SettingsMethodError::Settings(_)
            | SettingsMethodError::Trust(_)
            | SettingsMethodError::Home(_)
            | SettingsMethodError::Store(_)
            | SettingsMethodError::Client(_)
            | SettingsMethodError::Checkout(_)
            | SettingsMethodError::Io(_) => None,
        }
    }
}

impl From<SettingsMethodError> for ErrorObject {
    fn from(error: SettingsMethodError) -> ErrorObject {
        ErrorObject::refused_for(RefusalKind::Invalid, &error)
    }
}

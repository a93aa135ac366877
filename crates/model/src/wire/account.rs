//! Short digests: of a key, to tell accounts apart without showing it, and of whatever else needs a short stand-in.

use sha2::{Digest, Sha256};

use crate::ProviderKey;

/// Eight characters that stand for `text`.
pub(super) fn digest(text: &str) -> String {
    Sha256::digest(text).iter().take(4).map(|byte| format!("{byte:02x}")).collect()
}

/// What tells an account from others.
pub(super) fn account(key: &ProviderKey) -> String {
    match key {
        ProviderKey::Present(secret) => digest(secret.reveal()),
        ProviderKey::NotNeeded | ProviderKey::Missing { .. } => "open".into(),
    }
}

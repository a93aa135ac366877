//! Short digests: of a key, to distinguish accounts without showing it, and of other texts that need a short form.

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

use crate::ProviderKey;

/// An eight-character digest of `text`.
pub(super) fn digest(text: &str) -> String {
    HEXLOWER.encode(&Sha256::digest(text)[..4])
}

/// An identifier of the account.
pub(super) fn account(key: &ProviderKey) -> String {
    match key {
        ProviderKey::Present(secret) => digest(secret.reveal()),
        ProviderKey::NotNeeded | ProviderKey::Missing { .. } => "open".into(),
    }
}

//! Short digests: of a key, to distinguish accounts without showing it, and of other texts that need a short form.

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

use crate::ProviderKey;

/// An eight-character digest of `text`.
pub(super) fn short_digest(text: &str) -> String {
    HEXLOWER.encode(&Sha256::digest(text)[..4])
}

/// An identifier of the account.
pub(super) fn account_id(key: &ProviderKey) -> String {
    match key {
        ProviderKey::Present(secret) => short_digest(secret.reveal()),
        ProviderKey::NotNeeded | ProviderKey::Missing { .. } => "open".into(),
    }
}

//! The projects that the user trusts.

use host::Home;
use store::{StoreError, TrustRow, TrustStore};

/// The digest that a project was trusted with, if it was.
pub fn digest(home: &Home, top: &str) -> Result<Option<String>, StoreError> {
    TrustStore::open(home)?.digest(top)
}

/// Trusts a project with the current content of its control files.
pub fn add(home: &Home, row: &TrustRow) -> Result<(), StoreError> {
    TrustStore::open(home)?.add(row)
}

/// Stops trusting a project; returns whether it was trusted.
pub fn remove(home: &Home, top: &str) -> Result<bool, StoreError> {
    TrustStore::open(home)?.remove(top)
}

/// All trusted projects, by name.
pub fn list(home: &Home) -> Result<Vec<TrustRow>, StoreError> {
    TrustStore::open(home)?.list()
}

//! The results of earlier fleets that later ones may reuse.

use host::Home;
use protocol::Timestamp;
use store::{FleetResultStore, StoreError};

/// How many results no fleet has used since a time.
pub fn count_unused_since(home: &Home, then: Timestamp) -> Result<usize, StoreError> {
    FleetResultStore::count_unused_since(home, then)
}

/// Removes the results that no fleet has used since a time; returns how many.
pub fn remove_unused_since(home: &Home, then: Timestamp) -> Result<usize, StoreError> {
    FleetResultStore::remove_unused_since(home, then)
}

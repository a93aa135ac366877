//! Where results are kept: in the store, or in memory where only decisions are tried.

use protocol::{Timestamp, TodoId};
use store::{FleetResultRow, FleetResultStore, StoreError};

/// Where results are kept.
pub trait ResultBackend {
    /// What was done with exactly this.
    fn get(&self, key: &str) -> Result<Option<FleetResultRow>, StoreError>;
    /// Whether a todo of this name was ever done.
    fn has_todo(&self, todo: &TodoId) -> Result<bool, StoreError>;
    /// Keeps what a todo brought.
    fn put(&mut self, row: &FleetResultRow, at: Timestamp) -> Result<(), StoreError>;
    /// Says how the files of these keys were in the end.
    fn set_after(&mut self, states: &[(String, String)], at: Timestamp) -> Result<(), StoreError>;
    /// Forgets a result.
    fn remove(&mut self, key: &str) -> Result<(), StoreError>;
}

impl ResultBackend for FleetResultStore {
    fn get(&self, key: &str) -> Result<Option<FleetResultRow>, StoreError> {
        FleetResultStore::get(self, key)
    }

    fn has_todo(&self, todo: &TodoId) -> Result<bool, StoreError> {
        FleetResultStore::has_todo(self, todo)
    }

    fn put(&mut self, row: &FleetResultRow, at: Timestamp) -> Result<(), StoreError> {
        FleetResultStore::put(self, row, at)
    }

    fn set_after(&mut self, states: &[(String, String)], at: Timestamp) -> Result<(), StoreError> {
        FleetResultStore::set_after(self, states, at)
    }

    fn remove(&mut self, key: &str) -> Result<(), StoreError> {
        FleetResultStore::remove(self, key)
    }
}

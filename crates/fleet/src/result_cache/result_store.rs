//! Storage of results: in the store, or in memory for tests.

use protocol::{Timestamp, TodoId};
use store::{FleetResultRow, FleetResultStore, StoreError};

/// Storage of results.
pub trait ResultBackend {
    /// The result with this cache key.
    fn get(&self, key: &str) -> Result<Option<FleetResultRow>, StoreError>;
    /// Whether there is a result of a todo with this id, under any cache key.
    fn has_todo(&self, todo: &TodoId) -> Result<bool, StoreError>;
    /// Stores the result of a todo.
    fn put(&mut self, row: &FleetResultRow, at: Timestamp) -> Result<(), StoreError>;
    /// Records the hashes of todos' files at the end of a fleet, as pairs of a cache key and the hashes.
    fn set_files_after(&mut self, hashes: &[(String, String)], at: Timestamp) -> Result<(), StoreError>;
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

    fn set_files_after(&mut self, hashes: &[(String, String)], at: Timestamp) -> Result<(), StoreError> {
        FleetResultStore::set_files_after(self, hashes, at)
    }

    fn remove(&mut self, key: &str) -> Result<(), StoreError> {
        FleetResultStore::remove(self, key)
    }
}

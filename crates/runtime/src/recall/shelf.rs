//! Where results are kept: in the store, or in memory where only decisions are tried.

use protocol::{At, TodoId};
use store::{ResultRow, Results, StoreError};

/// Where results are kept.
pub trait Shelf {
    /// What was done with exactly this.
    fn get(&self, key: &str) -> Result<Option<ResultRow>, StoreError>;
    /// Whether a todo of this name was ever done.
    fn knows(&self, todo: &TodoId) -> Result<bool, StoreError>;
    /// Keeps what a todo brought.
    fn put(&mut self, row: &ResultRow, at: At) -> Result<(), StoreError>;
    /// Says how the files of these keys were in the end.
    fn set_after(&mut self, states: &[(String, String)], at: At) -> Result<(), StoreError>;
    /// Forgets a result.
    fn remove(&mut self, key: &str) -> Result<(), StoreError>;
}

impl Shelf for Results {
    fn get(&self, key: &str) -> Result<Option<ResultRow>, StoreError> {
        Results::get(self, key)
    }

    fn knows(&self, todo: &TodoId) -> Result<bool, StoreError> {
        Results::knows(self, todo)
    }

    fn put(&mut self, row: &ResultRow, at: At) -> Result<(), StoreError> {
        Results::put(self, row, at)
    }

    fn set_after(&mut self, states: &[(String, String)], at: At) -> Result<(), StoreError> {
        Results::set_after(self, states, at)
    }

    fn remove(&mut self, key: &str) -> Result<(), StoreError> {
        Results::remove(self, key)
    }
}

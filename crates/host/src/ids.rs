//! The source of ids. Everything that creates ids gets a source, so that tests can fix them.

use std::fmt;

use uuid::Uuid;

/// Creates unique ids.
pub trait Ids: Send + Sync + fmt::Debug {
    /// A fresh UUID.
    fn uuid(&self) -> Uuid;
}

/// UUIDs of version 7: later ones of this process sort after earlier ones.
#[derive(Debug, Clone, Copy, Default)]
pub struct TimeIds;

impl Ids for TimeIds {
    fn uuid(&self) -> Uuid {
        Uuid::now_v7()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_sort_in_order_of_creation() {
        let made: Vec<Uuid> = (0..1000).map(|_| TimeIds.uuid()).collect();
        assert!(made.is_sorted_by(|a, b| a < b));
    }
}

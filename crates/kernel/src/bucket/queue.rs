//! The processes that have requests in progress, and the queue of those that wait to start one.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A process that has requests in progress or waits to start one. Its name is never reused.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PermitHolder(pub String);

/// How many requests each holder has in progress, and the order in which holders wait.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PermitQueue {
    /// Requests in progress.
    held: BTreeMap<PermitHolder, u32>,
    waiting: Vec<PermitHolder>,
}

impl PermitQueue {
    pub(super) fn requests_in_progress(&self) -> u32 {
        self.held.values().fold(0, |sum, held| sum.saturating_add(*held))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.held.is_empty() && self.waiting.is_empty()
    }

    pub(super) fn holders(&self) -> impl Iterator<Item = &PermitHolder> {
        self.held.keys().chain(self.waiting.iter().filter(|holder| !self.held.contains_key(*holder)))
    }

    pub(super) fn add_request(&mut self, holder: &PermitHolder) {
        let held = self.held.entry(holder.clone()).or_default();
        *held = held.saturating_add(1);
    }

    pub(super) fn remove_request(&mut self, holder: &PermitHolder) {
        if let Some(held) = self.held.get_mut(holder) {
            *held = held.saturating_sub(1);
            if *held == 0 {
                self.held.remove(holder);
            }
        }
    }

    /// How many holders wait before this one.
    pub(super) fn position(&self, holder: &PermitHolder) -> usize {
        self.waiting.iter().position(|waiting| waiting == holder).unwrap_or(self.waiting.len())
    }

    pub(super) fn is_waiting(&self, holder: &PermitHolder) -> bool {
        self.waiting.contains(holder)
    }

    pub(super) fn join(&mut self, holder: &PermitHolder) {
        if !self.is_waiting(holder) {
            self.waiting.push(holder.clone());
        }
    }

    pub(super) fn leave(&mut self, holder: &PermitHolder) {
        self.waiting.retain(|waiting| waiting != holder);
    }

    /// Removes the holders before `place` from the queue, because they missed their turn.
    pub(super) fn remove_before(&mut self, place: usize) {
        self.waiting.drain(..place.min(self.waiting.len()));
    }

    pub(super) fn forget(&mut self, holder: &PermitHolder) {
        self.held.remove(holder);
        self.leave(holder);
    }
}

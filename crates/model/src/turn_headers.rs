//! Headers that the program that drives a session adds to the requests of some turns.

use std::sync::{Arc, Mutex, PoisonError};

use net::Secret;

/// The headers to add to requests from now on. Their values may be keys.
#[derive(Debug, Clone, Default)]
pub struct TurnHeaders(Arc<Mutex<Vec<(String, Secret)>>>);

impl TurnHeaders {
    /// Replaces the headers.
    pub fn replace(&self, headers: Vec<(String, Secret)>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = headers;
    }

    /// The headers of a request that is sent now.
    pub fn current(&self) -> Vec<(String, Secret)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

//! A reader of the session's file that stays open: opening one takes longer than most queries.

use std::sync::{Mutex, PoisonError};

use host::Home;
use protocol::SessionId;
use store::{SessionReader, StoreError};

/// A reader that is opened by the first query.
#[derive(Debug)]
pub(crate) struct KeptReader {
    home: Home,
    session: SessionId,
    reader: Mutex<Option<SessionReader>>,
}

impl KeptReader {
    pub(crate) fn new(home: Home, session: SessionId) -> KeptReader {
        KeptReader { home, session, reader: Mutex::default() }
    }

    pub(crate) fn query<T>(
        &self,
        query: impl FnOnce(&SessionReader) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut kept = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        let reader = match kept.take() {
            Some(reader) => reader,
            None => SessionReader::open(&self.home, self.session)?,
        };
        // A reader that failed is dropped.
        let result = query(&reader)?;
        *kept = Some(reader);
        Ok(result)
    }
}

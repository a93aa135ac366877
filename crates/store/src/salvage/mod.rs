//! Recovers events from a session's file that SQLite can no longer open or read. It searches the pages themselves,
//! including those of the write-ahead log, without using the schema or the tree above them.

mod cell;
mod pages;
mod views;

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use host::Home;
use protocol::{Envelope, SessionId};

use self::cell::{EventCell, cells_of_leaf, search_cells};
use self::pages::DatabasePages;
use crate::{StoreError, event, log_digest};

/// The recovered part of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SalvagedLog {
    /// The events, in order.
    pub events: Vec<Envelope>,
    /// The numbers of committed events that were not found.
    pub missing: Vec<RangeInclusive<u64>>,
}

/// The number of the last event that was committed to a session, if known.
pub fn last_committed(home: &Home, id: SessionId) -> Option<u64> {
    log_digest::committed_seq(&home.session_db(id))
}

/// Searches a session's damaged file for events. Nothing is written.
pub fn salvage(home: &Home, id: SessionId) -> Result<SalvagedLog, StoreError> {
    let path = home.session_db(id);
    let pages = DatabasePages::read(&path)?;
    let mut events: BTreeMap<u64, Envelope> = BTreeMap::new();
    // First read the cells that a page's index lists. An event never changes, so any copy of it will do.
    for number in pages.numbers() {
        cells_of_leaf(&pages, number).into_iter().for_each(|cell| add_event(&mut events, id, cell));
    }
    for number in pages.numbers().filter(|number| !pages.has_valid_header(*number)) {
        search_cells(&pages, number).into_iter().for_each(|cell| add_event(&mut events, id, cell));
    }
    let last = events.keys().last().copied().unwrap_or(0).max(log_digest::committed_seq(&path).unwrap_or(0));
    let missing = gaps(events.keys().copied(), last);
    Ok(SalvagedLog { events: events.into_values().collect(), missing })
}

fn add_event(events: &mut BTreeMap<u64, Envelope>, id: SessionId, cell: EventCell) {
    let EventCell { seq, v, at, task, body } = cell;
    if let Ok(envelope) = event::envelope_of(id, seq, v, at, &task, body) {
        events.entry(seq).or_insert(envelope);
    }
}

/// The missing numbers between 1 and `last`.
fn gaps(found: impl Iterator<Item = u64>, last: u64) -> Vec<RangeInclusive<u64>> {
    let (mut gaps, mut next) = (Vec::new(), 1);
    for seq in found {
        if seq > next {
            gaps.push(next..=seq - 1);
        }
        next = seq + 1;
    }
    if next <= last {
        gaps.push(next..=last);
    }
    gaps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_found_at_the_beginning_in_the_middle_and_at_the_end() {
        assert_eq!(gaps([1, 2, 3].into_iter(), 3), []);
        assert_eq!(gaps([3, 4, 7].into_iter(), 9), [1..=2, 5..=6, 8..=9]);
        assert_eq!(gaps(std::iter::empty(), 2), [1..=2]);
    }
}

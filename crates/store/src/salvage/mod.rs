//! What can still be read of a session's file that SQLite does not open or read any more. Events are looked for in the
//! pages themselves, in those that the write-ahead log holds too, without asking the schema or the tree above them.

mod cell;
mod pages;
mod views;

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use host::Home;
use protocol::{Envelope, SessionId};

use self::cell::{EventCell, cells_anywhere, cells_of_leaf};
use self::pages::DatabasePages;
use crate::{StoreError, event, log_digest};

/// What was found of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SalvagedLog {
    /// The events, in order.
    pub events: Vec<Envelope>,
    /// The numbers of those that were committed and not found.
    pub missing: Vec<RangeInclusive<u64>>,
}

/// The number of the last event that was committed to a session, if that is known: what is read afterwards should have
/// it.
pub fn last_committed(home: &Home, id: SessionId) -> Option<u64> {
    log_digest::committed_seq(&home.session_db(id))
}

/// Looks for the events of a session in its damaged file. Nothing is written.
pub fn salvage(home: &Home, id: SessionId) -> Result<SalvagedLog, StoreError> {
    let path = home.session_db(id);
    let pages = DatabasePages::read(&path)?;
    let mut found: BTreeMap<u64, Envelope> = BTreeMap::new();
    // What stands where a page says that its cells are comes first; an event never changes, so that any copy is it.
    for number in pages.numbers() {
        cells_of_leaf(&pages, number).into_iter().for_each(|cell| keep(&mut found, id, cell));
    }
    for number in pages.numbers().filter(|number| !pages.is_in_order(*number)) {
        cells_anywhere(&pages, number).into_iter().for_each(|cell| keep(&mut found, id, cell));
    }
    let last = found.keys().last().copied().unwrap_or(0).max(log_digest::committed_seq(&path).unwrap_or(0));
    let missing = gaps(found.keys().copied(), last);
    Ok(SalvagedLog { events: found.into_values().collect(), missing })
}

fn keep(found: &mut BTreeMap<u64, Envelope>, id: SessionId, cell: EventCell) {
    let EventCell { seq, v, at, task, body } = cell;
    if let Ok(envelope) = event::envelope_of(id, seq, v, at, &task, body) {
        found.entry(seq).or_insert(envelope);
    }
}

/// What is missing between 1 and `last`.
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
    fn gaps_are_named_at_the_beginning_in_the_middle_and_at_the_end() {
        assert_eq!(gaps([1, 2, 3].into_iter(), 3), []);
        assert_eq!(gaps([3, 4, 7].into_iter(), 9), [1..=2, 5..=6, 8..=9]);
        assert_eq!(gaps(std::iter::empty(), 2), [1..=2]);
    }
}

//! Deaths on order, for tests of durability: `BOSUN_FAULT=before-commit:7` kills the process with SIGKILL before
//! the commit that holds event 7, `after-commit:7` after it and before anybody knows; `fail-commit:7` makes that
//! commit fail as a full disk would, and `panic-commit:7` makes its writer panic. `before-commit:taskCreated:2` and its
//! like mean the second commit that holds an event of this kind. `panic-at:7` panics where event 7 is shown, which
//! nothing contains.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use protocol::Entry;
use runtime::Live;
use store::{NoProbe, Point, Probe};

use crate::failure::Failure;

/// The probe that the variable asks for.
pub(crate) fn probe(fault: Option<&str>) -> Result<Arc<dyn Probe>, Failure> {
    match fault.map(Fault::parse).transpose()? {
        Some(fault) => Ok(Arc::new(fault)),
        None => Ok(Arc::new(NoProbe)),
    }
}

/// Panics if the variable asks for that at this event.
pub(crate) fn shown(fault: Option<&str>, live: &Live) {
    let Some(Ok(Fault { deed: Deed::PanicAt, place: Place::Event(seq) })) = fault.map(Fault::parse) else { return };
    match live {
        Live::Event(envelope) if envelope.seq >= seq => panic_on_order(),
        Live::Event(_) | Live::Text { .. } => {}
    }
}

#[derive(Debug)]
struct Fault {
    deed: Deed,
    place: Place,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Deed {
    DieBefore,
    DieAfter,
    Fail,
    PanicCommit,
    PanicAt,
}

/// Which commit it is about.
#[derive(Debug)]
enum Place {
    /// The one that holds this event, and all later ones.
    Event(u64),
    /// The one that holds the kind for the nth time, and all later ones.
    Kind(Kind),
}

#[derive(Debug)]
struct Kind {
    name: String,
    nth: u32,
    /// Whether the commit under way holds it.
    held: AtomicBool,
    /// How many commits held it.
    commits: AtomicU32,
}

impl Fault {
    fn parse(text: &str) -> Result<Fault, Failure> {
        let unknown = || Failure::usage(format!("{}=`{text}` is neither WHERE:EVENT nor WHERE:KIND:N", config::FAULT));
        let mut words = text.split(':');
        let deed = match words.next() {
            Some("before-commit") => Deed::DieBefore,
            Some("after-commit") => Deed::DieAfter,
            Some("fail-commit") => Deed::Fail,
            Some("panic-commit") => Deed::PanicCommit,
            Some("panic-at") => Deed::PanicAt,
            Some(_) | None => return Err(unknown()),
        };
        let place = match (words.next(), words.next(), words.next()) {
            (Some(seq), None, None) => Place::Event(seq.parse().map_err(|_not_a_number| unknown())?),
            (Some(name), Some(nth), None) if deed != Deed::PanicAt => {
                let nth = nth.parse().map_err(|_not_a_number| unknown())?;
                Place::Kind(Kind { name: name.into(), nth, held: AtomicBool::new(false), commits: AtomicU32::new(0) })
            }
            _other => return Err(unknown()),
        };
        Ok(Fault { deed, place })
    }
}

impl Probe for Fault {
    fn at(&self, point: Point) -> Result<(), io::Error> {
        let due = self.place.is_reached(point);
        match (self.deed, point) {
            (Deed::DieBefore, Point::BeforeCommit { .. }) if due => host::machine::kill_self(),
            (Deed::DieAfter, Point::AfterCommit { .. }) if due => host::machine::kill_self(),
            (Deed::Fail, Point::BeforeCommit { .. }) if due => Err(io::Error::from(io::ErrorKind::StorageFull)),
            (Deed::PanicCommit, Point::BeforeCommit { .. }) if due => panic_on_order(),
            (
                Deed::DieBefore | Deed::DieAfter | Deed::Fail | Deed::PanicCommit | Deed::PanicAt,
                Point::BeforeCommit { .. } | Point::AfterCommit { .. },
            ) => Ok(()),
        }
    }

    fn holds(&self, entry: &Entry) {
        match &self.place {
            Place::Kind(kind) if is_of(entry, &kind.name) => kind.held.store(true, Ordering::Relaxed),
            Place::Kind(_) | Place::Event(_) => {}
        }
    }
}

impl Place {
    /// Whether the commit at this point is one that it is about.
    fn is_reached(&self, point: Point) -> bool {
        match (self, point) {
            (Place::Event(seq), Point::BeforeCommit { last_seq } | Point::AfterCommit { last_seq }) => last_seq >= *seq,
            (Place::Kind(kind), Point::BeforeCommit { .. }) => {
                let held = u32::from(kind.held.swap(false, Ordering::Relaxed));
                kind.commits.fetch_add(held, Ordering::Relaxed) + held >= kind.nth
            }
            (Place::Kind(kind), Point::AfterCommit { .. }) => kind.commits.load(Ordering::Relaxed) >= kind.nth,
        }
    }
}

/// Whether an event is of the kind that its `type` on disk names.
fn is_of(entry: &Entry, kind: &str) -> bool {
    serde_json::to_value(&entry.event).is_ok_and(|event| event["type"] == kind)
}

#[expect(clippy::panic, reason = "this is what was ordered")]
fn panic_on_order() -> ! {
    panic!("a panic on order")
}

#[cfg(test)]
mod tests {
    use protocol::{At, Event, TaskId};

    use super::*;

    /// Whether each of these commits fails.
    fn failing(fault: &str, commits: &[&[Event]]) -> Vec<bool> {
        let fault = Fault::parse(fault).unwrap();
        let task = TaskId::new(uuid::Uuid::nil());
        let commit = |events: &&[Event]| {
            events.iter().for_each(|event| fault.holds(&Entry { task, at: At(0), event: event.clone() }));
            let before = fault.at(Point::BeforeCommit { last_seq: 1 });
            fault.at(Point::AfterCommit { last_seq: 1 }).unwrap();
            before.is_err()
        };
        commits.iter().map(commit).collect()
    }

    #[test]
    fn the_nth_commit_with_a_kind_is_found_however_many_of_it_one_commit_holds() {
        let (promoted, stirred) = (Event::TaskPromoted, Event::TaskStirred);
        let two = [promoted.clone(), stirred.clone(), promoted.clone()];
        let commits: [&[Event]; 5] = [std::slice::from_ref(&stirred), &two, &[], &[promoted], &[]];
        assert_eq!(failing("fail-commit:taskPromoted:2", &commits), [false, false, false, true, true]);
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for text in
            ["", "before-commit", "before-commit:", "at:3", "after-commit:x", "panic-at:a:1", "fail-commit:a:b:1"]
        {
            assert!(Fault::parse(text).is_err(), "{text}");
        }
    }
}

//! Deaths on order, for tests of durability: `BOSUN_FAULT=before-commit:7` kills the process with SIGKILL before
//! the commit that holds event 7, `after-commit:7` after it and before anybody knows; `fail-commit:7` makes that
//! commit fail as a full disk would, and `panic-commit:7` makes its writer panic. `before-commit:taskCreated:2` and its
//! like mean the second commit that holds an event of this kind. `panic-at:7` panics where event 7 is shown, which
//! nothing contains.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use protocol::LogEntry;
use runtime::BusMessage;
use store::{NoWriterProbe, WriterPoint, WriterProbe};

use crate::error::CliError;

/// The probe that the variable asks for.
pub(crate) fn probe(fault: Option<&str>) -> Result<Arc<dyn WriterProbe>, CliError> {
    match fault.map(InjectedFault::parse).transpose()? {
        Some(fault) => Ok(Arc::new(fault)),
        None => Ok(Arc::new(NoWriterProbe)),
    }
}

/// Panics if the variable asks for that at this event.
pub(crate) fn panic_if_ordered(fault: Option<&str>, live: &BusMessage) {
    let Some(Ok(InjectedFault { action: FaultAction::PanicAt, trigger: CommitFaultTrigger::Event(seq) })) =
        fault.map(InjectedFault::parse)
    else {
        return;
    };
    match live {
        BusMessage::Event(envelope) if envelope.seq >= seq => panic_on_order(),
        BusMessage::Event(_) | BusMessage::Text { .. } => {}
    }
}

#[derive(Debug)]
struct InjectedFault {
    action: FaultAction,
    trigger: CommitFaultTrigger,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FaultAction {
    DieBefore,
    DieAfter,
    Fail,
    PanicCommit,
    PanicAt,
}

/// Which commit it is about.
#[derive(Debug)]
enum CommitFaultTrigger {
    /// The one that holds this event, and all later ones.
    Event(u64),
    /// The one that holds the kind for the nth time, and all later ones.
    EventKind(EventKindTrigger),
}

#[derive(Debug)]
struct EventKindTrigger {
    name: String,
    nth: u32,
    /// Whether the commit under way holds it.
    is_in_commit: AtomicBool,
    /// How many commits held it.
    commits: AtomicU32,
}

impl InjectedFault {
    fn parse(text: &str) -> Result<InjectedFault, CliError> {
        let unknown = || CliError::usage(format!("{}=`{text}` is neither WHERE:EVENT nor WHERE:KIND:N", config::FAULT));
        let mut words = text.split(':');
        let deed = match words.next() {
            Some("before-commit") => FaultAction::DieBefore,
            Some("after-commit") => FaultAction::DieAfter,
            Some("fail-commit") => FaultAction::Fail,
            Some("panic-commit") => FaultAction::PanicCommit,
            Some("panic-at") => FaultAction::PanicAt,
            Some(_) | None => return Err(unknown()),
        };
        let place = match (words.next(), words.next(), words.next()) {
            (Some(seq), None, None) => CommitFaultTrigger::Event(seq.parse().map_err(|_not_a_number| unknown())?),
            (Some(name), Some(nth), None) if deed != FaultAction::PanicAt => {
                let nth = nth.parse().map_err(|_not_a_number| unknown())?;
                CommitFaultTrigger::EventKind(EventKindTrigger {
                    name: name.into(),
                    nth,
                    is_in_commit: AtomicBool::new(false),
                    commits: AtomicU32::new(0),
                })
            }
            _other => return Err(unknown()),
        };
        Ok(InjectedFault { action: deed, trigger: place })
    }
}

impl WriterProbe for InjectedFault {
    fn at(&self, point: WriterPoint) -> Result<(), io::Error> {
        let due = self.trigger.is_reached(point);
        match (self.action, point) {
            (FaultAction::DieBefore, WriterPoint::BeforeCommit { .. }) if due => host::machine::kill_self(),
            (FaultAction::DieAfter, WriterPoint::AfterCommit { .. }) if due => host::machine::kill_self(),
            (FaultAction::Fail, WriterPoint::BeforeCommit { .. }) if due => {
                Err(io::Error::from(io::ErrorKind::StorageFull))
            }
            (FaultAction::PanicCommit, WriterPoint::BeforeCommit { .. }) if due => panic_on_order(),
            (
                FaultAction::DieBefore
                | FaultAction::DieAfter
                | FaultAction::Fail
                | FaultAction::PanicCommit
                | FaultAction::PanicAt,
                WriterPoint::BeforeCommit { .. } | WriterPoint::AfterCommit { .. },
            ) => Ok(()),
        }
    }

    fn on_event(&self, entry: &LogEntry) {
        match &self.trigger {
            CommitFaultTrigger::EventKind(kind) if is_of_kind(entry, &kind.name) => {
                kind.is_in_commit.store(true, Ordering::Relaxed)
            }
            CommitFaultTrigger::EventKind(_) | CommitFaultTrigger::Event(_) => {}
        }
    }
}

impl CommitFaultTrigger {
    /// Whether the commit at this point is one that it is about.
    fn is_reached(&self, point: WriterPoint) -> bool {
        match (self, point) {
            (
                CommitFaultTrigger::Event(seq),
                WriterPoint::BeforeCommit { last_seq } | WriterPoint::AfterCommit { last_seq },
            ) => last_seq >= *seq,
            (CommitFaultTrigger::EventKind(kind), WriterPoint::BeforeCommit { .. }) => {
                let held = u32::from(kind.is_in_commit.swap(false, Ordering::Relaxed));
                kind.commits.fetch_add(held, Ordering::Relaxed) + held >= kind.nth
            }
            (CommitFaultTrigger::EventKind(kind), WriterPoint::AfterCommit { .. }) => {
                kind.commits.load(Ordering::Relaxed) >= kind.nth
            }
        }
    }
}

/// Whether an event is of the kind that its `type` on disk names.
fn is_of_kind(entry: &LogEntry, kind: &str) -> bool {
    serde_json::to_value(&entry.event).is_ok_and(|event| event["type"] == kind)
}

#[expect(clippy::panic, reason = "this is what was ordered")]
fn panic_on_order() -> ! {
    panic!("a panic on order")
}

#[cfg(test)]
mod tests {
    use protocol::{Event, TaskId, Timestamp};

    use super::*;

    /// Whether each of these commits fails.
    fn failing(fault: &str, commits: &[&[Event]]) -> Vec<bool> {
        let fault = InjectedFault::parse(fault).unwrap();
        let task = TaskId::new(uuid::Uuid::nil());
        let commit = |events: &&[Event]| {
            events.iter().for_each(|event| fault.on_event(&LogEntry { task, at: Timestamp(0), event: event.clone() }));
            let before = fault.at(WriterPoint::BeforeCommit { last_seq: 1 });
            fault.at(WriterPoint::AfterCommit { last_seq: 1 }).unwrap();
            before.is_err()
        };
        commits.iter().map(commit).collect()
    }

    #[test]
    fn the_nth_commit_with_a_kind_is_found_however_many_of_it_one_commit_holds() {
        let (promoted, stirred) = (Event::TaskPromoted, Event::TaskUnstalled);
        let two = [promoted.clone(), stirred.clone(), promoted.clone()];
        let commits: [&[Event]; 5] = [std::slice::from_ref(&stirred), &two, &[], &[promoted], &[]];
        assert_eq!(failing("fail-commit:taskPromoted:2", &commits), [false, false, false, true, true]);
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for text in
            ["", "before-commit", "before-commit:", "at:3", "after-commit:x", "panic-at:a:1", "fail-commit:a:b:1"]
        {
            assert!(InjectedFault::parse(text).is_err(), "{text}");
        }
    }
}

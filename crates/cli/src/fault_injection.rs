//! Injected faults for durability tests: `BOSUN_FAULT=before-commit:7` kills the process with SIGKILL before the commit
//! that contains event 7, `after-commit:7` after it and before the commit is reported; `fail-commit:7` fails that
//! commit as a full disk would, and `panic-commit:7` makes its writer panic. `before-commit:taskCreated:2` means the
//! second commit that contains an event of this kind. `panic-at:7` panics where event 7 is shown, outside any handler.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use client::SessionMessage;
use protocol::LogEntry;
use runtime::{NoWriterProbe, WriterPoint, WriterProbe};

use crate::error::CliError;

/// Returns the probe for the value of `BOSUN_FAULT`.
pub(crate) fn probe(fault: Option<&str>) -> Result<Arc<dyn WriterProbe>, CliError> {
    match fault.map(InjectedFault::parse).transpose()? {
        Some(fault) => Ok(Arc::new(fault)),
        None => Ok(Arc::new(NoWriterProbe)),
    }
}

/// Panics if `BOSUN_FAULT` requests a panic at this event.
pub(crate) fn panic_if_requested(fault: Option<&str>, message: &SessionMessage) {
    let Some(Ok(InjectedFault { action: FaultAction::PanicAt, trigger: CommitFaultTrigger::Event(seq) })) =
        fault.map(InjectedFault::parse)
    else {
        return;
    };
    match message {
        SessionMessage::Event(envelope) if envelope.seq >= seq => injected_panic(),
        SessionMessage::Event(_) | SessionMessage::Text { .. } | SessionMessage::Status(_) => {}
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

/// The commit that triggers a fault.
#[derive(Debug)]
enum CommitFaultTrigger {
    /// The commit that contains this event, and all later ones.
    Event(u64),
    /// The nth commit that contains an event of this kind, and all later ones.
    EventKind(EventKindTrigger),
}

#[derive(Debug)]
struct EventKindTrigger {
    name: String,
    nth: u32,
    /// Whether the current commit contains the kind.
    is_in_commit: AtomicBool,
    /// How many commits contained it.
    commits: AtomicU32,
}

impl InjectedFault {
    fn parse(text: &str) -> Result<InjectedFault, CliError> {
        let unknown = || CliError::usage(format!("{}=`{text}` is neither WHERE:EVENT nor WHERE:KIND:N", config::FAULT));
        let mut fields = text.split(':');
        let action = match fields.next() {
            Some("before-commit") => FaultAction::DieBefore,
            Some("after-commit") => FaultAction::DieAfter,
            Some("fail-commit") => FaultAction::Fail,
            Some("panic-commit") => FaultAction::PanicCommit,
            Some("panic-at") => FaultAction::PanicAt,
            Some(_) | None => return Err(unknown()),
        };
        let trigger = match (fields.next(), fields.next(), fields.next()) {
            (Some(seq), None, None) => CommitFaultTrigger::Event(seq.parse().map_err(|_not_a_number| unknown())?),
            (Some(name), Some(nth), None) if action != FaultAction::PanicAt => {
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
        Ok(InjectedFault { action, trigger })
    }
}

impl WriterProbe for InjectedFault {
    fn at(&self, point: WriterPoint) -> Result<(), io::Error> {
        let is_due = self.trigger.is_reached(point);
        match (self.action, point) {
            (FaultAction::DieBefore, WriterPoint::BeforeCommit { .. }) if is_due => host::machine::kill_self(),
            (FaultAction::DieAfter, WriterPoint::AfterCommit { .. }) if is_due => host::machine::kill_self(),
            (FaultAction::Fail, WriterPoint::BeforeCommit { .. }) if is_due => {
                Err(io::Error::from(io::ErrorKind::StorageFull))
            }
            (FaultAction::PanicCommit, WriterPoint::BeforeCommit { .. }) if is_due => injected_panic(),
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
    /// Whether the commit at this point triggers the fault.
    fn is_reached(&self, point: WriterPoint) -> bool {
        match (self, point) {
            (
                CommitFaultTrigger::Event(seq),
                WriterPoint::BeforeCommit { last_seq } | WriterPoint::AfterCommit { last_seq },
            ) => last_seq >= *seq,
            (CommitFaultTrigger::EventKind(kind), WriterPoint::BeforeCommit { .. }) => {
                let new = u32::from(kind.is_in_commit.swap(false, Ordering::Relaxed));
                kind.commits.fetch_add(new, Ordering::Relaxed) + new >= kind.nth
            }
            (CommitFaultTrigger::EventKind(kind), WriterPoint::AfterCommit { .. }) => {
                kind.commits.load(Ordering::Relaxed) >= kind.nth
            }
        }
    }
}

/// Whether the stored `type` of an event is this kind.
fn is_of_kind(entry: &LogEntry, kind: &str) -> bool {
    serde_json::to_value(&entry.event).is_ok_and(|event| event["type"] == kind)
}

#[expect(clippy::panic, reason = "this is the requested fault")]
fn injected_panic() -> ! {
    panic!("an injected panic")
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
    fn nth_commit_counts_commits_not_events() {
        let (promoted, unstalled) = (Event::TaskPromoted, Event::TaskUnstalled);
        let two = [promoted.clone(), unstalled.clone(), promoted.clone()];
        let commits: [&[Event]; 5] = [std::slice::from_ref(&unstalled), &two, &[], &[promoted], &[]];
        assert_eq!(failing("fail-commit:taskPromoted:2", &commits), [false, false, false, true, true]);
    }

    #[test]
    fn invalid_faults_are_rejected() {
        for text in
            ["", "before-commit", "before-commit:", "at:3", "after-commit:x", "panic-at:a:1", "fail-commit:a:b:1"]
        {
            assert!(InjectedFault::parse(text).is_err(), "{text}");
        }
    }
}

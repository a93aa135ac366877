//! Checks that mail is read once or expires, and that mail between two tasks is read in the order it was sent.

use std::collections::BTreeMap;

use protocol::{Envelope, Event, MailBody, MailDelivery, MailId, Principal, TaskId};

/// The mail in a log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MailCount {
    /// Accepted, including results.
    pub admitted: usize,
    /// Accepted messages of people and agents.
    pub letters: usize,
    /// Read.
    pub delivered: usize,
    /// Expired.
    pub expired: usize,
}

impl MailCount {
    /// Accepted, and neither read nor expired.
    pub fn waiting(&self) -> usize {
        self.admitted - self.delivered - self.expired
    }
}

/// Sender, recipient and delivery mode: within it, mail is read in the order it was sent.
type Pair = (String, TaskId, String);

/// Fails if any mail of the log was read twice, or read and expired, or read before older mail of the same pair.
#[track_caller]
pub fn check_mail(log: &[Envelope]) -> MailCount {
    let mut count = MailCount::default();
    let mut open: BTreeMap<MailId, Pair> = BTreeMap::new();
    let mut last: BTreeMap<Pair, MailId> = BTreeMap::new();
    for Envelope { seq, entry, .. } in log {
        match &entry.event {
            Event::MailAdmitted { mail, from, delivery, body } => {
                count.admitted += 1;
                count.letters += usize::from(matches!(body, MailBody::Text { .. }));
                let known = open.insert(*mail, pair(*from, entry.task, *delivery));
                assert!(known.is_none(), "event {seq}: {mail} came twice");
            }
            Event::MailDelivered { mail: all } => {
                for mail in all {
                    let Some(pair) = open.remove(mail) else { panic!("event {seq}: {mail} is not there to be read") };
                    let before = last.insert(pair, *mail);
                    assert!(before.is_none_or(|before| before < *mail), "event {seq}: {mail} is read after {before:?}");
                    count.delivered += 1;
                }
            }
            Event::MailExpired { mail } => {
                assert!(open.remove(mail).is_some(), "event {seq}: {mail} is not there to expire");
                count.expired += 1;
            }
            _other => {}
        }
    }
    count
}

/// Every message of a person in the log with its recipient, in the order they were accepted.
pub fn letters(log: &[Envelope]) -> Vec<(TaskId, String)> {
    let letter = |envelope: &Envelope| match &envelope.entry.event {
        Event::MailAdmitted { from: Principal::User, body: MailBody::Text { text, .. }, .. } => {
            Some((envelope.entry.task, text.clone()))
        }
        _other => None,
    };
    log.iter().filter_map(letter).collect()
}

fn pair(from: Principal, to: TaskId, delivery: MailDelivery) -> Pair {
    (format!("{from:?}"), to, format!("{delivery:?}"))
}

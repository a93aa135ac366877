//! What must hold in the log of a session whose owner ended while it worked.

use std::collections::BTreeMap;

use protocol::{Envelope, Event, TaskId, ToolResultStatus, Turn};
use testkit::server::ModelServer;

/// How often each turn was begun and answered.
fn turns(log: &[Envelope]) -> BTreeMap<(TaskId, Turn), (usize, usize)> {
    let mut turns: BTreeMap<(TaskId, Turn), (usize, usize)> = BTreeMap::new();
    for envelope in log {
        match &envelope.entry.event {
            Event::TurnBegun { turn, .. } => turns.entry((envelope.entry.task, *turn)).or_default().0 += 1,
            Event::TurnAnswered { turn, .. } => turns.entry((envelope.entry.task, *turn)).or_default().1 += 1,
            _other => {}
        }
    }
    turns
}

/// Checks a log after the session was resumed once: events are unchanged and without gaps, `answers` turns were answered,
/// as without a resumption, at most `in_flight` turns were asked for again, and no call was answered twice.
#[track_caller]
pub(super) fn check_resumed(before: &[Envelope], after: &[Envelope], answers: usize, in_flight: usize) {
    assert_eq!(after[..before.len()], before[..], "durable events are unchanged");
    assert!(after.iter().zip(1..).all(|(envelope, seq)| envelope.seq == seq), "no gaps");
    let turns = turns(after);
    let count = |turn: (usize, usize)| turns.values().filter(|counts| **counts == turn).count();
    assert_eq!(count((1, 1)), answers, "every turn is answered once: {turns:?}");
    assert_eq!(turns.len() - answers, count((1, 0)), "no turn is begun or answered twice: {turns:?}");
    assert!(count((1, 0)) <= in_flight, "only a turn in flight is asked for again: {turns:?}");
    let mut answers: BTreeMap<&str, Vec<ToolResultStatus>> = BTreeMap::new();
    for envelope in after {
        if let Event::CallAnswered { call, answer, .. } = &envelope.entry.event {
            answers.entry(&call.0).or_default().push(answer.status);
        }
    }
    assert!(answers.values().all(|answers| answers.len() == 1), "{answers:?}");
}

/// Checks that the server was asked as often as the logs say.
#[track_caller]
pub(super) fn check_requests(server: &ModelServer, logs: &[Vec<Envelope>]) {
    let begun = |log: &Vec<Envelope>| turns(log).values().map(|(begun, _)| *begun as u64).sum::<u64>();
    let (asked, begun) = (server.count(), logs.iter().map(begun).sum::<u64>());
    // A request that was not sent when its owner ended has begun all the same.
    assert!(asked <= begun, "{asked} requests for {begun} turns");
}

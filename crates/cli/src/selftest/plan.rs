//! When a run's owners are killed.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use super::dice::Dice;

/// About how many events an agent brings.
const EVENTS: u64 = 18;

/// Even the last owner brings some, since it adopts the session.
const FEWEST: u64 = 10;

/// Most owners of one run that are killed.
const KILLS: u64 = 3;

/// Longest an owner lives before a kill by time.
const LIFE_MS: u64 = 2_500;

/// What only the log of an adopted session holds.
const ADOPTION: [&str; 3] = ["sessionAdopted", "taskInterrupted", "taskRequeued"];

/// The kills of one run, one for each owner; the last owner lives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Plan {
    /// What it came from.
    pub(super) seed: u64,
    pub(super) kills: Vec<Kill>,
}

/// When an owner is killed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kill {
    /// At the commit that brings this many events after it began.
    Commit { side: Side, events: u64 },
    /// At the nth commit that holds this kind of event.
    Kind { side: Side, kind: String, nth: u64 },
    /// After this time.
    Time(Duration),
}

/// On which side of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// Nothing of it is durable.
    Before,
    /// It is durable, and nobody knows.
    After,
}

impl Plan {
    /// Nobody is killed.
    pub(super) fn quiet(seed: u64) -> Plan {
        Plan { seed, kills: Vec::new() }
    }

    /// Up to three owners are killed, each at a moment that the seed chooses.
    pub(super) fn random(seed: u64, agents: u32) -> Plan {
        let mut dice = Dice::new(seed);
        let mut left = u64::from(agents) * EVENTS;
        let kills = (0..dice.roll(KILLS)).map(|_| {
            let kill = Kill::random(&mut dice, left);
            // Those who come later find less to do.
            left = left.saturating_sub(kill.events().unwrap_or(left / 2)).max(FEWEST);
            kill
        });
        Plan { seed, kills: kills.collect() }
    }

    /// One plan for each kind of event and side of its commit; `seen` says how often a quiet run has each kind.
    pub(super) fn of_kinds(seed: u64, seen: &BTreeMap<String, u64>) -> Vec<Plan> {
        let mut dice = Dice::new(seed);
        let mut plans = Vec::new();
        for (kind, times) in seen {
            // A commit may hold many of one kind, so there are fewer commits than events.
            let nths = [(Side::Before, 1), (Side::After, 1), (Side::Before, dice.roll(times / 4))];
            for (side, nth) in nths.into_iter().take(if times / 4 > 1 { 3 } else { 2 }) {
                plans.push(vec![Kill::Kind { side, kind: kind.clone(), nth }]);
            }
        }
        let all: u64 = seen.values().sum();
        for kind in ADOPTION {
            for side in [Side::Before, Side::After] {
                let first = Kill::Commit { side: Side::After, events: all / 4 + dice.roll(all / 2) };
                plans.push(vec![first, Kill::Kind { side, kind: kind.into(), nth: 1 }]);
            }
        }
        plans.into_iter().map(|kills| Plan { seed, kills }).collect()
    }
}

impl Kill {
    fn random(dice: &mut Dice, events: u64) -> Kill {
        let side = if dice.roll(2) == 1 { Side::Before } else { Side::After };
        if dice.roll(4) == 1 {
            Kill::Time(Duration::from_millis(dice.roll(LIFE_MS)))
        } else {
            Kill::Commit { side, events: dice.roll(events) }
        }
    }

    /// How many events it lets happen, if that is known.
    fn events(&self) -> Option<u64> {
        match self {
            Kill::Commit { events, .. } => Some(*events),
            Kill::Kind { .. } | Kill::Time(_) => None,
        }
    }

    /// How the owner is told to kill itself, if it is; `last` is the log's last event before it.
    pub(super) fn fault(&self, last: u64) -> Option<String> {
        match self {
            Kill::Commit { side, events } => Some(format!("{side}-commit:{}", last + events)),
            Kill::Kind { side, kind, nth } => Some(format!("{side}-commit:{kind}:{nth}")),
            Kill::Time(_) => None,
        }
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Side::Before => "before",
            Side::After => "after",
        })
    }
}

impl fmt::Display for Kill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kill::Commit { side, events } => write!(f, "{side} event +{events}"),
            Kill::Kind { side, kind, nth } => write!(f, "{side} {kind} {nth}"),
            Kill::Time(time) => write!(f, "after {} ms", time.as_millis()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_means_the_same_kills_every_time_and_seeds_differ() {
        assert_eq!(Plan::random(7, 50), Plan::random(7, 50));
        let plans: Vec<_> = (0..20).map(|seed| Plan::random(seed, 50).kills).collect();
        assert!(plans.iter().all(|kills| (1..=3).contains(&kills.len())));
        assert!(plans.iter().any(|kills| kills != &plans[0]));
    }

    #[test]
    fn every_kind_is_met_on_both_sides_of_its_commit() {
        let seen = BTreeMap::from([("taskCreated".to_owned(), 40), ("agentDefined".to_owned(), 1)]);
        let plans = Plan::of_kinds(1, &seen);
        let faults: Vec<String> = plans.iter().flat_map(|plan| plan.kills.last()?.fault(0)).collect();
        for fault in ["before-commit:agentDefined:1", "after-commit:taskCreated:1", "after-commit:taskRequeued:1"] {
            assert!(faults.iter().any(|known| known == fault), "{fault}: {faults:?}");
        }
        assert!(plans.iter().filter(|plan| plan.kills.len() == 2).count() == 6);
    }
}

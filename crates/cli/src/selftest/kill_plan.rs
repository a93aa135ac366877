//! Decides when the owner processes of a run are killed.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use super::rng::SplitMixRng;

/// The approximate number of events per agent.
const EVENTS_PER_AGENT: u64 = 18;

/// The minimum number of events of an owner: even the last one adopts the session.
const MIN_EVENTS_PER_OWNER: u64 = 10;

/// The maximum number of kills per run.
const MAX_KILLS: u64 = 3;

/// The maximum lifetime of an owner before a timed kill.
const MAX_LIFE_MS: u64 = 2_500;

/// Event types that occur only in adopted sessions.
const ADOPTION_EVENTS: [&str; 3] = ["sessionAdopted", "taskInterrupted", "taskRequeued"];

/// The kills of one run, one per owner; the last owner survives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct KillPlan {
    /// The seed it was generated from.
    pub(super) seed: u64,
    pub(super) kills: Vec<KillPoint>,
}

/// When an owner is killed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum KillPoint {
    /// At the commit of this many events after its start.
    Commit { side: CommitSide, events: u64 },
    /// At the nth commit that contains this kind of event.
    Kind { side: CommitSide, kind: String, nth: u64 },
    /// After this time.
    Time(Duration),
}

/// The side of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommitSide {
    /// Before anything of it is durable.
    Before,
    /// When it is durable but not yet reported.
    After,
}

impl KillPlan {
    /// A plan without kills.
    pub(super) fn without_kills(seed: u64) -> KillPlan {
        KillPlan { seed, kills: Vec::new() }
    }

    /// A plan with up to three kills at times chosen by the seed.
    pub(super) fn random(seed: u64, agents: u32) -> KillPlan {
        let mut rng = SplitMixRng::new(seed);
        let mut events_left = u64::from(agents) * EVENTS_PER_AGENT;
        let kills = (0..rng.one_to(MAX_KILLS)).map(|_| {
            let kill = KillPoint::random(&mut rng, events_left);
            // Later owners have less work left.
            events_left =
                events_left.saturating_sub(kill.events().unwrap_or(events_left / 2)).max(MIN_EVENTS_PER_OWNER);
            kill
        });
        KillPlan { seed, kills: kills.collect() }
    }

    /// One plan for each kind of event and side of its commit; `seen` counts the kinds in a run without kills.
    pub(super) fn for_event_kinds(seed: u64, seen: &BTreeMap<String, u64>) -> Vec<KillPlan> {
        let mut rng = SplitMixRng::new(seed);
        let mut plans = Vec::new();
        for (kind, times) in seen {
            // A commit may hold many of one kind, so there are fewer commits than events.
            let targets =
                [(CommitSide::Before, 1), (CommitSide::After, 1), (CommitSide::Before, rng.one_to(times / 4))];
            for (side, nth) in targets.into_iter().take(if times / 4 > 1 { 3 } else { 2 }) {
                plans.push(vec![KillPoint::Kind { side, kind: kind.clone(), nth }]);
            }
        }
        let total: u64 = seen.values().sum();
        for kind in ADOPTION_EVENTS {
            for side in [CommitSide::Before, CommitSide::After] {
                let first = KillPoint::Commit { side: CommitSide::After, events: total / 4 + rng.one_to(total / 2) };
                plans.push(vec![first, KillPoint::Kind { side, kind: kind.into(), nth: 1 }]);
            }
        }
        plans.into_iter().map(|kills| KillPlan { seed, kills }).collect()
    }
}

impl KillPoint {
    fn random(rng: &mut SplitMixRng, events: u64) -> KillPoint {
        let side = if rng.one_to(2) == 1 { CommitSide::Before } else { CommitSide::After };
        if rng.one_to(4) == 1 {
            KillPoint::Time(Duration::from_millis(rng.one_to(MAX_LIFE_MS)))
        } else {
            KillPoint::Commit { side, events: rng.one_to(events) }
        }
    }

    /// The number of events before the kill, if known.
    fn events(&self) -> Option<u64> {
        match self {
            KillPoint::Commit { events, .. } => Some(*events),
            KillPoint::Kind { .. } | KillPoint::Time(_) => None,
        }
    }

    /// The fault setting that makes the owner kill itself; `last` is the log's last event before it starts.
    pub(super) fn fault(&self, last: u64) -> Option<String> {
        match self {
            KillPoint::Commit { side, events } => Some(format!("{side}-commit:{}", last + events)),
            KillPoint::Kind { side, kind, nth } => Some(format!("{side}-commit:{kind}:{nth}")),
            KillPoint::Time(_) => None,
        }
    }
}

impl fmt::Display for CommitSide {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CommitSide::Before => "before",
            CommitSide::After => "after",
        })
    }
}

impl fmt::Display for KillPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KillPoint::Commit { side, events } => write!(f, "{side} event +{events}"),
            KillPoint::Kind { side, kind, nth } => write!(f, "{side} {kind} {nth}"),
            KillPoint::Time(time) => write!(f, "after {} ms", time.as_millis()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_are_determined_by_their_seed() {
        assert_eq!(KillPlan::random(7, 50), KillPlan::random(7, 50));
        let plans: Vec<_> = (0..20).map(|seed| KillPlan::random(seed, 50).kills).collect();
        assert!(plans.iter().all(|kills| (1..=3).contains(&kills.len())));
        assert!(plans.iter().any(|kills| kills != &plans[0]));
    }

    #[test]
    fn every_event_kind_is_killed_on_both_sides_of_its_commit() {
        let seen = BTreeMap::from([("taskCreated".to_owned(), 40), ("agentDefined".to_owned(), 1)]);
        let plans = KillPlan::for_event_kinds(1, &seen);
        let faults: Vec<String> = plans.iter().flat_map(|plan| plan.kills.last()?.fault(0)).collect();
        for fault in ["before-commit:agentDefined:1", "after-commit:taskCreated:1", "after-commit:taskRequeued:1"] {
            assert!(faults.iter().any(|known| known == fault), "{fault}: {faults:?}");
        }
        assert!(plans.iter().filter(|plan| plan.kills.len() == 2).count() == 6);
    }
}

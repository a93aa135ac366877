//! Errands: what clients say of work that they do themselves. Only the connection that is at an errand may speak for it,
//! and what it says counts once.

use protocol::api::{ErrandParams, ErrandUpdate};
use protocol::{Errand, ErrandId, ErrandState, ErrandWord, Event};

use super::Draft;
use crate::Refusal;

/// Most errands that a session keeps.
const MOST: usize = 1_000;

impl Draft<'_> {
    /// Begins an errand, or gives one whose client is gone to this one. What is known already stays as it is.
    pub(super) fn register_errand(&mut self, params: ErrandParams) -> Result<(), Refusal> {
        let ErrandParams { id, title, description, cancellable, owner, expected } = params;
        let Some(known) = self.state.errands.get(&id) else {
            return self.begin_errand(Errand {
                id,
                title,
                description,
                cancellable,
                owner,
                state: ErrandState::Running { since_at: self.now },
                sequence: 0,
                phase: None,
                percent: None,
                message: None,
                started_at: self.now,
                updated_at: self.now,
                reclaimed_at: None,
                worked_ms: 0,
            });
        };
        if expected.is_some_and(|expected| expected != known.sequence) {
            return Err(Refusal::ErrandMoved { id, sequence: known.sequence });
        }
        match &known.state {
            ErrandState::Running { .. } | ErrandState::Idle { .. } if known.owner != owner => {
                Err(Refusal::ErrandOwned(id))
            }
            ErrandState::Running { .. } | ErrandState::Idle { .. } | ErrandState::Ended { .. } => Ok(()),
            ErrandState::Orphaned { .. } => {
                let taken = known.clone().turned(ErrandState::Running { since_at: self.now }, self.now);
                let reclaimed_at = Some(self.now);
                self.keep(Errand { title, description, cancellable, owner, reclaimed_at, ..taken })
            }
        }
    }

    /// Takes what a client says, unless it said so before.
    pub(super) fn tell_errand(&mut self, update: ErrandUpdate) -> Result<(), Refusal> {
        let ErrandUpdate { id, owner, sequence, words } = update;
        let known = self.state.errands.get(&id).ok_or_else(|| Refusal::NoErrand(id.clone()))?;
        if sequence <= known.sequence {
            return Ok(());
        }
        let ends = |word: &ErrandWord| matches!(word, ErrandWord::Ended { .. });
        match &known.state {
            ErrandState::Ended { .. } => return Err(Refusal::ErrandEnded(id)),
            ErrandState::Orphaned { .. } if words.iter().all(ends) => {}
            ErrandState::Running { .. } | ErrandState::Idle { .. } if owner.as_ref() == Some(&known.owner) => {}
            ErrandState::Running { .. } | ErrandState::Idle { .. } | ErrandState::Orphaned { .. } => {
                return Err(Refusal::ErrandOwned(id));
            }
        }
        let told = words.into_iter().fold(known.clone(), |errand, word| errand.told(word, self.now));
        self.keep(Errand { sequence, updated_at: self.now, ..told })
    }

    /// What this connection was at is nobody's.
    pub(super) fn orphan(&mut self, owner: &str) -> Result<(), Refusal> {
        self.orphan_those(|errand| errand.owner == owner)
    }

    /// No connection of an older owner is there any more.
    pub(super) fn orphan_all(&mut self) -> Result<(), Refusal> {
        self.orphan_those(|_any| true)
    }

    pub(super) fn forget_errand(&mut self, id: ErrandId) -> Result<(), Refusal> {
        let root = self.state.root.ok_or(Refusal::Closed)?;
        match self.state.errands.get(&id) {
            None => Err(Refusal::NoErrand(id)),
            Some(errand) if !errand.is_ended() => Err(Refusal::ErrandNotEnded(id)),
            Some(_) => self.record(root, Event::ErrandForgotten { id }),
        }
    }

    fn begin_errand(&mut self, errand: Errand) -> Result<(), Refusal> {
        if self.state.errands.len() >= MOST {
            return Err(Refusal::Errands { cap: MOST });
        }
        self.keep(errand)
    }

    fn orphan_those(&mut self, of: impl Fn(&Errand) -> bool) -> Result<(), Refusal> {
        let lost = self.state.errands.values().filter(|errand| errand.is_held() && of(errand));
        let lost: Vec<Errand> = lost.cloned().collect();
        for errand in lost {
            self.keep(errand.turned(ErrandState::Orphaned { since_at: self.now }, self.now))?;
        }
        Ok(())
    }

    fn keep(&mut self, errand: Errand) -> Result<(), Refusal> {
        let root = self.state.root.ok_or(Refusal::Closed)?;
        self.record(root, Event::ErrandChanged { errand: Box::new(errand) })
    }
}

#[cfg(test)]
mod tests {
    use protocol::{At, ErrandEnd, Fence, Kind, SessionId, TaskId, TaskSpec, Terms};
    use uuid::Uuid;

    use crate::{Effect, Input, Kernel, Limits};

    use super::*;

    fn terms() -> Terms {
        let terms = serde_json::json!({ "cwd": "/w", "model": "m", "permission": "default", "version": "0" });
        serde_json::from_value(terms).unwrap()
    }

    fn kernel() -> Kernel {
        let mut kernel = Kernel::new(Limits::default());
        let root = TaskId::new(Uuid::from_u128(1));
        let spec = TaskSpec::new(Kind::Main, "main", "root");
        kernel.apply(At(0), Input::Open { root, spec, definition: None, terms: terms() }).unwrap();
        kernel
    }

    fn id() -> ErrandId {
        ErrandId("build".into())
    }

    fn register(owner: &str, expected: Option<u64>) -> Input {
        let (title, description) = (None, "builds".to_owned());
        Input::Errand(ErrandParams { id: id(), title, description, cancellable: true, owner: owner.into(), expected })
    }

    fn tell(owner: &str, sequence: u64, word: ErrandWord) -> Input {
        Input::TellErrand(ErrandUpdate { id: id(), owner: Some(owner.into()), sequence, words: vec![word] })
    }

    fn ended() -> ErrandWord {
        ErrandWord::Ended { end: ErrandEnd::Completed { result: None } }
    }

    #[test]
    fn d1_an_errand_is_one_connection_s_and_what_it_says_counts_once() {
        let mut kernel = kernel();
        kernel.apply(At(10), register("a", None)).unwrap();
        assert!(kernel.apply(At(11), register("a", Some(0))).unwrap().is_empty());
        assert_eq!(kernel.apply(At(12), register("b", None)), Err(Refusal::ErrandOwned(id())));
        kernel.apply(At(20), tell("a", 1, ErrandWord::Percent { percent: Some(40) })).unwrap();
        assert!(kernel.apply(At(21), tell("a", 1, ended())).unwrap().is_empty());
        assert_eq!(kernel.apply(At(22), tell("b", 2, ended())), Err(Refusal::ErrandOwned(id())));
        assert_eq!(kernel.apply(At(23), Input::ForgetErrand(id())), Err(Refusal::ErrandNotEnded(id())));
        kernel.apply(At(30), tell("a", 7, ended())).unwrap();
        let errand = kernel.errand(&id()).unwrap();
        assert_eq!((errand.sequence, errand.percent, errand.worked_ms), (7, Some(40), 20));
        assert_eq!(kernel.apply(At(31), tell("a", 8, ended())), Err(Refusal::ErrandEnded(id())));
        kernel.apply(At(32), Input::ForgetErrand(id())).unwrap();
        assert_eq!(kernel.errand(&id()), None);
    }

    #[test]
    fn d1_an_errand_whose_client_is_gone_can_be_taken_up_at_its_number() {
        let mut kernel = kernel();
        kernel.apply(At(10), register("a", None)).unwrap();
        kernel.apply(At(20), tell("a", 3, ErrandWord::Idle)).unwrap();
        kernel.apply(At(30), Input::Orphan { owner: "a".into() }).unwrap();
        assert_eq!(kernel.errand(&id()).unwrap().state, ErrandState::Orphaned { since_at: At(30) });
        assert_eq!(kernel.apply(At(40), tell("a", 4, ErrandWord::Running)), Err(Refusal::ErrandOwned(id())));
        let moved = Refusal::ErrandMoved { id: id(), sequence: 3 };
        assert_eq!(kernel.apply(At(40), register("b", Some(2))), Err(moved));
        kernel.apply(At(50), register("b", Some(3))).unwrap();
        let errand = kernel.errand(&id()).unwrap();
        assert_eq!((errand.owner.as_str(), errand.reclaimed_at, errand.worked_ms), ("b", Some(At(50)), 10));
        kernel.apply(At(60), tell("b", 4, ErrandWord::Idle)).unwrap();
    }

    #[test]
    fn d6_whoever_adopts_a_session_finds_its_errands_orphaned_and_a_fork_has_none() {
        let mut kernel = kernel();
        kernel.apply(At(10), register("a", None)).unwrap();
        let effects = kernel.apply(At(20), Input::Adopt { fence: Fence(2), terms: terms() }).unwrap();
        let orphaned = |effect: &Effect| matches!(effect, Effect::Record(entry) if matches!(entry.event, Event::ErrandChanged { .. }));
        assert!(effects.iter().any(orphaned));
        assert_eq!(kernel.errand(&id()).unwrap().state, ErrandState::Orphaned { since_at: At(20) });
        let update = ErrandUpdate { id: id(), owner: None, sequence: 1, words: vec![ended()] };
        let mut other = kernel.clone();
        other.apply(At(30), Input::TellErrand(update)).unwrap();
        assert!(other.errand(&id()).unwrap().is_ended());
        kernel.apply(At(30), Input::Fork { from: SessionId::new(Uuid::from_u128(2)) }).unwrap();
        assert_eq!(kernel.errands().count(), 0);
    }
}

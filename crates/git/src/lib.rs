//! Git for agents: their own checkouts, their work sealed as commits, and those commits merged. The user's repository
//! gets objects and refs under `refs/bosun/`, and nothing else in it is touched unless the user asks for the merge.

#![deny(missing_docs)]

mod as_sealed;
mod base_commit;
mod changes;
mod checkout;
mod commit;
mod confine;
mod draft;
mod error;
mod land;
mod lease;
mod leftover;
mod locks;
mod merge;
mod move_files;
mod obstacles;
mod pins;
mod populate;
mod predict;
mod queue;
mod record;
mod removal;
mod repository;
mod run;
mod scratch;
mod seal;
mod since_made;
mod staging;
mod swap;
mod trash;
mod trial;
mod verify;

pub use base_commit::BaseCommit;
pub use checkout::{Checkout, CheckoutRequest};
pub use commit::{Commit, subject};
pub use draft::{Signature, contains_commit};
pub use error::GitError;
pub use land::{LandError, LandOutcome, LandRequest};
pub use lease::CheckoutLease;
pub use leftover::clear_landings;
pub use locks::clear_ref_locks;
pub use merge::{MergeConflict, MergeOutcome, MergePart, ResolveOutcome, merge, merge_all};
pub use pins::{Pin, Pins, remove_contained_refs};
pub use predict::{PredictedConflict, predict};
pub use queue::{ConflictOutcome, MergeCandidate, MergeCandidateOutcome, MergeQueue, MergeWorkspace};
pub use record::CheckoutId;
pub use removal::finish_removals;
pub use repository::Repository;
pub use run::{CommandOutput, Git};
pub use scratch::ScratchCheckout;
pub use seal::SealedWork;
pub use trash::{DiscardOutcome, TrashedCheckout};

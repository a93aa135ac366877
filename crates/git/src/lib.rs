//! Git, as far as agents need it: checkouts of their own, what they changed in them kept as commits, and those commits
//! merged. The user's repository gets objects and refs under `refs/bosun/`, and nothing else is ever touched in it
//! unless the user asks for the merge.

#![deny(missing_docs)]

mod commit;
mod error;
mod ground;
mod land;
mod merge;
mod predict;
mod queue;
mod run;
mod scratch;
mod torn;
mod trial;

pub use commit::{CommitId, Signature};
pub use error::GitError;
pub use ground::Ground;
pub use land::{LandError, Landed, Landing};
pub use merge::{Conflict, Merged, Part, Resolved, join, merge};
pub use predict::{Clash, predict};
pub use queue::{Candidate, Offer, Queue, Site};
pub use run::{Git, Said};
pub use scratch::Scratch;

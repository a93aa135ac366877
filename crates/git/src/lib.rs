//! Git, as far as agents need it: checkouts of their own, what they changed in them kept as commits, and those commits
//! merged. The user's repository gets objects and refs under `refs/bosun/`, and nothing else is ever touched in it
//! unless the user asks for the merge.

#![deny(missing_docs)]

mod commit;
mod draft;
mod error;
mod land;
mod merge;
mod outset;
mod predict;
mod queue;
mod run;
mod scratch;
mod torn;
mod trial;

pub use commit::Commit;
pub use draft::Signature;
pub use error::GitError;
pub use land::{LandError, Landed, Landing};
pub use merge::{Conflict, Merged, Part, Resolved, join, merge};
pub use outset::Outset;
pub use predict::{Clash, predict};
pub use queue::{Candidate, Offer, Queue, Site};
pub use run::{Git, Said};
pub use scratch::Scratch;

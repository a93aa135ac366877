//! Git, as far as agents need it: checkouts of their own, what they changed in them kept as commits, and those commits
//! merged. The user's repository gets objects and refs under `refs/bosun/`, and nothing else is ever touched in it
//! unless the user asks for the merge.

#![deny(missing_docs)]

mod as_sealed;
mod changes;
mod checkout;
mod commit;
mod confine;
mod draft;
mod error;
mod furnish;
mod land;
mod lease;
mod leftover;
mod locks;
mod merge;
mod mover;
mod obstacles;
mod outset;
mod pins;
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

pub use checkout::{Checkout, Order};
pub use commit::{Commit, subject};
pub use draft::{Signature, holds};
pub use error::GitError;
pub use land::{LandError, Landed, Landing};
pub use lease::Lease;
pub use leftover::clear_landings;
pub use locks::clear_ref_locks;
pub use merge::{Conflict, Merged, Part, Resolved, join, merge};
pub use outset::Outset;
pub use pins::{Pin, Pins, drop_held};
pub use predict::{Clash, predict};
pub use queue::{Candidate, Offer, Queue, Settled, Yard};
pub use record::CheckoutId;
pub use removal::finish_removals;
pub use repository::Repository;
pub use run::{Git, Said};
pub use scratch::Scratch;
pub use seal::Sealed;
pub use trash::{Discarded, Trashed};

//! Git, as far as agents need it: checkouts of their own, what they changed in them kept as commits, and those commits
//! merged. The user's repository gets objects and refs under `refs/bosun/`, and nothing else is ever touched in it
//! unless the user asks for the merge.

#![deny(missing_docs)]

mod checkout;
mod commit;
mod error;
mod furnish;
mod lease;
mod pins;
mod record;
mod repository;
mod run;
mod seal;
mod staging;
mod trash;
mod verify;

pub use checkout::{Checkout, Order};
pub use commit::Commit;
pub use error::GitError;
pub use lease::Lease;
pub use record::CheckoutId;
pub use repository::Repository;
pub use run::{Git, Said};
pub use seal::Sealed;
pub use trash::{Discarded, Trashed};

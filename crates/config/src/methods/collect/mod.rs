//! Removes what is no longer needed from Bosun's home and from repositories.

mod checkouts;
mod file_copies;
mod outputs;
mod refs;
mod sessions;

pub use sessions::{CollectNote, CollectNotes};

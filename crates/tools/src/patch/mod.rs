//! Patches: reading their envelope, and finding and applying their hunks. Nothing here touches a file.

mod envelope;
mod hunks;

pub(crate) use envelope::{Hunk, PatchChange, parse};
pub(crate) use hunks::{HunkFit, apply};

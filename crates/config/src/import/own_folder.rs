//! The folder in which a product keeps what is the user's own: at its usual place, or where a variable moved it. Bosun
//! reads files in place at the usual one only; those of a moved one are copied, or written to its own settings.

use std::path::{Path, PathBuf};

use super::paths::{Copied, InPlace, Left, Needs, copy, left, read_in_place};
use super::source::Owner;
use super::survey::Survey;

/// The folder.
#[derive(Debug, Clone)]
pub(super) struct OwnFolder {
    pub(super) path: PathBuf,
    /// Whose its files are.
    pub(super) owner: Owner,
}

impl OwnFolder {
    /// The folder of the product that is looked at, whose usual name is this; none if nobody knows where that would be.
    pub(super) fn of(survey: &Survey<'_>, name: &str) -> Option<OwnFolder> {
        let usual = survey.places.user.map(|user| user.join(name));
        match (survey.places.moved, usual) {
            (Some(moved), usual) if !usual.as_deref().is_some_and(|usual| is_same(moved, usual)) => {
                Some(OwnFolder { path: moved.to_owned(), owner: Owner::Moved })
            }
            (Some(_) | None, usual) => usual.map(|path| OwnFolder { path, owner: Owner::User }),
        }
    }

    pub(super) fn join(&self, below: &str) -> PathBuf {
        self.path.join(below)
    }

    /// Tells of what is there: read in place at the usual folder, copied from another.
    pub(super) fn read_or_copy(&self, survey: &mut Survey<'_>, read: &[InPlace], copied: &[Copied]) {
        match self.owner {
            Owner::Moved => copy(survey, &self.path, copied),
            Owner::User | Owner::Local | Owner::Project | Owner::Uncovered => {
                read_in_place(survey, &self.path, Needs::Nothing, read);
            }
        }
    }

    /// Tells of what is there and has no place in Bosun.
    pub(super) fn left(&self, survey: &mut Survey<'_>, all: &[Left]) {
        left(survey, &self.path, all);
    }
}

fn is_same(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_missing| path.to_owned());
    real(one) == real(other)
}

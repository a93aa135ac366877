//! The folder in which a product keeps what is the user's own: at its usual place, or where a variable moved it. Bosun
//! reads files in place at the usual one only; those of a moved one are copied, or written to its own settings.

use std::path::{Path, PathBuf};

use super::paths::{CopiedPath, ReadInPlacePath, SkippedPath, TrustRequirement, copy, read_in_place, report_skipped};
use super::product_file::SourceOwner;
use super::survey::ImportSurvey;

/// The folder.
#[derive(Debug, Clone)]
pub(super) struct ProductFolder {
    pub(super) path: PathBuf,
    /// Whose its files are.
    pub(super) owner: SourceOwner,
}

impl ProductFolder {
    /// The folder of the product that is looked at, whose usual name is this; none if nobody knows where that would be.
    pub(super) fn of(survey: &ImportSurvey<'_>, name: &str) -> Option<ProductFolder> {
        let usual = survey.places.user.map(|user| user.join(name));
        match (survey.places.relocated, usual) {
            (Some(moved), usual) if !usual.as_deref().is_some_and(|usual| is_same(moved, usual)) => {
                Some(ProductFolder { path: moved.to_owned(), owner: SourceOwner::Relocated })
            }
            (Some(_) | None, usual) => usual.map(|path| ProductFolder { path, owner: SourceOwner::User }),
        }
    }

    pub(super) fn join(&self, below: &str) -> PathBuf {
        self.path.join(below)
    }

    /// Tells of what is there: read in place at the usual folder, copied from another.
    pub(super) fn read_or_copy(&self, survey: &mut ImportSurvey<'_>, read: &[ReadInPlacePath], copied: &[CopiedPath]) {
        match self.owner {
            SourceOwner::Relocated => copy(survey, &self.path, copied),
            SourceOwner::User | SourceOwner::Local | SourceOwner::Project | SourceOwner::OutsideTrust => {
                read_in_place(survey, &self.path, TrustRequirement::Nothing, read);
            }
        }
    }

    /// Tells of what is there and has no place in Bosun.
    pub(super) fn report_skipped(&self, survey: &mut ImportSurvey<'_>, all: &[SkippedPath]) {
        report_skipped(survey, &self.path, all);
    }
}

fn is_same(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_missing| path.to_owned());
    real(one) == real(other)
}

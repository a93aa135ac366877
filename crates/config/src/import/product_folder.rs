//! A product's user folder: the default one, or a relocated one that a variable names. Bosun reads files in place only
//! in the default folder; those in a relocated one are copied, or written to Bosun's settings.

use std::path::{Path, PathBuf};

use super::paths::{
    CopiedPath, ReadInPlacePath, SkippedPath, TrustRequirement, import_copies, read_in_place, report_skipped,
};
use super::product_file::SourceOwner;
use super::survey::ImportSurvey;

/// A product's user folder.
#[derive(Debug, Clone)]
pub(super) struct ProductFolder {
    pub(super) path: PathBuf,
    /// The owner of its files.
    pub(super) owner: SourceOwner,
}

impl ProductFolder {
    /// The user folder of the surveyed product, with this default name; `None` if the user's home is unknown.
    pub(super) fn find(survey: &ImportSurvey<'_>, name: &str) -> Option<ProductFolder> {
        let default = survey.places.user_home.map(|user| user.join(name));
        match (survey.places.relocated, default) {
            (Some(relocated), default)
                if !default.as_deref().is_some_and(|default| is_same_folder(relocated, default)) =>
            {
                Some(ProductFolder { path: relocated.to_owned(), owner: SourceOwner::Relocated })
            }
            (Some(_) | None, default) => default.map(|path| ProductFolder { path, owner: SourceOwner::User }),
        }
    }

    pub(super) fn join(&self, below: &str) -> PathBuf {
        self.path.join(below)
    }

    /// Reports what is read in place in the default folder; copies it from a relocated one.
    pub(super) fn read_or_copy(&self, survey: &mut ImportSurvey<'_>, read: &[ReadInPlacePath], copied: &[CopiedPath]) {
        match self.owner {
            SourceOwner::Relocated => import_copies(survey, &self.path, copied),
            SourceOwner::User | SourceOwner::Local | SourceOwner::Project | SourceOwner::OutsideTrust => {
                read_in_place(survey, &self.path, TrustRequirement::NotRequired, read);
            }
        }
    }

    /// Reports existing paths that Bosun cannot use.
    pub(super) fn report_skipped(&self, survey: &mut ImportSurvey<'_>, all: &[SkippedPath]) {
        report_skipped(survey, &self.path, all);
    }
}

fn is_same_folder(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_missing| path.to_owned());
    real(one) == real(other)
}

//! Files and folders that are identified by their path alone.

use std::path::{Path, PathBuf};

use super::product_file::count;
use super::survey::ImportSurvey;

/// The file that makes a folder a skill.
pub(super) const SKILL: &str = "SKILL.md";

/// A path that Bosun reads in place: the path, its description, and the ending of its files.
pub(super) struct ReadInPlacePath(pub(super) &'static str, pub(super) &'static str, pub(super) &'static str);

/// A path that is copied into Bosun's home: the path, the target, the description of an item, and the ending of its
/// files. A path without an ending is one file; skills are folders.
pub(super) struct CopiedPath(
    pub(super) &'static str,
    pub(super) &'static str,
    pub(super) &'static str,
    pub(super) &'static str,
);

/// A path that is not imported: the path, its description, and the reason.
pub(super) struct SkippedPath(pub(super) &'static str, pub(super) &'static str, pub(super) &'static str);

/// Whether the files of a folder require a trusted project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TrustRequirement {
    Trust,
    Nothing,
}

/// Reports existing paths that are read in place.
pub(super) fn read_in_place(
    survey: &mut ImportSurvey<'_>,
    folder: &Path,
    needs: TrustRequirement,
    all: &[ReadInPlacePath],
) {
    for ReadInPlacePath(below, what, ends) in all {
        let path = folder.join(below);
        let found = match count(&path, ends) {
            0 => continue,
            1 if path.is_file() => (*what).to_owned(),
            1 => format!("{what}: 1 file"),
            many => format!("{what}: {many} files"),
        };
        survey.read_in_place(&path, found, needs == TrustRequirement::Trust);
    }
}

/// Copies files that Bosun can use but does not read in place.
pub(super) fn copy(survey: &mut ImportSurvey<'_>, folder: &Path, all: &[CopiedPath]) {
    for CopiedPath(below, into, what, ends) in all {
        let path = folder.join(below);
        if ends.is_empty() && path.is_file() {
            survey.copy(&path, Path::new(into), (*what).to_owned());
        }
        let is_one = |entry: &Path| match *ends {
            "" => false,
            SKILL => entry.join(SKILL).is_file(),
            ends => entry.is_file() && entry.to_string_lossy().ends_with(ends),
        };
        for entry in entries(&path).into_iter().filter(|entry| is_one(entry)) {
            if let Some(name) = entry.file_name() {
                survey.copy(&entry, &Path::new(into).join(name), (*what).to_owned());
            }
        }
    }
}

/// Reports existing paths that Bosun cannot use.
pub(super) fn report_skipped(survey: &mut ImportSurvey<'_>, folder: &Path, all: &[SkippedPath]) {
    for SkippedPath(below, what, why) in all {
        let path = folder.join(below);
        if count(&path, "") > 0 {
            survey.not_imported(&path, *what, *why);
        }
    }
}

/// The entries of a folder, sorted.
pub(super) fn entries(folder: &Path) -> Vec<PathBuf> {
    const MOST: usize = 1_000;
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().take(MOST);
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

//! Files and folders that are identified by their path alone.

use std::path::{Path, PathBuf};

use super::product_file::count_files;
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
    NotRequired,
}

/// Reports existing paths that are read in place.
pub(super) fn read_in_place(
    survey: &mut ImportSurvey<'_>,
    folder: &Path,
    requirement: TrustRequirement,
    all: &[ReadInPlacePath],
) {
    for ReadInPlacePath(below, description, suffix) in all {
        let path = folder.join(below);
        let subject = match count_files(&path, suffix) {
            0 => continue,
            1 if path.is_file() => (*description).to_owned(),
            1 => format!("{description}: 1 file"),
            many => format!("{description}: {many} files"),
        };
        survey.report_files_in_place(&path, subject, requirement == TrustRequirement::Trust);
    }
}

/// Copies files that Bosun can use but does not read in place.
pub(super) fn import_copies(survey: &mut ImportSurvey<'_>, folder: &Path, all: &[CopiedPath]) {
    for CopiedPath(below, into, description, suffix) in all {
        let path = folder.join(below);
        if suffix.is_empty() && path.is_file() {
            survey.import_copy(&path, Path::new(into), (*description).to_owned());
        }
        let is_item = |entry: &Path| match *suffix {
            "" => false,
            SKILL => entry.join(SKILL).is_file(),
            suffix => entry.is_file() && entry.to_string_lossy().ends_with(suffix),
        };
        for entry in entries(&path).into_iter().filter(|entry| is_item(entry)) {
            if let Some(name) = entry.file_name() {
                survey.import_copy(&entry, &Path::new(into).join(name), (*description).to_owned());
            }
        }
    }
}

/// Reports existing paths that Bosun cannot use.
pub(super) fn report_skipped(survey: &mut ImportSurvey<'_>, folder: &Path, all: &[SkippedPath]) {
    for SkippedPath(below, description, why) in all {
        let path = folder.join(below);
        if count_files(&path, "") > 0 {
            survey.report_not_imported(&path, *description, *why);
        }
    }
}

/// The entries of a folder, sorted.
pub(super) fn entries(folder: &Path) -> Vec<PathBuf> {
    const MAX_ENTRIES: usize = 1_000;
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().take(MAX_ENTRIES);
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

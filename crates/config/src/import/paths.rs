//! Files and folders that are found by their place alone.

use std::path::{Path, PathBuf};

use super::product_file::count;
use super::survey::ImportSurvey;

/// The file that makes a folder a skill.
pub(super) const SKILL: &str = "SKILL.md";

/// Something that Bosun reads where it is: its place, what it is, and how its files end.
pub(super) struct ReadInPlacePath(pub(super) &'static str, pub(super) &'static str, pub(super) &'static str);

/// Something that is copied into Bosun's home: its place, where it goes, what each is, and how its files end. What has
/// no ending is one file; skills are folders.
pub(super) struct CopiedPath(
    pub(super) &'static str,
    pub(super) &'static str,
    pub(super) &'static str,
    pub(super) &'static str,
);

/// Something that is not imported: its place, what it is, and why.
pub(super) struct SkippedPath(pub(super) &'static str, pub(super) &'static str, pub(super) &'static str);

/// Whether files of a folder count before a project is trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TrustRequirement {
    Trust,
    Nothing,
}

/// Tells of what is there and read in place.
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

/// Copies what Bosun has a place for and does not read where it is.
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

/// Tells of what is there and has no place in Bosun.
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

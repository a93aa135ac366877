//! Patterns of the files that a todo depends on.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};

use client::{GLOB_CHARS, MAX_GLOB_BYTES};
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// Patterns of files below a workspace, sorted and without duplicates.
#[derive(Debug, Clone, Default)]
pub struct FilePatterns(Vec<WorkspacePattern>);

#[derive(Debug, Clone)]
struct WorkspacePattern {
    /// The pattern as it was written.
    written: String,
    matcher: PatternMatcher,
    /// The literal prefix of every matching path.
    prefix: Vec<u8>,
}

#[derive(Debug, Clone)]
enum PatternMatcher {
    /// The path itself and everything below it.
    Prefix,
    /// A glob. Compiling one is slow, and most todos name plain paths.
    Glob(GlobSet),
}

/// Why a pattern of files cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// It is too long.
    #[error("a pattern of {bytes} bytes is too long; at most {MAX_GLOB_BYTES} are accepted")]
    TooLong {
        /// Its length.
        bytes: usize,
    },
    /// It names no path below the workspace.
    #[error("the pattern `{0}` must be a path below the workspace")]
    Outside(String),
    /// It is not a glob.
    #[error("the pattern `{written}` cannot be read: {}", .source.kind())]
    Unreadable {
        /// The pattern.
        written: String,
        /// Why.
        source: globset::Error,
    },
}

impl FilePatterns {
    /// Parses patterns.
    pub fn parse(globs: &[String]) -> Result<FilePatterns, PatternError> {
        let mut globs: Vec<&String> = globs.iter().collect();
        globs.sort();
        globs.dedup();
        globs.into_iter().map(|glob| WorkspacePattern::read(glob)).collect::<Result<_, _>>().map(FilePatterns)
    }

    /// Whether no files are declared, so that all files count.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Each pattern as it was written.
    pub(super) fn sources(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|pattern| pattern.written.as_str())
    }

    /// For each pattern, which of the sorted paths match it.
    pub(super) fn select<'a, T>(
        &'a self,
        sorted: &'a [(Vec<u8>, T)],
    ) -> impl Iterator<Item = impl Iterator<Item = &'a (Vec<u8>, T)>> {
        self.0.iter().map(move |pattern| {
            let first = sorted.partition_point(|(path, _)| path < &pattern.prefix);
            let candidates = sorted.get(first..).unwrap_or_default().iter();
            let candidates = candidates.take_while(|(path, _)| path.starts_with(&pattern.prefix));
            candidates.filter(|(path, _)| pattern.matches(path))
        })
    }
}

impl WorkspacePattern {
    fn read(written: &str) -> Result<WorkspacePattern, PatternError> {
        let glob = written.trim().trim_start_matches("./").trim_end_matches('/');
        if glob.len() > MAX_GLOB_BYTES {
            return Err(PatternError::TooLong { bytes: glob.len() });
        }
        let is_outside = Path::new(glob).components().any(|part| !matches!(part, Component::Normal(_)));
        if glob.is_empty() || is_outside {
            return Err(PatternError::Outside(written.to_owned()));
        }
        let special = glob.find(GLOB_CHARS);
        let matcher = match special {
            None => PatternMatcher::Prefix,
            Some(_) => PatternMatcher::Glob(
                build_glob_set(glob)
                    .map_err(|source| PatternError::Unreadable { written: written.to_owned(), source })?,
            ),
        };
        let prefix = glob.as_bytes().get(..special.unwrap_or(glob.len())).unwrap_or_default().to_vec();
        Ok(WorkspacePattern { written: written.to_owned(), matcher, prefix })
    }

    /// Whether a path with this prefix matches.
    fn matches(&self, path: &[u8]) -> bool {
        match &self.matcher {
            PatternMatcher::Prefix => matches!(path.get(self.prefix.len()), None | Some(b'/')),
            PatternMatcher::Glob(set) => set.is_match(Path::new(OsStr::from_bytes(path))),
        }
    }
}

/// Compiles a glob that also matches everything below a matching folder.
fn build_glob_set(glob: &str) -> Result<GlobSet, globset::Error> {
    let mut set = GlobSetBuilder::new();
    for glob in [glob.to_owned(), format!("{glob}/**")] {
        let compiled = GlobBuilder::new(&glob).literal_separator(true).build();
        set.add(compiled?);
    }
    set.build()
}

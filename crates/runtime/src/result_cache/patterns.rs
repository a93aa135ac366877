//! Patterns of the files that a todo looks at.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// Most bytes of a pattern: the library reads nested braces by recursion.
const LONGEST: usize = 500;

/// What makes a name a pattern.
const SPECIAL: [char; 5] = ['*', '?', '[', '{', '\\'];

/// Patterns of files below a workspace, each once, in one order.
#[derive(Debug, Clone, Default)]
pub struct FilePatterns(Vec<WorkspacePattern>);

#[derive(Debug, Clone)]
struct WorkspacePattern {
    written: String,
    matcher: PatternMatcher,
    /// What every path that matches begins with.
    prefix: Vec<u8>,
}

#[derive(Debug, Clone)]
enum PatternMatcher {
    /// The place that it begins with, and everything below that.
    Prefix,
    /// What a glob says. Making one ready takes its time, and most todos name places.
    Glob(GlobSet),
}

impl FilePatterns {
    /// Reads patterns; says in words what is wrong with one.
    pub fn read(globs: &[String]) -> Result<FilePatterns, String> {
        let mut globs: Vec<&String> = globs.iter().collect();
        globs.sort();
        globs.dedup();
        globs.into_iter().map(|glob| WorkspacePattern::read(glob)).collect::<Result<_, _>>().map(FilePatterns)
    }

    /// Whether nothing was declared, so that everything counts.
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
            let near = sorted.get(first..).unwrap_or_default().iter();
            let near = near.take_while(|(path, _)| path.starts_with(&pattern.prefix));
            near.filter(|(path, _)| pattern.matches(path))
        })
    }
}

impl WorkspacePattern {
    fn read(written: &str) -> Result<WorkspacePattern, String> {
        let glob = written.trim().trim_start_matches("./").trim_end_matches('/');
        if glob.len() > LONGEST {
            return Err(format!("a pattern of {} bytes is too long; at most {LONGEST} are taken", glob.len()));
        }
        let leaves = Path::new(glob).components().any(|part| !matches!(part, Component::Normal(_)));
        if glob.is_empty() || leaves {
            return Err(format!("the pattern `{written}` must be a path below the workspace"));
        }
        let special = glob.find(SPECIAL);
        let matcher = match special {
            None => PatternMatcher::Prefix,
            Some(_) => PatternMatcher::Glob(
                build_glob_set(glob).map_err(|why| format!("the pattern `{written}` cannot be read: {why}"))?,
            ),
        };
        let beginning = glob.as_bytes().get(..special.unwrap_or(glob.len())).unwrap_or_default().to_vec();
        Ok(WorkspacePattern { written: written.to_owned(), matcher, prefix: beginning })
    }

    /// Whether a path fits that has the same beginning.
    fn matches(&self, path: &[u8]) -> bool {
        match &self.matcher {
            PatternMatcher::Prefix => matches!(path.get(self.prefix.len()), None | Some(b'/')),
            PatternMatcher::Glob(set) => set.is_match(Path::new(OsStr::from_bytes(path))),
        }
    }
}

/// Many patterns at once.
#[derive(Debug, Clone)]
pub(crate) struct GlobIndex {
    set: GlobSet,
    /// The pattern that each glob of the set is of.
    of: Vec<usize>,
}

impl GlobIndex {
    /// Whether a name is more than a path.
    pub(crate) fn is_pattern(name: &str) -> bool {
        name.contains(SPECIAL)
    }

    /// Makes them ready; one that cannot be read matches nothing.
    pub(crate) fn new<'a>(patterns: impl Iterator<Item = &'a str>) -> GlobIndex {
        let (mut set, mut of) = (GlobSetBuilder::new(), Vec::new());
        for (n, pattern) in patterns.enumerate().filter(|(_, pattern)| pattern.len() <= LONGEST) {
            for glob in [pattern.to_owned(), format!("{pattern}/**")] {
                if let Ok(glob) = GlobBuilder::new(&glob).literal_separator(true).build() {
                    set.add(glob);
                    of.push(n);
                }
            }
        }
        GlobIndex { set: set.build().unwrap_or_default(), of }
    }

    /// The patterns that a path fits, by number.
    pub(crate) fn matching(&self, path: &str) -> Vec<usize> {
        self.set.matches(path).into_iter().filter_map(|n| self.of.get(n).copied()).collect()
    }
}

/// A glob, where a folder stands for everything in it.
fn build_glob_set(glob: &str) -> Result<GlobSet, String> {
    let mut set = GlobSetBuilder::new();
    for glob in [glob.to_owned(), format!("{glob}/**")] {
        let one = GlobBuilder::new(&glob).literal_separator(true).build();
        set.add(one.map_err(|error| error.kind().to_string())?);
    }
    set.build().map_err(|error| error.kind().to_string())
}

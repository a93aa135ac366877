//! Many patterns of files, matched at once.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// The most bytes of a pattern: the library parses nested braces recursively.
pub const MAX_GLOB_BYTES: usize = 500;

/// Characters that make a name a pattern.
pub const GLOB_CHARS: [char; 5] = ['*', '?', '[', '{', '\\'];

/// Matches many patterns at once.
#[derive(Debug, Clone)]
pub(crate) struct GlobIndex {
    set: GlobSet,
    /// The index of the pattern that each glob in the set belongs to.
    glob_patterns: Vec<usize>,
}

impl GlobIndex {
    /// Whether a name is a pattern rather than a path.
    pub(crate) fn is_pattern(name: &str) -> bool {
        name.contains(GLOB_CHARS)
    }

    /// Compiles the patterns; an invalid one matches nothing.
    pub(crate) fn new<'a>(patterns: impl Iterator<Item = &'a str>) -> GlobIndex {
        let (mut set, mut glob_patterns) = (GlobSetBuilder::new(), Vec::new());
        for (n, pattern) in patterns.enumerate().filter(|(_, pattern)| pattern.len() <= MAX_GLOB_BYTES) {
            for glob in [pattern.to_owned(), format!("{pattern}/**")] {
                if let Ok(glob) = GlobBuilder::new(&glob).literal_separator(true).build() {
                    set.add(glob);
                    glob_patterns.push(n);
                }
            }
        }
        GlobIndex { set: set.build().unwrap_or_default(), glob_patterns }
    }

    /// The indexes of the patterns that match a path.
    pub(crate) fn matching(&self, path: &str) -> Vec<usize> {
        self.set.matches(path).into_iter().filter_map(|n| self.glob_patterns.get(n).copied()).collect()
    }
}

//! A bounded list of the newest lines.

use std::collections::VecDeque;

/// The newest lines, at most `MAX`, and how many came before them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct RecentLines<const MAX: usize> {
    lines: VecDeque<String>,
    dropped: usize,
}

impl<const MAX: usize> RecentLines<MAX> {
    pub(super) fn push(&mut self, line: String) {
        self.lines.push_back(line);
        if self.lines.len() > MAX {
            self.lines.pop_front();
            self.dropped += 1;
        }
    }

    /// Like [`RecentLines::push`], but a line that exists already becomes the newest.
    pub(super) fn push_once(&mut self, line: String) {
        self.lines.retain(|existing| *existing != line);
        self.push(line);
    }

    /// The lines, newest first.
    pub(super) fn newest_first(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().rev().map(String::as_str)
    }

    /// The number of lines ever added.
    pub(super) fn count(&self) -> usize {
        self.dropped + self.lines.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_lines_are_dropped_and_counted() {
        let mut latest = RecentLines::<2>::default();
        for line in ["a", "b", "a", "c"] {
            latest.push_once(line.into());
        }
        assert_eq!(latest.newest_first().collect::<Vec<_>>(), ["c", "a"]);
        assert_eq!(latest.count(), 3);
    }
}

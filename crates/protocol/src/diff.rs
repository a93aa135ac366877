//! Line-by-line diff of two texts.

/// Maximum pairs of lines that are compared; a larger diff removes all old lines and adds all new ones.
const MAX_PAIRS: usize = 1 << 20;

/// A line of a diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiffLine<'a> {
    /// In both texts.
    Same(&'a str),
    /// Only in the old text.
    Removed(&'a str),
    /// Only in the new text.
    Added(&'a str),
}

/// Returns the lines of both texts in order; unchanged lines appear once.
pub fn diff_lines<'a>(old: &'a str, new: &'a str) -> Vec<DiffLine<'a>> {
    let is_complete = |text: &str| text.is_empty() || text.ends_with('\n');
    let end = if is_complete(old) && is_complete(new) { TrailingNewline::Both } else { TrailingNewline::NotBoth };
    let (old, new): (Vec<&str>, Vec<&str>) = (split(old, end), split(new, end));
    let prefix = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let suffix = old[prefix..].iter().rev().zip(new[prefix..].iter().rev()).take_while(|(a, b)| a == b).count();
    let (old_middle, new_middle) = (&old[prefix..old.len() - suffix], &new[prefix..new.len() - suffix]);
    let same = |lines: &[&'a str]| lines.iter().map(|line| DiffLine::Same(line)).collect::<Vec<_>>();
    [same(&old[..prefix]), diff_middle(old_middle, new_middle), same(&old[old.len() - suffix..])].concat()
}

/// How many lines a change added and removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LineCounts {
    /// Lines that only the new text has.
    pub added: u64,
    /// Lines that only the old text has.
    pub removed: u64,
}

impl LineCounts {
    /// The counts of a change.
    pub fn of(old: &str, new: &str) -> LineCounts {
        let mut counts = LineCounts::default();
        for line in diff_lines(old, new) {
            match line {
                DiffLine::Same(_) => {}
                DiffLine::Removed(_) => counts.removed += 1,
                DiffLine::Added(_) => counts.added += 1,
            }
        }
        counts
    }
}

/// Whether both texts end with a newline. A trailing newline is shown as a line only if one of the texts lacks it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TrailingNewline {
    Both,
    NotBoth,
}

/// Splits a text into lines; an empty text has none, so that a diff with it only adds or only removes.
fn split(text: &str, end: TrailingNewline) -> Vec<&str> {
    match (text, end) {
        ("", _) => Vec::new(),
        (text, TrailingNewline::Both) => text.strip_suffix('\n').unwrap_or(text).split('\n').collect(),
        (text, TrailingNewline::NotBoth) => text.split('\n').collect(),
    }
}

/// Diffs the lines between the common beginning and end of both texts, by longest common subsequence.
fn diff_middle<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<DiffLine<'a>> {
    let removed = |lines: &[&'a str]| lines.iter().map(|line| DiffLine::Removed(line)).collect::<Vec<_>>();
    let added = |lines: &[&'a str]| lines.iter().map(|line| DiffLine::Added(line)).collect::<Vec<_>>();
    if old.len().saturating_mul(new.len()) > MAX_PAIRS {
        return [removed(old), added(new)].concat();
    }
    // Length of the longest common subsequence from each pair of positions to the end.
    let width = new.len() + 1;
    let mut longest = vec![0_u32; (old.len() + 1) * width];
    for a in (0..old.len()).rev() {
        for b in (0..new.len()).rev() {
            longest[a * width + b] = match old[a] == new[b] {
                true => longest[(a + 1) * width + b + 1] + 1,
                false => longest[(a + 1) * width + b].max(longest[a * width + b + 1]),
            };
        }
    }
    let (mut a, mut b, mut lines) = (0, 0, Vec::new());
    while a < old.len() && b < new.len() {
        if old[a] == new[b] {
            lines.push(DiffLine::Same(old[a]));
            (a, b) = (a + 1, b + 1);
        } else if longest[(a + 1) * width + b] >= longest[a * width + b + 1] {
            lines.push(DiffLine::Removed(old[a]));
            a += 1;
        } else {
            lines.push(DiffLine::Added(new[b]));
            b += 1;
        }
    }
    [lines, removed(&old[a..]), added(&new[b..])].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(old: &str, new: &str) -> String {
        let line = |line: &DiffLine<'_>| match line {
            DiffLine::Same(text) => format!(" {text}"),
            DiffLine::Removed(text) => format!("-{text}"),
            DiffLine::Added(text) => format!("+{text}"),
        };
        diff_lines(old, new).iter().map(line).collect::<Vec<_>>().join("|")
    }

    #[test]
    fn unchanged_lines_appear_once() {
        assert_eq!(shown("a\nb\nc", "a\nx\nc"), " a|-b|+x| c");
        assert_eq!(shown("a\nb\nc\nd", "b\nc\ne\nd"), "-a| b| c|+e| d");
        assert_eq!(shown("", "a\nb"), "+a|+b");
        assert_eq!(shown("a", ""), "-a");
        assert_eq!(shown("a\n", "a"), " a|-");
        assert_eq!(shown("a", "a"), " a");
        assert_eq!(shown("", "one\ntwo\n"), "+one|+two");
        assert_eq!(shown("a\n", "a\nb\n"), " a|+b");
        assert_eq!(shown("a\nb\n", ""), "-a|-b");
        assert_eq!(shown("", "\n"), "+");
    }

    #[test]
    fn both_texts_can_be_rebuilt_from_a_diff_of_any_size() {
        let text =
            |step: usize, count: usize| (0..count).map(|n| (n * step % 7).to_string()).collect::<Vec<_>>().join("\n");
        for count in [5, 50, 3_000] {
            let (old, new) = (text(3, count), text(5, count + 3));
            let diff = diff_lines(&old, &new);
            let side =
                |keep: fn(&DiffLine<'_>) -> Option<String>| diff.iter().filter_map(keep).collect::<Vec<_>>().join("\n");
            let olds = side(|line| match line {
                DiffLine::Same(text) | DiffLine::Removed(text) => Some((*text).to_owned()),
                DiffLine::Added(_) => None,
            });
            let news = side(|line| match line {
                DiffLine::Same(text) | DiffLine::Added(text) => Some((*text).to_owned()),
                DiffLine::Removed(_) => None,
            });
            assert_eq!((olds, news), (old, new));
        }
    }
}

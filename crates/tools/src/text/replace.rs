//! Exact replacement in a file's bytes, and hints for text that was not found.

use super::lines::{LineEndings, display_line, split_lines, to_crlf, without_ending};

/// Which occurrences are replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReplaceScope {
    /// The only one; several are an error.
    Only,
    /// Every one.
    All,
}

/// Why nothing was replaced.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(crate) enum ReplaceError {
    /// `old` is empty.
    #[error("`old` is empty; to make a file use `create`, to insert text give the line before it in `old` and `new`")]
    Empty,
    /// Nothing would change.
    #[error("`old` and `new` are the same")]
    Same,
    /// `old` does not occur.
    #[error("`old` was not found{0}")]
    NotFound(String),
    /// `old` occurs several times.
    #[error("`old` occurs {count} times, at lines {lines}; add lines around it, or set `all`")]
    Several { count: usize, lines: String },
    /// The file would grow too large.
    #[error("the file would have {size} bytes, and at most {most} can be changed here; use the shell")]
    TooLarge { size: u64, most: u64 },
}

/// Replaces `old` with `new`; the result has at most `max_size` bytes. Both texts take the file's line endings.
pub(crate) fn replace(
    file: &[u8],
    old: &str,
    new: &str,
    scope: ReplaceScope,
    max_size: u64,
) -> Result<Vec<u8>, ReplaceError> {
    if old.is_empty() {
        return Err(ReplaceError::Empty);
    }
    if old == new {
        return Err(ReplaceError::Same);
    }
    let exact = (old.to_owned(), new.to_owned());
    let crlf = (to_crlf(old), to_crlf(new));
    let forms = match LineEndings::detect(file) {
        LineEndings::Lf => vec![exact],
        LineEndings::CrLf => vec![crlf],
        LineEndings::Mixed => vec![exact, crlf],
    };
    for (form, new) in forms {
        let places = find_occurrences(file, form.as_bytes(), scope);
        match (places.len(), scope) {
            (0, _) => {}
            _ if form == new => return Err(ReplaceError::Same),
            (1, _) | (_, ReplaceScope::All) => {
                let size = new_size(file.len() - places.len() * form.len(), places.len(), new.len());
                if size > max_size {
                    return Err(ReplaceError::TooLarge { size, most: max_size });
                }
                return Ok(splice(file, &places, form.len(), new.as_bytes()));
            }
            (count, ReplaceScope::Only) => {
                return Err(ReplaceError::Several { count, lines: line_numbers(file, &places) });
            }
        }
    }
    Err(ReplaceError::NotFound(hint(file, old)))
}

/// The offsets of `old`, without overlaps. If it must be unique, an occurrence that overlaps it also counts.
fn find_occurrences(file: &[u8], old: &[u8], scope: ReplaceScope) -> Vec<usize> {
    let mut places: Vec<usize> = memchr::memmem::find_iter(file, old).collect();
    if let ([only], ReplaceScope::Only) = (&places[..], scope)
        && let Some(at) = memchr::memmem::find(&file[only + 1..], old)
    {
        places.push(only + 1 + at);
    }
    places
}

/// The size of a file that keeps `kept` bytes and gets `new` bytes `times` times.
fn new_size(kept: usize, times: usize, new: usize) -> u64 {
    let (kept, times, new) = (kept as u64, times as u64, new as u64);
    times.saturating_mul(new).saturating_add(kept)
}

fn splice(file: &[u8], places: &[usize], old: usize, new: &[u8]) -> Vec<u8> {
    let mut result = Vec::with_capacity(file.len());
    let mut from = 0;
    for &at in places {
        result.extend_from_slice(&file[from..at]);
        result.extend_from_slice(new);
        from = at + old;
    }
    result.extend_from_slice(&file[from..]);
    result
}

fn line_numbers(file: &[u8], places: &[usize]) -> String {
    let line = |&at: &usize| file[..at].iter().filter(|&&byte| byte == b'\n').count() + 1;
    let shown: Vec<String> = places.iter().take(8).map(|at| line(at).to_string()).collect();
    let more = if places.len() > shown.len() { " …" } else { "" };
    format!("{}{more}", shown.join(", "))
}

/// Maximum line comparisons for a hint.
const MAX_COMPARISONS: usize = 100_000_000;

/// A hint at the text the model most likely meant.
fn hint(file: &[u8], old: &str) -> String {
    if old.lines().all(|line| line.split_once('\t').is_some_and(|(n, _)| n.trim().parse::<u32>().is_ok())) {
        return "; leave out the line numbers that `view` shows".into();
    }
    let lines = split_lines(file);
    let wanted: Vec<&[u8]> = old.lines().map(|line| line.as_bytes().trim_ascii()).collect();
    let matches_at = |at: usize| lines[at..].iter().zip(&wanted).all(|(line, want)| line.trim_ascii() == *want);
    let is_cheap = lines.len().saturating_mul(wanted.len()) <= MAX_COMPARISONS;
    let last = lines.len().checked_sub(wanted.len()).filter(|_| is_cheap);
    if let Some(at) = last.and_then(|last| (0..=last).find(|&at| matches_at(at))) {
        let text = display_lines(&lines[at..at + wanted.len().min(6)]);
        return format!("; lines from {} on differ only in white space:\n{text}", at + 1);
    }
    let first = wanted.iter().find(|want| !want.is_empty());
    match first.and_then(|want| closest_line(&lines, want)) {
        Some(at) => format!("; line {} is closest:\n{}", at + 1, display_lines(&lines[at..=at])),
        None => "; view the file and copy the text exactly".into(),
    }
}

fn display_lines(lines: &[&[u8]]) -> String {
    lines.iter().map(|line| display_line(line, 200)).collect::<Vec<_>>().join("\n")
}

/// The line that shares most of its beginning and end with `want`, if they share at least half.
fn closest_line(lines: &[&[u8]], want: &[u8]) -> Option<usize> {
    let similarity = |line: &[u8]| {
        let line = without_ending(line).trim_ascii();
        let shorter = line.len().min(want.len());
        let start = line.iter().zip(want).take_while(|(a, b)| a == b).count();
        let end = line.iter().rev().zip(want.iter().rev()).take(shorter - start).take_while(|(a, b)| a == b).count();
        (start + end) * 100 / line.len().max(want.len()).max(1)
    };
    let (best, at) = lines
        .iter()
        .enumerate()
        .map(|(at, line)| (similarity(line), at))
        .max_by_key(|&(like, at)| (like, usize::MAX - at))?;
    (best >= 50).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX_SIZE: u64 = 1000;

    fn replace_only(file: &str, old: &str, new: &str) -> Result<String, String> {
        let bytes =
            replace(file.as_bytes(), old, new, ReplaceScope::Only, MAX_SIZE).map_err(|error| error.to_string())?;
        Ok(String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn the_only_occurrence_is_replaced() {
        assert_eq!(replace_only("one two", "two", "2").as_deref(), Ok("one 2"));
        assert_eq!(replace_only("a\nb\n", "a\nb\n", "").as_deref(), Ok(""));
        assert_eq!(
            replace(b"\xff old \xfe", "old", "new", ReplaceScope::Only, MAX_SIZE),
            Ok(b"\xff new \xfe".to_vec())
        );
    }

    #[test]
    fn overlapping_occurrences_count_as_several() {
        let several = replace_only("{\n}\n}\n}\n", "}\n}\n", "}\n").unwrap_err();
        assert!(several.contains("occurs 2 times, at lines 2, 3;"), "{several}");
        assert_eq!(replace_only("}\n}\n", "}\n}\n", "}\n").as_deref(), Ok("}\n"));
    }

    #[test]
    fn too_large_results_are_refused() {
        let (file, new) = ("a".repeat(1 << 20), "x".repeat(1 << 20));
        let error = replace(file.as_bytes(), "a", &new, ReplaceScope::All, MAX_SIZE).unwrap_err();
        assert_eq!(error, ReplaceError::TooLarge { size: 1 << 40, most: MAX_SIZE });
        assert_eq!(replace(b"aa", "a", &"x".repeat(500), ReplaceScope::All, MAX_SIZE).unwrap().len(), 1000);
        assert!(replace(b"aaa", "a", &"x".repeat(500), ReplaceScope::All, MAX_SIZE).is_err());
    }

    #[test]
    fn texts_that_differ_only_in_line_endings_are_equal_in_a_uniform_file() {
        assert_eq!(replace_only("a\r\nb\r\n", "a\r\nb", "a\nb"), Err(ReplaceError::Same.to_string()));
        assert_eq!(replace_only("a\r\nb\nc\n", "a\r\nb", "a\nb").as_deref(), Ok("a\nb\nc\n"));
    }

    #[test]
    fn every_occurrence_is_replaced_when_asked() {
        assert_eq!(replace(b"aaa", "a", "aa", ReplaceScope::All, MAX_SIZE), Ok(b"aaaaaa".to_vec()));
        assert_eq!(replace(b"aaaa", "aa", "b", ReplaceScope::All, MAX_SIZE), Ok(b"bb".to_vec()));
        assert!(replace_only("x\nx\ny\nx\n", "x", "y").unwrap_err().contains("occurs 3 times, at lines 1, 2, 4"));
    }

    #[test]
    fn line_endings_of_the_file_are_kept() {
        assert_eq!(replace_only("a\r\nb\r\n", "a\nb", "x\ny").as_deref(), Ok("x\r\ny\r\n"));
        assert_eq!(replace_only("a\r\nb\r\n", "a\r\nb", "x\ny").as_deref(), Ok("x\r\ny\r\n"));
        assert_eq!(replace_only("a\r\nb\nc\n", "a\nb", "x\ny").as_deref(), Ok("x\r\ny\nc\n"));
        assert_eq!(replace_only("a\r\nb\nc\n", "b\nc", "x\ny").as_deref(), Ok("a\r\nx\ny\n"));
    }

    #[test]
    fn expensive_hints_are_left_out() {
        let began = std::time::Instant::now();
        let old = format!("{}x", " \n".repeat(1 << 17));
        assert!(replace_only(&"\n".repeat(1 << 18), &old, "y").unwrap_err().contains("not found"));
        assert!(began.elapsed() < std::time::Duration::from_secs(10));
    }

    #[test]
    fn missing_text_gets_a_hint() {
        let file = "fn main() {\n    let count = 1;\n}\n";
        let table = [
            (
                "fn main() {\n  let count = 1;",
                "lines from 1 on differ only in white space:\nfn main() {\n    let count",
            ),
            ("2\t    let count = 1;", "leave out the line numbers"),
            ("let count = 2;", "line 2 is closest:\n    let count = 1;"),
            ("nothing like it", "view the file"),
            ("", "`old` is empty"),
            ("x", "the same"),
        ];
        for (old, expected) in table {
            let message = replace_only(file, old, "x").unwrap_err();
            assert!(message.contains(expected), "{old}: {message}");
        }
        assert!(replace_only("", "x", "y").unwrap_err().contains("not found"));
    }
}

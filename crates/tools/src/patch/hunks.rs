//! Finds a patch's hunks in a file and applies them. Lines are bytes, so text that is not UTF-8 is preserved, and line
//! endings stay as they are in the file.

use super::envelope::{Hunk, HunkLine};
use crate::text::{LineEndings, split_lines, without_ending};

/// A file after its hunks were applied.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PatchedFile {
    /// The new content.
    pub(crate) bytes: Vec<u8>,
    /// How well the hunks matched.
    pub(crate) fit: HunkFit,
}

/// How well a hunk matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum HunkFit {
    /// Every line is equal.
    Exact,
    /// Some lines differ in trailing white space.
    Trimmed,
    /// The hunk has no lines to compare.
    NothingToCompare,
}

/// Why a hunk was not applied.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(crate) enum HunkError {
    /// Its `@@` line is not in the file.
    #[error("hunk at line {number} of the patch: no line `{scope}` after line {after} of the file")]
    NoScope { number: usize, scope: String, after: usize },
    /// Its lines are not in the file.
    #[error("hunk at line {number} of the patch: its lines were not found after line {after} of the file{hint}")]
    NotFound { number: usize, after: usize, hint: String },
    /// Its lines are in the file several times.
    #[error(
        "hunk at line {number} of the patch: its lines occur at lines {places} of the file; add lines around them, or \
         an `@@` line with the function they are in"
    )]
    Ambiguous { number: usize, places: String },
    /// The search for its lines would take too long.
    #[error("{wanted} lines are too many to look for in a file of {lines} lines; split the patch, or use the shell")]
    TooMany { wanted: usize, lines: usize },
}

/// Maximum line comparisons for a patch of one file.
const MAX_COMPARISONS: usize = 10_000_000_000;

/// Applies the hunks from top to bottom.
pub(crate) fn apply(file: &[u8], hunks: &[Hunk]) -> Result<PatchedFile, HunkError> {
    let old = split_lines(file);
    let line_count = hunks.iter().map(|hunk| 1 + hunk.scopes.len() + hunk.lines.len()).sum::<usize>();
    if line_count.saturating_mul(old.len()) > MAX_COMPARISONS {
        return Err(HunkError::TooMany { wanted: line_count, lines: old.len() });
    }
    let mut edit = PatchEdit { old: &old, ending: LineEndings::detect(file).newline(), consumed: 0, new: Vec::new() };
    let mut fit = HunkFit::Exact;
    for hunk in hunks {
        let (at, found) = locate(&old, edit.consumed, hunk)?;
        edit.copy_to(at);
        edit.replace(&hunk.lines);
        fit = fit.max(found);
    }
    edit.copy_to(old.len());
    Ok(PatchedFile { bytes: edit.new, fit })
}

struct PatchEdit<'a> {
    old: &'a [&'a [u8]],
    ending: &'static [u8],
    /// The number of old lines copied or removed so far.
    consumed: usize,
    new: Vec<u8>,
}

impl PatchEdit<'_> {
    fn copy_to(&mut self, end: usize) {
        for line in &self.old[self.consumed..end] {
            self.new.extend_from_slice(line);
        }
        self.consumed = end;
    }

    fn replace(&mut self, lines: &[HunkLine]) {
        for line in lines {
            match line {
                // The file's own line: it may differ in trailing white space, and it has its own line ending.
                HunkLine::Keep(_) => self.copy_to(self.consumed + 1),
                HunkLine::Remove(_) => self.consumed += 1,
                HunkLine::Add(text) => {
                    self.end_line();
                    self.new.extend_from_slice(text.as_bytes());
                    self.new.extend_from_slice(self.ending);
                }
            }
        }
    }

    /// Ends an unterminated last line before something follows it.
    fn end_line(&mut self) {
        if !self.new.is_empty() && !self.new.ends_with(b"\n") {
            self.new.extend_from_slice(self.ending);
        }
    }
}

fn locate(file: &[&[u8]], from: usize, hunk: &Hunk) -> Result<(usize, HunkFit), HunkError> {
    let mut from = from;
    for scope in &hunk.scopes {
        let found = (from..file.len()).find(|&at| file[at].trim_ascii() == scope.as_bytes());
        let found = found.or_else(|| (from..file.len()).find(|&at| contains(file[at], scope.as_bytes())));
        let missing = || HunkError::NoScope { number: hunk.patch_line, scope: scope.clone(), after: from };
        from = found.ok_or_else(missing)? + 1;
    }
    let wanted: Vec<&[u8]> = hunk.lines.iter().filter_map(expected_text).collect();
    if wanted.is_empty() {
        let at = if hunk.scopes.is_empty() || hunk.at_end { file.len() } else { from };
        return Ok((at, HunkFit::NothingToCompare));
    }
    for (fit, is_same) in
        [(HunkFit::Exact, equal_without_ending as fn(&[u8], &[u8]) -> bool), (HunkFit::Trimmed, equal_when_trimmed)]
    {
        let places = matching_lines(file, from, &wanted, is_same, hunk.at_end);
        match places[..] {
            [] => {}
            [at] => return Ok((at, fit)),
            // The scope selects the first one.
            [at, ..] if !hunk.scopes.is_empty() => return Ok((at, fit)),
            [..] => return Err(HunkError::Ambiguous { number: hunk.patch_line, places: line_numbers(&places) }),
        }
    }
    Err(HunkError::NotFound { number: hunk.patch_line, after: from, hint: hint(file, &wanted) })
}

fn expected_text(line: &HunkLine) -> Option<&[u8]> {
    match line {
        HunkLine::Keep(text) | HunkLine::Remove(text) => Some(text.as_bytes()),
        HunkLine::Add(_) => None,
    }
}

fn matching_lines(
    file: &[&[u8]],
    from: usize,
    wanted: &[&[u8]],
    is_same: fn(&[u8], &[u8]) -> bool,
    at_end: bool,
) -> Vec<usize> {
    let Some(last) = file.len().checked_sub(wanted.len()) else { return Vec::new() };
    let first = if at_end { from.max(last) } else { from };
    (first..=last).filter(|&at| file[at..].iter().zip(wanted).all(|(line, want)| is_same(line, want))).collect()
}

/// Compares without the line ending, which a patch does not show.
fn equal_without_ending(line: &[u8], want: &[u8]) -> bool {
    without_ending(line) == without_ending(want)
}

fn equal_when_trimmed(line: &[u8], want: &[u8]) -> bool {
    line.trim_ascii_end() == want.trim_ascii_end()
}

fn contains(line: &[u8], part: &[u8]) -> bool {
    memchr::memmem::find(line, part).is_some()
}

fn line_numbers(places: &[usize]) -> String {
    let shown: Vec<String> = places.iter().take(8).map(|at| (at + 1).to_string()).collect();
    let more = if places.len() > shown.len() { " …" } else { "" };
    format!("{}{more}", shown.join(", "))
}

/// The closest match in the file, as a hint for the model.
fn hint(file: &[&[u8]], wanted: &[&[u8]]) -> String {
    let loose = |line: &[u8], want: &[u8]| line.trim_ascii() == want.trim_ascii();
    if let [at, ..] = matching_lines(file, 0, wanted, loose, false)[..] {
        return format!("; line {} has them with other indentation or before an earlier hunk", at + 1);
    }
    let first = wanted.iter().find(|want| !want.trim_ascii().is_empty());
    let near = first.and_then(|want| file.iter().position(|line| loose(line, want)));
    near.map_or_else(
        || "; view the file and write the hunk from its current text".into(),
        |at| format!("; line {} matches the hunk's first line, but what follows differs", at + 1),
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::patch::{PatchChange, parse};

    fn run(file: &str, body: &str) -> Result<(String, HunkFit), String> {
        let text = format!("*** Begin Patch\n*** Update File: f\n{body}\n*** End Patch");
        let [PatchChange::Update { hunks, .. }] = &parse(&text).unwrap()[..] else { panic!("{text}") };
        let patched = apply(file.as_bytes(), hunks).map_err(|error| error.to_string())?;
        Ok((String::from_utf8(patched.bytes).unwrap(), patched.fit))
    }

    fn assert_patched(file: &str, body: &str, expected: &str, fit: HunkFit) {
        assert_eq!(run(file, body), Ok((expected.into(), fit)), "{body}");
    }

    #[test]
    fn hunks_apply_where_their_lines_are() {
        assert_patched("a\nb\nc\n", " a\n-b\n+B\n c", "a\nB\nc\n", HunkFit::Exact);
        assert_patched("a\nb\nc\n", "-a\n+A\n@@\n-c\n+C", "A\nb\nC\n", HunkFit::Exact);
        assert_patched("a  \nb\n", " a\n-b\n+B", "a  \nB\n", HunkFit::Trimmed);
        assert_patched("a\nb\n", "+c", "a\nb\nc\n", HunkFit::NothingToCompare);
        assert_patched("a", "+b", "a\nb\n", HunkFit::NothingToCompare);
        assert_patched("a", "-a\n+b", "b\n", HunkFit::Exact);
        assert_patched("", "+a", "a\n", HunkFit::NothingToCompare);
        assert_patched("a\nb", " a\n+x\n b", "a\nx\nb", HunkFit::Exact);
        assert_patched("x\na\nx\n", "-x\n+y\n*** End of File", "x\na\ny\n", HunkFit::Exact);
    }

    #[test]
    fn line_endings_of_the_file_are_kept() {
        assert_patched("a\r\nb\r\nc\r\n", " a\n-b\n+B\n c", "a\r\nB\r\nc\r\n", HunkFit::Exact);
        assert_patched("a\r\nb\nc\r\n", " a\n b\n+x\n c", "a\r\nb\nx\nc\r\n", HunkFit::Exact);
    }

    #[test]
    fn a_scope_selects_among_equal_lines() {
        let file = "fn a() {\n    x\n}\nfn b() {\n    x\n}\n";
        assert_patched(file, "@@ fn b() {\n-    x\n+    y", "fn a() {\n    x\n}\nfn b() {\n    y\n}\n", HunkFit::Exact);
        assert_patched(file, "@@ fn b\n-    x\n+    y", "fn a() {\n    x\n}\nfn b() {\n    y\n}\n", HunkFit::Exact);
        assert_patched(
            file,
            "@@ fn b() {\n+    z",
            "fn a() {\n    x\n}\nfn b() {\n    z\n    x\n}\n",
            HunkFit::NothingToCompare,
        );
        assert!(run(file, "-    x\n+    y").unwrap_err().contains("occur at lines 2, 5"));
        assert!(run(file, "@@ fn c\n-    x").unwrap_err().contains("no line `fn c`"));
    }

    #[test]
    fn a_patch_that_would_take_too_long_is_refused() {
        let file = "\n".repeat(1 << 20);
        let began = std::time::Instant::now();
        for body in [format!("{}-x", "\n".repeat(1 << 19)), "-x\n@@\n".repeat(1 << 16) + "-x"] {
            let error = run(&file, &body).unwrap_err();
            assert!(error.contains("split the patch"), "{error}");
        }
        assert!(began.elapsed() < std::time::Duration::from_secs(10));
    }

    proptest! {
        /// A patch that applies adds and removes exactly the lines that it names.
        #[test]
        fn any_patch_applies_or_is_refused(
            file in "([ab ]{0,2}\r?\n){0,8}[ab]?",
            body in "(@@ a\n|[ +-][ab ]{0,2}\n){1,8}",
        ) {
            let text = format!("*** Begin Patch\n*** Update File: f\n{body}*** End Patch");
            let Ok(changes) = parse(&text) else { return Ok(()) };
            let [PatchChange::Update { hunks, .. }] = &changes[..] else { panic!("{text}") };
            if let Ok(patched) = apply(file.as_bytes(), hunks) {
                let count = |kind: char| body.lines().filter(|line| line.starts_with(kind)).count();
                let lines = split_lines(file.as_bytes()).len() + count('+') - count('-');
                prop_assert_eq!(split_lines(&patched.bytes).len(), lines);
            }
        }
    }

    #[test]
    fn a_hunk_that_is_not_found_gets_a_hint() {
        let file = "a\n    b\nc\n";
        assert!(run(file, " a\n-b\n+B").unwrap_err().contains("line 1 has them with other indentation"));
        assert!(run(file, " a\n-x\n+B").unwrap_err().contains("line 1 matches the hunk's first line"));
        assert!(run(file, "-x\n+B").unwrap_err().contains("view the file"));
        assert!(run(file, "-c\n+C\n@@\n-a\n+A").unwrap_err().contains("before an earlier hunk"));
        assert!(run("", "-a\n+b").unwrap_err().contains("not found"));
    }
}

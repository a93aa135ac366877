//! The patch envelope: parses the text into a list of changes. Nothing here touches a file.

/// One file's part of a patch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PatchChange {
    /// Creates a file.
    Add {
        /// Its path.
        path: String,
        /// Its lines.
        lines: Vec<String>,
    },
    /// Changes a file, and moves it when `to` is given.
    Update {
        /// Its path.
        path: String,
        /// Its new path.
        to: Option<String>,
        /// Its changes, from top to bottom.
        hunks: Vec<Hunk>,
    },
    /// Removes a file.
    Delete {
        /// Its path.
        path: String,
    },
}

impl PatchChange {
    /// The files that it creates, changes or removes.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        let (path, to) = match self {
            PatchChange::Add { path, .. } | PatchChange::Delete { path } => (path, None),
            PatchChange::Update { path, to, .. } => (path, to.as_deref()),
        };
        std::iter::once(path.as_str()).chain(to)
    }

    /// The file whose text it is matched against.
    pub(crate) fn source(&self) -> Option<&str> {
        match self {
            PatchChange::Update { path, .. } => Some(path),
            PatchChange::Add { .. } | PatchChange::Delete { .. } => None,
        }
    }
}

/// A run of lines to find and how to change them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Hunk {
    /// The line of the patch where it starts, for messages.
    pub(crate) patch_line: usize,
    /// Lines to find first, one after the other (`@@ …`).
    pub(crate) scopes: Vec<String>,
    /// The lines themselves.
    pub(crate) lines: Vec<HunkLine>,
    /// Whether the lines are at the end of the file.
    pub(crate) at_end: bool,
}

/// One line of a hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HunkLine {
    /// Unchanged.
    Keep(String),
    /// Removed.
    Remove(String),
    /// Added.
    Add(String),
}

/// An error in a patch's text.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("line {line} of the patch: {what}")]
pub(crate) struct PatchError {
    line: usize,
    what: String,
}

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const END_OF_FILE: &str = "*** End of File";
const ADD: &str = "*** Add File: ";
const UPDATE: &str = "*** Update File: ";
const DELETE: &str = "*** Delete File: ";
const MOVE: &str = "*** Move to: ";

/// Reads a patch.
pub(crate) fn parse(text: &str) -> Result<Vec<PatchChange>, PatchError> {
    let mut lines = PatchLines { lines: text.trim().lines().collect(), lines_read: 0 };
    if lines.next().map(str::trim_end) != Some(BEGIN) {
        return Err(lines.error(format!("it must be `{BEGIN}`")));
    }
    let mut changes = Vec::new();
    loop {
        let Some(line) = lines.next() else {
            return Err(lines.error(format!("the patch ends without `{END}`")));
        };
        if line.trim_end() == END {
            break;
        }
        changes.push(parse_change(line, &mut lines)?);
    }
    if lines.peek().is_some() {
        lines.lines_read += 1;
        return Err(lines.error(format!("nothing may follow `{END}`")));
    }
    if changes.is_empty() {
        return Err(lines.error("the patch changes no file".into()));
    }
    Ok(changes)
}

struct PatchLines<'a> {
    lines: Vec<&'a str>,
    /// The number of lines read so far.
    lines_read: usize,
}

impl<'a> PatchLines<'a> {
    fn peek(&self) -> Option<&'a str> {
        self.lines.get(self.lines_read).copied()
    }

    fn next(&mut self) -> Option<&'a str> {
        let line = self.peek();
        self.lines_read += 1;
        line
    }

    /// The next line, unless it starts a new section.
    fn next_in_section(&mut self) -> Option<&'a str> {
        self.peek().filter(|line| !line.starts_with("*** "))?;
        self.next()
    }

    /// An error at the line last read.
    fn error(&self, what: String) -> PatchError {
        PatchError { line: self.lines_read, what }
    }
}

fn parse_change(header: &str, lines: &mut PatchLines<'_>) -> Result<PatchChange, PatchError> {
    if let Some(path) = header.strip_prefix(ADD) {
        let path = parse_path(path, lines)?;
        return Ok(PatchChange::Add { path, lines: added_lines(lines)? });
    }
    if let Some(path) = header.strip_prefix(DELETE) {
        return Ok(PatchChange::Delete { path: parse_path(path, lines)? });
    }
    let Some(path) = header.strip_prefix(UPDATE) else {
        return Err(lines.error(format!("expected `{ADD}…`, `{UPDATE}…`, `{DELETE}…` or `{END}`")));
    };
    let path = parse_path(path, lines)?;
    let to = match lines.peek().and_then(|line| line.strip_prefix(MOVE)) {
        Some(to) => {
            lines.lines_read += 1;
            Some(parse_path(to, lines)?)
        }
        None => None,
    };
    let hunks = parse_hunks(lines)?;
    if hunks.is_empty() && to.is_none() {
        return Err(lines.error(format!("the update of {path} has no lines")));
    }
    Ok(PatchChange::Update { path, to, hunks })
}

fn parse_path(text: &str, lines: &PatchLines<'_>) -> Result<String, PatchError> {
    let path = text.trim();
    if path.is_empty() { Err(lines.error("the path is missing".into())) } else { Ok(path.to_owned()) }
}

fn added_lines(lines: &mut PatchLines<'_>) -> Result<Vec<String>, PatchError> {
    let mut added = Vec::new();
    while let Some(line) = lines.next_in_section() {
        match line.strip_prefix('+') {
            Some(line) => added.push(line.to_owned()),
            None => return Err(lines.error("each line of a new file begins with `+`".into())),
        }
    }
    Ok(added)
}

fn parse_hunks(lines: &mut PatchLines<'_>) -> Result<Vec<Hunk>, PatchError> {
    let mut hunks: Vec<Hunk> = Vec::new();
    let mut hunk = Hunk::default();
    loop {
        if lines.peek().is_some_and(|line| line.trim_end() == END_OF_FILE) {
            lines.lines_read += 1;
            hunk.at_end = true;
            finish_hunk(&mut hunk, &mut hunks, lines)?;
            continue;
        }
        let Some(line) = lines.next_in_section() else { break };
        if let Some(scope) = line.strip_prefix("@@") {
            if !hunk.lines.is_empty() {
                finish_hunk(&mut hunk, &mut hunks, lines)?;
            }
            // A bare `@@` only separates.
            hunk.scopes.extend(Some(scope.trim()).filter(|scope| !scope.is_empty()).map(str::to_owned));
            continue;
        }
        if hunk.lines.is_empty() {
            hunk.patch_line = lines.lines_read;
        }
        hunk.lines.push(hunk_line(line, lines)?);
    }
    if !hunk.lines.is_empty() || !hunk.scopes.is_empty() {
        finish_hunk(&mut hunk, &mut hunks, lines)?;
    }
    Ok(hunks)
}

fn finish_hunk(current: &mut Hunk, hunks: &mut Vec<Hunk>, lines: &PatchLines<'_>) -> Result<(), PatchError> {
    let hunk = std::mem::take(current);
    if hunk.lines.is_empty() {
        return Err(lines.error("the hunk has no lines".into()));
    }
    if hunk.lines.iter().all(|line| matches!(line, HunkLine::Keep(_))) {
        return Err(PatchError { line: hunk.patch_line, what: "the hunk neither adds nor removes a line".into() });
    }
    hunks.push(hunk);
    Ok(())
}

fn hunk_line(line: &str, lines: &PatchLines<'_>) -> Result<HunkLine, PatchError> {
    let mut chars = line.chars();
    match chars.next() {
        // Models often drop the space of an empty line.
        None => Ok(HunkLine::Keep(String::new())),
        Some(' ') => Ok(HunkLine::Keep(chars.as_str().to_owned())),
        Some('-') => Ok(HunkLine::Remove(chars.as_str().to_owned())),
        Some('+') => Ok(HunkLine::Add(chars.as_str().to_owned())),
        Some(_) => Err(lines.error("a hunk's line begins with a space, `-` or `+`".into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_every_kind_of_change() {
        let text = "*** Begin Patch\n*** Add File: a b.txt\n+one\n+\n*** Update File: x.rs\n*** Move to: y.rs\n@@ mod m\n@@ \
                    fn f\n keep\n-old\n+new\n\n@@\n+end\n*** End of File\n*** Delete File: gone\n*** End Patch\n";
        let first = Hunk {
            patch_line: 9,
            scopes: vec!["mod m".into(), "fn f".into()],
            lines: vec![
                HunkLine::Keep("keep".into()),
                HunkLine::Remove("old".into()),
                HunkLine::Add("new".into()),
                HunkLine::Keep(String::new()),
            ],
            at_end: false,
        };
        let second = Hunk { patch_line: 14, scopes: vec![], lines: vec![HunkLine::Add("end".into())], at_end: true };
        let expected = vec![
            PatchChange::Add { path: "a b.txt".into(), lines: vec!["one".into(), String::new()] },
            PatchChange::Update { path: "x.rs".into(), to: Some("y.rs".into()), hunks: vec![first, second] },
            PatchChange::Delete { path: "gone".into() },
        ];
        assert_eq!(parse(text), Ok(expected));
    }

    #[test]
    fn bad_patches_are_refused_with_their_line() {
        let table = [
            ("", "line 1 of the patch: it must be `*** Begin Patch`"),
            ("--- a\n+++ b", "line 1 of the patch: it must be `*** Begin Patch`"),
            ("*** Begin Patch", "line 2 of the patch: the patch ends without `*** End Patch`"),
            ("*** Begin Patch\n*** End Patch", "line 2 of the patch: the patch changes no file"),
            ("*** Begin Patch\n+x\n*** End Patch", "line 2 of the patch: expected `*** Add File: …`"),
            ("*** Begin Patch\n*** Add File: \n*** End Patch", "line 2 of the patch"),
            ("*** Begin Patch\n*** Add File: a\nx\n*** End Patch", "line 3 of the patch: each line of a new file"),
            ("*** Begin Patch\n*** Update File: a\n*** End Patch", "the update of a has no lines"),
            ("*** Begin Patch\n*** Update File: a\n@@ x\n*** End Patch", "the hunk has no lines"),
            ("*** Begin Patch\n*** Update File: a\n x\n*** End Patch", "line 3 of the patch: the hunk neither"),
            ("*** Begin Patch\n*** Update File: a\nx\n*** End Patch", "line 3 of the patch: a hunk's line begins"),
            ("*** Begin Patch\n*** Delete File: a\n+x\n*** End Patch", "line 3 of the patch: expected"),
            ("*** Begin Patch\n*** Delete File: a\n*** End Patch\nmore", "line 4 of the patch: nothing may follow"),
        ];
        for (text, expected) in table {
            let message = parse(text).expect_err(text).to_string();
            assert!(message.starts_with(expected) || message.contains(expected), "{text}: {message}");
        }
    }
}

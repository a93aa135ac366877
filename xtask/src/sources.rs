//! The repository's Rust sources, split into code, literals and comments.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::run;

/// One Rust file.
pub(crate) struct SourceFile {
    /// Its path, relative to the root of the repository.
    pub(crate) path: PathBuf,
    /// Its text.
    pub(crate) text: String,
}

impl SourceFile {
    /// The crate it belongs to: the folder under `crates`, or `testkit` or `xtask`.
    pub(crate) fn owner(&self) -> &str {
        let mut parts = self.path.iter().filter_map(|part| part.to_str());
        match parts.next() {
            Some("crates") => parts.next().unwrap_or_default(),
            Some(part) => part,
            None => "",
        }
    }
}

/// Every Rust file of the workspace, by path.
pub(crate) fn all() -> Result<Vec<SourceFile>> {
    let mut found = Vec::new();
    for folder in ["crates", "testkit", "xtask"] {
        walk(&run::root().join(folder), &mut found)?;
    }
    found.sort_by(|one, two| one.path.cmp(&two.path));
    Ok(found)
}

fn walk(folder: &Path, found: &mut Vec<SourceFile>) -> Result<()> {
    let unreadable = || format!("cannot read {}", folder.display());
    for entry in fs::read_dir(folder).with_context(unreadable)? {
        let path = entry.with_context(unreadable)?.path();
        if path.is_dir() {
            walk(&path, found)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
            let path = path.strip_prefix(run::root()).unwrap_or(&path).to_owned();
            found.push(SourceFile { path, text });
        }
    }
    Ok(())
}

/// The shipped code: files of our crates without tests and examples. Test code inside a file is blanked.
pub(crate) fn shipped(sources: &[SourceFile]) -> Vec<SourceFile> {
    let is_test = |path: &Path| {
        !path.starts_with("crates")
            || path.iter().any(|part| ["tests", "tests.rs", "examples"].iter().any(|name| part == *name))
    };
    let (mut files, mut test_modules) = (Vec::new(), Vec::new());
    for source in sources.iter().filter(|source| !is_test(&source.path)) {
        let (text, modules) = without_tests(&source.text);
        test_modules.extend(modules.into_iter().map(|module| module_path(&source.path, &module)));
        files.push(SourceFile { path: source.path.clone(), text });
    }
    files.retain(|file| {
        !test_modules.iter().any(|module| file.path.starts_with(module) || file.path.with_extension("") == *module)
    });
    files
}

/// Blanks the items that are compiled for tests only; also returns the names of test modules in their own files.
fn without_tests(text: &str) -> (String, Vec<String>) {
    const MARK: &str = "#[cfg(test)]";
    let code = only(text, &[ByteKind::Code]);
    let (mut shown, mut modules, mut from) = (text.as_bytes().to_vec(), Vec::new(), 0);
    while let Some(at) = code[from..].find(MARK).map(|found| from + found) {
        let item = at + MARK.len();
        let end = item + item_length(&code[item..]);
        if let Some(("mod", name)) = code[item..end].trim().trim_end_matches(';').split_once(' ') {
            modules.push(name.to_owned());
        }
        for byte in &mut shown[at..end] {
            *byte = if *byte == b'\n' { b'\n' } else { b' ' };
        }
        from = end;
    }
    (String::from_utf8_lossy(&shown).into_owned(), modules)
}

/// The length of the item that begins here: up to its semicolon or closing brace.
fn item_length(code: &str) -> usize {
    let mut depth = 0u32;
    for (at, letter) in code.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' if depth <= 1 => return at + 1,
            '}' => depth -= 1,
            ';' if depth == 0 => return at + 1,
            _other => {}
        }
    }
    code.len()
}

/// The path, without its extension, of the module that a file declares.
fn module_path(file: &Path, module: &str) -> PathBuf {
    let is_folder_file = ["mod.rs", "lib.rs", "main.rs"].iter().any(|name| file.ends_with(name));
    let folder = if is_folder_file { file.parent().unwrap_or(file).to_owned() } else { file.with_extension("") };
    folder.join(module)
}

/// The kind of source text that a byte belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ByteKind {
    /// Code.
    Code,
    /// A string or character literal, with its quotes.
    Literal,
    /// A comment.
    Comment,
}

/// Blanks everything that is not of a kind in `kept`; line numbers stay the same.
pub(crate) fn only(source: &str, kept: &[ByteKind]) -> String {
    let bytes = source.as_bytes();
    let shown = tokens(source).flat_map(|(kind, range)| {
        bytes[range].iter().map(move |&byte| if byte == b'\n' || kept.contains(&kind) { byte } else { b' ' })
    });
    String::from_utf8_lossy(&shown.collect::<Vec<u8>>()).into_owned()
}

/// The tokens of a source in order: literals with their quotes, comments, and single bytes of code.
pub(crate) fn tokens(source: &str) -> impl Iterator<Item = (ByteKind, Range<usize>)> {
    let bytes = source.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = bytes.get(at..).filter(|rest| !rest.is_empty())?;
        let (kind, length) = token(rest, at > 0 && is_word(bytes[at - 1]));
        let range = at..(at + length.max(1)).min(bytes.len());
        at = range.end;
        Some((kind, range))
    })
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// The kind of the token that begins here, and its length in bytes.
fn token(rest: &[u8], after_word: bool) -> (ByteKind, usize) {
    match rest {
        [b'/', b'/', ..] => (ByteKind::Comment, until(rest, 2, b"\n")),
        [b'/', b'*', ..] => (ByteKind::Comment, block_comment(rest)),
        [b'"', ..] => (ByteKind::Literal, quoted(rest)),
        [b'r', b'"' | b'#', ..] if !after_word => {
            raw(rest).map_or((ByteKind::Code, 1), |length| (ByteKind::Literal, length))
        }
        [b'b', b'r', b'"' | b'#', ..] if !after_word => {
            raw(&rest[1..]).map_or((ByteKind::Code, 2), |length| (ByteKind::Literal, length + 1))
        }
        [b'\'', b'\\', ..] => (ByteKind::Literal, 2 + until(&rest[2..], 1, b"'")),
        [b'\'', ..] => character(rest).map_or((ByteKind::Code, 1), |length| (ByteKind::Literal, length)),
        _ => (ByteKind::Code, 1),
    }
}

/// The length up to and including `end`, searched from `from`.
fn until(rest: &[u8], from: usize, end: &[u8]) -> usize {
    let found = rest.get(from..).and_then(|tail| tail.windows(end.len()).position(|window| window == end));
    found.map_or(rest.len(), |at| from + at + end.len())
}

fn block_comment(rest: &[u8]) -> usize {
    let (mut depth, mut at) = (0u32, 0);
    while at < rest.len() {
        match &rest[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] if depth == 1 => return at + 2,
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
    }
    rest.len()
}

fn quoted(rest: &[u8]) -> usize {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    rest.len()
}

fn raw(rest: &[u8]) -> Option<usize> {
    let hashes = rest[1..].iter().take_while(|&&byte| byte == b'#').count();
    if rest.get(1 + hashes) != Some(&b'"') {
        return None;
    }
    let end: Vec<u8> = std::iter::once(b'"').chain(std::iter::repeat_n(b'#', hashes)).collect();
    Some(until(rest, 2 + hashes, &end))
}

/// A character literal; a lifetime has no closing quote where one would be.
fn character(rest: &[u8]) -> Option<usize> {
    let text = std::str::from_utf8(&rest[1..rest.len().min(6)]);
    let text = text.or_else(|error| std::str::from_utf8(&rest[1..1 + error.valid_up_to()])).ok()?;
    let length = text.chars().next()?.len_utf8();
    (rest.get(1 + length) == Some(&b'\'')).then_some(length + 2)
}

/// Every whole word of `text`.
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !(letter.is_alphanumeric() || letter == '_')).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_literals_and_comments_are_told_apart() {
        let source = "let a = \"x // y \\\" z\"; // c 'd\nfn f<'a>(b: &'a u8) {} /* e /* f */ g */ let h = r#\"i \"j\" k\"#; let l = '\\''; let m = '\"'; let n = br#\"o\"p\"#; q";
        let code: String = only(source, &[ByteKind::Code]).split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(code, "let a = ; fn f<'a>(b: &'a u8) {} let h = ; let l = ; let m = ; let n = ; q");
        let comments: Vec<_> = only(source, &[ByteKind::Comment]).split_whitespace().map(str::to_owned).collect();
        assert_eq!(comments.join(" "), "// c 'd /* e /* f */ g */");
    }

    #[test]
    fn shipped_code_has_no_tests() {
        let file = |path: &str, text: &str| SourceFile { path: path.into(), text: text.into() };
        let sources = [
            file(
                "crates/a/src/lib.rs",
                "#[cfg(test)]\nmod random;\nmod b;\n#[cfg(test)]\nmod inner { fn f() { x } }\nlast",
            ),
            file("crates/a/src/random.rs", "x"),
            file("crates/a/src/random/deep.rs", "x"),
            file("crates/a/src/b.rs", "#[cfg(test)]\nuse a::{b, c};\n#[cfg(test)]\nmod sum;"),
            file("crates/a/src/b/sum.rs", "x"),
            file("crates/a/src/sum.rs", "kept"),
            file("crates/a/tests/it/main.rs", "x"),
            file("crates/a/src/c/tests.rs", "x"),
            file("testkit/src/lib.rs", "x"),
        ];
        let shown: Vec<(String, String)> = shipped(&sources)
            .into_iter()
            .map(|file| (file.path.display().to_string(), file.text.split_whitespace().collect()))
            .collect();
        let expected =
            [("crates/a/src/lib.rs", "modb;last"), ("crates/a/src/b.rs", ";"), ("crates/a/src/sum.rs", "kept")];
        assert_eq!(shown, expected.map(|(path, text)| (path.to_owned(), text.to_owned())));
    }

    #[test]
    fn blanking_keeps_every_line_in_its_place() {
        let source = "a\n/* b\nc */ d\n\"e\nf\" g\n";
        assert_eq!(only(source, &[ByteKind::Code]).lines().count(), source.lines().count());
    }
}

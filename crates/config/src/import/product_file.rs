//! A file of another product: its owner, and its text as JSON or TOML.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::survey::ImportSurvey;

/// Maximum size of such a file, in bytes. Some contain a history.
const MAX_FILE_BYTES: u64 = 32 << 20;

/// The owner of a file, which determines where its settings go and whether they may allow more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SourceOwner {
    /// The user's, for every project.
    User,
    /// The user's, in a folder that Bosun does not read.
    Relocated,
    /// The user's, for this project.
    Local,
    /// The project's, covered by the user's trust.
    Project,
    /// The project's, not covered by the user's trust.
    OutsideTrust,
}

/// A file of another product.
#[derive(Debug, Clone)]
pub(super) struct ProductFile {
    pub(super) path: PathBuf,
    pub(super) owner: SourceOwner,
    pub(super) text: String,
}

/// Handles one key of a file.
pub(super) type SettingHandler = fn(&mut ImportSurvey<'_>, &ProductFile, &JsonTable, &str);

/// A table of such a file.
pub(super) type JsonTable = Map<String, Value>;

impl ProductFile {
    /// Reads a JSON settings file and calls the handler for each key: first those in `first`, then the others.
    pub(super) fn for_each_key(
        survey: &mut ImportSurvey<'_>,
        path: PathBuf,
        owner: SourceOwner,
        first: &[&str],
        handler: SettingHandler,
    ) {
        let Some(source) = ProductFile::read(survey, path, owner) else { return };
        let Some(table) = source.json(survey) else { return };
        let first_present = first.iter().copied().filter(|key| table.contains_key(*key));
        let others = table.keys().map(String::as_str).filter(|key| !first.contains(key));
        first_present.chain(others).for_each(|key| handler(survey, &source, &table, key));
    }

    /// Reads a text file, if it exists. Reports any problem.
    pub(super) fn read(survey: &mut ImportSurvey<'_>, path: PathBuf, owner: SourceOwner) -> Option<ProductFile> {
        let top = survey.places.project.dir.as_path();
        let bytes = match (owner, path.strip_prefix(top)) {
            (SourceOwner::Project | SourceOwner::OutsideTrust, Ok(below)) => {
                host::read_below(top, below, MAX_FILE_BYTES)
            }
            (SourceOwner::User | SourceOwner::Relocated | SourceOwner::Local, _) | (_, Err(_)) => {
                host::read_plain(&path, MAX_FILE_BYTES)
            }
        };
        let bytes = match bytes {
            Ok(bytes) => bytes?,
            Err(error) => {
                survey.report_invalid(&path, "the file", format!("cannot be read: {error}"));
                return None;
            }
        };
        let Ok(text) = String::from_utf8(bytes) else {
            survey.report_invalid(&path, "the file", "is not UTF-8 text; save it as UTF-8".into());
            return None;
        };
        let text = text.strip_prefix('\u{feff}').map_or(text.clone(), str::to_owned);
        Some(ProductFile { path, owner, text })
    }

    /// The file as a JSON object. Comments are allowed, since some of these files begin with one.
    pub(super) fn json(&self, survey: &mut ImportSurvey<'_>) -> Option<JsonTable> {
        if self.text.trim().is_empty() {
            return None;
        }
        match serde_json::from_str(&without_comments(&self.text)) {
            Ok(Value::Object(table)) => Some(table),
            Ok(_other) => self.report_invalid(survey, 1, "is not a JSON object"),
            Err(error) => self.report_invalid(survey, error.line(), "is not valid JSON"),
        }
    }

    /// The file as a TOML table.
    pub(super) fn toml(&self, survey: &mut ImportSurvey<'_>) -> Option<JsonTable> {
        match toml::from_str::<JsonTable>(&self.text) {
            Ok(table) => Some(table),
            Err(error) => {
                let before = error.span().and_then(|span| self.text.get(..span.start));
                self.report_invalid(
                    survey,
                    before.map_or(1, |before| before.matches('\n').count() + 1),
                    "is not valid TOML",
                )
            }
        }
    }

    /// Reports the line number but not the line, which may contain a key.
    fn report_invalid<T>(&self, survey: &mut ImportSurvey<'_>, line: usize, why: &str) -> Option<T> {
        survey.report_invalid(&self.path, "the file", format!("line {line}: {why}; correct it and import again"));
        None
    }

    /// The first line that contains a text.
    pub(super) fn line_of(&self, text: &str) -> Option<usize> {
        self.text.lines().position(|line| line.contains(text)).map(|line| line + 1)
    }
}

/// Removes comments from JSON; line numbers stay the same.
fn without_comments(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    let mut quoted = false;
    while let Some(c) = chars.next() {
        match (c, quoted, chars.peek().copied()) {
            ('\\', true, _) => {
                plain.push(c);
                plain.extend(chars.next());
            }
            ('"', _, _) => {
                quoted = !quoted;
                plain.push(c);
            }
            ('/', false, Some('/')) => while chars.next_if(|next| *next != '\n').is_some() {},
            ('/', false, Some('*')) => {
                let mut last = ' ';
                for next in chars.by_ref().skip(1) {
                    if next == '\n' {
                        plain.push(next);
                    }
                    if (last, next) == ('*', '/') {
                        break;
                    }
                    last = next;
                }
            }
            (c, _, _) => plain.push(c),
        }
    }
    plain
}

/// The number of files with this ending in a folder and below it; 1 for a file. Links are not followed.
pub(super) fn count_files(path: &Path, suffix: &str) -> usize {
    const MAX_ENTRIES: usize = 10_000;
    const MAX_DEPTH: usize = 6;
    if path.is_file() {
        return 1;
    }
    let (mut pending, mut seen, mut files) = (vec![(path.to_owned(), 0)], 0, 0);
    while let Some((folder, depth)) = pending.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            seen += 1;
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_folder && depth < MAX_DEPTH && seen < MAX_ENTRIES {
                pending.push((entry.path(), depth + 1));
            }
            files += usize::from(!is_folder && entry.file_name().to_string_lossy().ends_with(suffix));
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_removed_and_strings_and_lines_are_kept() {
        let text = "// a\n{\"a\": \"http://x /* y */ \\\" // z\", /* b\n c */ \"d\": 1} // e";
        let plain = without_comments(text);
        let read: Value = serde_json::from_str(&plain).unwrap();
        assert_eq!(read, serde_json::json!({"a": "http://x /* y */ \" // z", "d": 1}));
        assert_eq!(plain.matches('\n').count(), text.matches('\n').count());
    }
}

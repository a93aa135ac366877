//! Reads the instruction files in order, within size limits.

use std::path::{Path, PathBuf};

use host::PlainError;
use protocol::{SettingsFileScope, clip_middle};

use super::open::{self, InstructionRead};
use super::{InstructionFile, InstructionNotice, InstructionPlaces, imports, scoped};

/// Files of the user, below the user's home folder.
const USER_FILES: [&str; 2] = [".claude/CLAUDE.md", ".copilot/copilot-instructions.md"];

/// Files in each folder of the project, in the order in which they are read. The user's own file for the project is not
/// among the files that its authors write.
const FOLDER_FILES: [(&str, SettingsFileScope); 5] = [
    ("AGENTS.md", SettingsFileScope::Project),
    ("CLAUDE.md", SettingsFileScope::Project),
    (".claude/CLAUDE.md", SettingsFileScope::Project),
    ("CLAUDE.local.md", SettingsFileScope::Local),
    (".github/copilot-instructions.md", SettingsFileScope::Project),
];

/// Maximum bytes of one file.
pub(super) const MAX_FILE_BYTES: usize = 32 * 1024;

/// Maximum bytes of all files together.
const MAX_TOTAL_BYTES: usize = 64 * 1024;

/// Maximum depth of imports in imported files.
const MAX_IMPORT_DEPTH: usize = 5;

/// Maximum number of imports.
const MAX_IMPORTS: usize = 64;

/// The instruction files that apply, outermost first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Instructions {
    /// The files.
    pub files: Vec<InstructionFile>,
    /// Notices about files that were not used in full.
    pub notices: Vec<InstructionNotice>,
    /// How many imports were followed so far.
    imported: usize,
}

/// The owner of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InstructionOwner {
    User,
    Project,
}

impl Instructions {
    /// These files, which another process has read.
    pub(crate) fn of_files(files: Vec<InstructionFile>) -> Instructions {
        Instructions { files, ..Instructions::default() }
    }

    /// Reads the files for a session.
    pub fn read(places: &InstructionPlaces<'_>) -> Instructions {
        Instructions::read_scopes(places, &SettingsFileScope::ALL)
    }

    /// Reads the files of these scopes.
    pub(crate) fn read_scopes(places: &InstructionPlaces<'_>, scopes: &[SettingsFileScope]) -> Instructions {
        let mut instructions = Instructions::default();
        let has = |scope: SettingsFileScope| scopes.contains(&scope);
        if has(SettingsFileScope::User) {
            instructions.add(places, &places.home.join("AGENTS.md"), InstructionOwner::User, 0);
            let files = places.user_home.into_iter().flat_map(|user| USER_FILES.map(|name| user.join(name)));
            files.for_each(|file| instructions.add(places, &file, InstructionOwner::User, 0));
        }
        for folder in folders(places) {
            for (name, _scope) in FOLDER_FILES.into_iter().filter(|(_, scope)| has(*scope)) {
                instructions.add(places, &folder.join(name), InstructionOwner::Project, 0);
            }
        }
        if has(SettingsFileScope::Project) {
            for file in scoped::scoped_files(open::project_top(places)) {
                instructions.add(places, &file, InstructionOwner::Project, 0);
            }
        }
        instructions
    }

    fn add(&mut self, places: &InstructionPlaces<'_>, path: &Path, owner: InstructionOwner, depth: usize) {
        let bytes = match open::open(places, path, owner) {
            InstructionRead::Absent => return,
            InstructionRead::Bytes(bytes) => bytes,
            InstructionRead::Outside => {
                return self.note(path, "not read: it is a link to a file outside the project".into());
            }
            InstructionRead::Hidden => {
                return self.note(path, "not read: it is a link to a hidden or forbidden file".into());
            }
            InstructionRead::Failed(PlainError::NotPlain) => {
                return self.note(path, "not read: it is not a regular file".into());
            }
            InstructionRead::Failed(error) => return self.note(path, format!("not read: {error}")),
        };
        if bytes.len() > MAX_FILE_BYTES {
            self.note(path, format!("longer than {MAX_FILE_BYTES} bytes: its middle was left out"));
        }
        if std::str::from_utf8(&bytes).is_err() && bytes.len() <= MAX_FILE_BYTES {
            self.note(path, "not UTF-8: some characters were replaced".into());
        }
        let whole = String::from_utf8_lossy(&bytes);
        let (scope, body) = scoped::split_scope(path, &whole);
        let text = clip_middle(body.trim(), MAX_FILE_BYTES);
        let total_bytes: usize = self.files.iter().map(|file| file.text.len()).sum();
        if text.is_empty() || self.files.iter().any(|file| file.text == text) {
            return;
        }
        if total_bytes + text.len() > MAX_TOTAL_BYTES {
            return self.note(path, format!("left out: all instruction files exceed {MAX_TOTAL_BYTES} bytes together"));
        }
        self.files.push(InstructionFile { path: path.to_owned(), scope, text: text.clone() });
        self.import(places, path, owner, depth, &text);
    }

    /// Adds the files that a text imports.
    fn import(
        &mut self,
        places: &InstructionPlaces<'_>,
        path: &Path,
        owner: InstructionOwner,
        depth: usize,
        text: &str,
    ) {
        if !imports::has_imports(path) {
            return;
        }
        for name in imports::import_names(text) {
            if depth == MAX_IMPORT_DEPTH || self.imported == MAX_IMPORTS {
                return self.note(path, format!("`@{name}` is not read: there are too many imports"));
            }
            self.imported += 1;
            match imports::import_target(places, path, owner, name) {
                Ok(file) if owner == InstructionOwner::User || open::is_readable(places, &file) => {
                    self.add(places, &file, owner, depth + 1);
                }
                Ok(file) if file.symlink_metadata().is_ok() => {
                    self.note(path, format!("`@{name}` is not read: it is hidden, or a rule forbids reading it"));
                }
                Ok(_absent) => {}
                Err(imports::OutsideProjectError) => {
                    self.note(path, format!("`@{name}` is not read: it is outside the project"));
                }
            }
        }
    }

    fn note(&mut self, path: &Path, text: String) {
        self.notices.push(InstructionNotice { path: path.to_owned(), text });
    }
}

/// The folders from the project's top to the working folder.
fn folders(places: &InstructionPlaces<'_>) -> Vec<PathBuf> {
    let top = open::project_top(places);
    let inside = places.cwd.ancestors().take_while(|folder| folder.starts_with(top));
    let mut folders: Vec<PathBuf> = inside.map(Path::to_owned).collect();
    folders.reverse();
    folders
}

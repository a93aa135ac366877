//! The user's instruction files: `AGENTS.md`, `CLAUDE.md` and `.github/copilot-instructions.md`, from the top of
//! the repository down to the working folder, and `AGENTS.md` in Bosun's home.
//!
//! Folders above the repository are not read: they may belong to somebody else.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use protocol::clip_middle;

/// The names, in the order in which they are read within a folder.
const NAMES: [&str; 3] = ["AGENTS.md", "CLAUDE.md", ".github/copilot-instructions.md"];

/// Most bytes taken of one file, and of all.
const FILE_MAX: usize = 32 * 1024;
const ALL_MAX: usize = 64 * 1024;

/// The instruction files that apply, outermost first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Instructions {
    /// The files.
    pub files: Vec<InstructionFile>,
    /// What could not be used as it is.
    pub notices: Vec<Notice>,
}

/// One instruction file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstructionFile {
    /// Where it is.
    pub path: PathBuf,
    /// What it says, clipped.
    pub text: String,
}

/// Something a person should know of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// The file.
    pub path: PathBuf,
    /// What is the matter, and what to do.
    pub text: String,
}

impl Instructions {
    /// Reads the files for a session in `cwd`; `home` is Bosun's own folder.
    pub fn read(cwd: &Path, home: &Path) -> Instructions {
        let mut found = Instructions::default();
        found.add(&home.join("AGENTS.md"));
        for folder in folders(cwd) {
            for name in NAMES {
                found.add(&folder.join(name));
            }
        }
        found
    }

    fn add(&mut self, path: &Path) {
        let bytes = match read_bounded(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Err(error) => return self.note(path, format!("not read: {error}")),
        };
        if bytes.len() > FILE_MAX {
            self.note(path, format!("longer than {FILE_MAX} bytes: its middle was left out"));
        }
        if std::str::from_utf8(&bytes).is_err() && bytes.len() <= FILE_MAX {
            self.note(path, "not UTF-8: some characters were replaced".into());
        }
        let text = clip_middle(String::from_utf8_lossy(&bytes).trim(), FILE_MAX);
        let known: usize = self.files.iter().map(|file| file.text.len()).sum();
        if text.is_empty() || self.files.iter().any(|file| file.text == text) {
            return;
        }
        if known + text.len() > ALL_MAX {
            return self.note(path, format!("left out: instruction files are longer than {ALL_MAX} bytes together"));
        }
        self.files.push(InstructionFile { path: path.to_owned(), text });
    }

    fn note(&mut self, path: &Path, text: String) {
        self.notices.push(Notice { path: path.to_owned(), text });
    }
}

/// The folders from the repository's top to `cwd`; only `cwd` outside a repository.
fn folders(cwd: &Path) -> Vec<PathBuf> {
    let top = cwd.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(cwd);
    let mut folders: Vec<PathBuf> =
        cwd.ancestors().take_while(|folder| folder.starts_with(top)).map(Path::to_owned).collect();
    folders.reverse();
    folders
}

/// Reads a little more than the bound, so that the reader can tell.
fn read_bounded(path: &Path) -> io::Result<Vec<u8>> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(FILE_MAX as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn write(path: PathBuf, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(top: &Path, cwd: &str) -> Instructions {
        Instructions::read(&top.join(cwd), &top.join("home"))
    }

    #[test]
    fn files_come_from_the_top_of_the_repository_down_and_not_from_above() {
        let top = tempfile::tempdir().unwrap();
        let repo = top.path().join("repo");
        write(top.path().join("AGENTS.md"), "not ours");
        write(repo.join(".git/HEAD"), "");
        write(repo.join("AGENTS.md"), "top");
        write(repo.join(".github/copilot-instructions.md"), "github");
        write(repo.join("a/b/CLAUDE.md"), "near");
        write(repo.join("a/b/AGENTS.md"), "top");
        let texts: Vec<_> = read(top.path(), "repo/a/b").files.into_iter().map(|file| file.text).collect();
        assert_eq!(texts, ["top", "github", "near"]);
    }

    #[test]
    fn outside_a_repository_only_the_folder_itself_counts() {
        let top = tempfile::tempdir().unwrap();
        write(top.path().join("AGENTS.md"), "above");
        write(top.path().join("a/AGENTS.md"), "here");
        let found = read(top.path(), "a");
        assert_eq!(found.files.len(), 1);
        assert_eq!(found.files[0].text, "here");
    }

    #[test]
    fn what_cannot_be_read_as_it_is_is_said() {
        let top = tempfile::tempdir().unwrap();
        let dir = top.path().join("a");
        fs::create_dir_all(dir.join("AGENTS.md")).unwrap();
        fs::create_dir_all(dir.join(".github")).unwrap();
        fs::write(dir.join("CLAUDE.md"), [b'o', b'k', 0xff]).unwrap();
        fs::write(dir.join(".github/copilot-instructions.md"), "x".repeat(FILE_MAX + 5)).unwrap();
        let found = read(top.path(), "a");
        let notices: Vec<_> = found.notices.iter().map(|notice| notice.text.as_str()).collect();
        assert_eq!(notices.len(), 3, "{notices:?}");
        assert!(notices[0].contains("not a regular file"));
        assert!(notices[1].contains("UTF-8"));
        assert!(notices[2].contains("longer than"));
        assert!(found.files.iter().all(|file| file.text.len() <= FILE_MAX));
    }
}

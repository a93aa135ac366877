//! The files in which two commits differ.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::{Commit, Git, GitError};

/// The entry of a commit at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Blob {
    pub(crate) mode: String,
    pub(crate) id: String,
}

impl Blob {
    /// Whether it is a submodule, not a file.
    pub(crate) fn is_submodule(&self) -> bool {
        self.mode == "160000"
    }
}

/// A path at which two commits differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PathChange {
    pub(crate) path: PathBuf,
    pub(crate) old: Option<Blob>,
    pub(crate) new: Option<Blob>,
}

/// The files in which two commits differ.
pub(crate) async fn changed_paths(git: &Git, from: &Commit, to: &Commit) -> Result<Vec<PathChange>, GitError> {
    let args = ["diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", from.as_str(), to.as_str()];
    let output = git.run_checked(&args, &[]).await?;
    parse_changes(&output.stdout).ok_or_else(|| git.unexpected_output("diff-tree", &output.run_for_text()))
}

/// Parses lines like `:100644 100755 OLD NEW M`, each followed by a path.
fn parse_changes(out: &[u8]) -> Option<Vec<PathChange>> {
    let mut fields = out.split(|byte| *byte == 0);
    let mut changes = Vec::new();
    while let Some(header) = fields.next().filter(|header| !header.is_empty()) {
        let header = str::from_utf8(header).ok()?.strip_prefix(':')?;
        let mut words = header.split(' ').map(str::to_owned);
        let (old, new) = (words.next()?, words.next()?);
        let (old_id, new_id) = (words.next()?, words.next()?);
        let blob = |mode: String, id| (mode != "000000").then_some(Blob { mode, id });
        let path = Path::new(OsStr::from_bytes(fields.next()?)).to_owned();
        changes.push(PathChange { path, old: blob(old, old_id), new: blob(new, new_id) });
    }
    Some(changes)
}

/// The files that are different or missing in the work tree of `git`. `index` is the path of a temporary index.
pub(crate) async fn differing_files<'a>(
    git: &Git,
    index: &Path,
    files: impl Iterator<Item = (&'a Path, &'a Blob)>,
) -> Result<Vec<PathBuf>, GitError> {
    let mut entries = Vec::new();
    for (path, blob) in files.filter(|(_, blob)| !blob.is_submodule()) {
        entries.extend_from_slice(format!("{} {} 0\t", blob.mode, blob.id).as_bytes());
        entries.extend_from_slice(path.as_os_str().as_bytes());
        entries.push(0);
    }
    if entries.is_empty() {
        return Ok(Vec::new());
    }
    match std::fs::remove_file(index) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(GitError::file(index)(error)),
        Ok(()) | Err(_) => {}
    }
    let git = git.clone().with_env("GIT_INDEX_FILE", index);
    git.run_checked(&["update-index", "-z", "--index-info"], &entries).await?;
    // Unreadable files count as changed.
    git.run(&["update-index", "-q", "--refresh"], &[]).await?;
    let output = git.run_checked(&["diff-files", "-z", "--name-only", "--ignore-submodules=all"], &[]).await?;
    let names = output.stdout.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    Ok(names.map(|name| PathBuf::from(OsStr::from_bytes(name))).collect())
}

#[cfg(test)]
mod tests {
    use super::parse_changes;

    #[test]
    fn changes_are_parsed_completely_or_rejected() {
        let out = b":100644 000000 aa 00 D\0a b\0:000000 120000 00 bb A\0c\nd\0";
        let changes = parse_changes(out).unwrap();
        assert_eq!(changes.len(), 2);
        assert!(changes[0].new.is_none() && changes[1].old.is_none());
        assert_eq!(changes[1].path.to_str(), Some("c\nd"));
        assert_eq!(parse_changes(b"").map(|all| all.len()), Some(0));
        for odd in [&b"x"[..], b":1 2 3", b":1 2 3 4 M"] {
            assert_eq!(parse_changes(odd), None);
        }
    }
}

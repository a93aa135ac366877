//! The user's repository: its folders, its HEAD, and its uncommitted changes as a hidden commit.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::confine::{ConfinedGit, MissingFilter, confine};
use crate::staging::StagingIndex;
use crate::{Commit, Git, GitError};

/// Maximum number of files named.
const MAX_FILES_NAMED: usize = 10;

/// A repository with a work tree.
#[derive(Debug, Clone)]
pub struct Repository {
    git: Git,
    top: PathBuf,
    git_dir: PathBuf,
    common: PathBuf,
    below: PathBuf,
    /// Filters that change files on checkout and are not run.
    filters: BTreeSet<OsString>,
}

impl Repository {
    /// The repository that contains the folder of `git`. Programs that only its own settings name are not run in it.
    pub async fn find(git: &Git) -> Result<Repository, GitError> {
        let folder = git.folder().canonicalize().map_err(|_gone| GitError::NoRepository(git.folder().to_owned()))?;
        let git = git.in_folder(&folder);
        let places = ["--show-toplevel", "--absolute-git-dir", "--path-format=absolute", "--git-common-dir"];
        let output = git.run(&[&["rev-parse", "--is-inside-work-tree"][..], &places].concat(), &[]).await?;
        let mut lines = output.stdout.split(|byte| *byte == b'\n');
        match (output.code, lines.next()) {
            (0, Some(b"true")) => {}
            (_, Some(b"false")) => return Err(GitError::Bare(folder)),
            _ if output.stderr.contains("not a git repository") => return Err(GitError::NoRepository(folder)),
            _ => return Err(GitError::Failed { command: "rev-parse".into(), folder, said: output.stderr }),
        }
        let lines: Vec<&[u8]> = lines.filter(|line| !line.is_empty()).collect();
        let &[top, git_dir, common] = &lines[..] else {
            let why = "its path contains a line break; move the repository".into();
            return Err(GitError::Unfit { path: folder, why });
        };
        let real = |path: &[u8]| {
            let path = Path::new(std::ffi::OsStr::from_bytes(path));
            path.canonicalize().map_err(GitError::file(path))
        };
        let (top, git_dir, common) = (real(top)?, real(git_dir)?, real(common)?);
        // Its settings may name any folder as its work tree; only one from which git would find it is accepted.
        let below = match folder.strip_prefix(&top) {
            Ok(below) if top.join(".git").symlink_metadata().is_ok() => below.to_owned(),
            Ok(_) | Err(_) => {
                let why = format!("its settings name {} as its work tree", top.display());
                return Err(GitError::Unfit { path: folder, why });
            }
        };
        let ConfinedGit { git, filters } = confine(git.in_folder(&top), MissingFilter::Refused).await?;
        Ok(Repository { git, top, git_dir, common, below, filters })
    }

    /// The top folder of its work tree.
    pub fn top(&self) -> &Path {
        &self.top
    }

    /// The folder of its HEAD and index.
    pub(crate) fn git_dir(&self) -> &Path {
        &self.git_dir
    }

    /// A filter that is not run, and those of the files that need it in a commit.
    pub(crate) async fn files_needing_filter<'a>(
        &self,
        commit: &Commit,
        files: impl Iterator<Item = &'a Path>,
    ) -> Result<Option<(String, Vec<String>)>, GitError> {
        if self.filters.is_empty() {
            return Ok(None);
        }
        let paths: Vec<u8> = files.flat_map(|path| [path.as_os_str().as_bytes(), b"\0"].concat()).collect();
        let mut needed: BTreeMap<&OsStr, Vec<String>> = BTreeMap::new();
        // With the attributes of the commit, and with those of the work tree: one match is enough.
        let source = format!("--source={commit}");
        for args in
            [&["check-attr", "-z", "--stdin", &source, "filter"][..], &["check-attr", "-z", "--stdin", "filter"]]
        {
            let output = self.git.run(args, &paths).await?;
            let fields: Vec<&[u8]> = output.stdout.split(|byte| *byte == 0).collect();
            for entry in fields.chunks_exact(3) {
                if let Some(filter) = self.filters.get(OsStr::from_bytes(entry[2])) {
                    needed.entry(filter).or_default().push(String::from_utf8_lossy(entry[0]).into_owned());
                }
            }
        }
        let first = needed.into_iter().next();
        Ok(first.map(|(filter, mut files)| {
            files.sort();
            files.dedup();
            files.truncate(MAX_FILES_NAMED);
            (filter.display().to_string(), files)
        }))
    }

    /// The folder of its objects and refs; linked worktrees share it.
    pub fn common(&self) -> &Path {
        &self.common
    }

    /// The path from the top to the folder in which it was found.
    pub fn below(&self) -> &Path {
        &self.below
    }

    /// Git at its top.
    pub fn git(&self) -> &Git {
        &self.git
    }

    /// The commit of its HEAD.
    pub async fn head(&self) -> Result<Commit, GitError> {
        find_commit(&self.git, "HEAD").await?.ok_or_else(|| GitError::Unborn(self.top.clone()))
    }

    /// The commit with this name: a branch, a tag, or an id.
    pub async fn commit(&self, name: &str) -> Result<Commit, GitError> {
        let missing = || GitError::NoCommit { name: name.to_owned(), repository: self.top.clone() };
        find_commit(&self.git, name).await?.ok_or_else(missing)
    }

    /// Protects a commit from pruning, under a ref of ours.
    pub async fn pin(&self, name: &str, commit: &Commit) -> Result<(), GitError> {
        self.git.run_checked(&["update-ref", name, commit.as_str()], &[]).await.map(|_output| ())
    }

    /// The files that differ from HEAD or are untracked, except ignored ones.
    pub async fn uncommitted(&self) -> Result<Vec<String>, GitError> {
        // Changes inside a submodule are not examined: none of its settings is used.
        let args = ["status", "--porcelain", "-z", "--no-renames", "--untracked-files=normal"];
        let output = self.git.run_checked(&[&args[..], &["--ignore-submodules=dirty"]].concat(), &[]).await?;
        let names = output.stdout.split(|byte| *byte == 0).filter_map(|line| line.get(3..));
        Ok(names.map(|name| String::from_utf8_lossy(name).into_owned()).collect())
    }

    /// HEAD with all uncommitted changes, as a commit under the ref `pin`; HEAD itself if there are none. The user's
    /// index, files, stash and refs stay as they are: `scratch` is the path of a temporary index.
    pub async fn snapshot_dirty(&self, scratch: &Path, pin: &str) -> Result<Commit, GitError> {
        let head = self.head().await?;
        let staging =
            StagingIndex::from_merged_copy(self.git.clone(), &self.git_dir.join("index"), scratch, &head).await?;
        staging.stage_all(&self.top).await?;
        let commit = staging.commit(&head, "Uncommitted changes when an agent started").await?;
        self.pin(pin, &commit).await?;
        Ok(commit)
    }
}

/// The commit with this name, if there is one.
pub(crate) async fn find_commit(git: &Git, name: &str) -> Result<Option<Commit>, GitError> {
    let name = format!("{name}^{{commit}}");
    let output = git.run(&["rev-parse", "--verify", "--quiet", "--end-of-options", &name], &[]).await?;
    Ok(Some(output).filter(|output| output.code == 0).and_then(|output| Commit::new(&output.run_for_text())))
}

//! A throw-away checkout: a private clone with shared objects, whose tree becomes that of any commit.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::{Commit, Git, GitError};

/// A throw-away checkout.
#[derive(Debug, Clone)]
pub struct Scratch {
    git: Git,
}

impl Scratch {
    /// Makes one for the repository that `git` works in, in a folder that is not there yet. Nothing of it refers back
    /// but the objects, so nothing that happens in it is seen in the repository.
    pub async fn make(git: &Git, folder: PathBuf) -> Result<Scratch, GitError> {
        let path = |name: &'static str| async move {
            let path = git.text(&["rev-parse", "--path-format=absolute", "--git-path", name]).await?;
            Ok::<PathBuf, GitError>(PathBuf::from(path))
        };
        let (objects, shallow) = (path("objects").await?, path("shallow").await?);
        let form = git.text(&["rev-parse", "--show-object-format"]).await?;
        std::fs::create_dir_all(&folder).map_err(|error| unusable(&folder, &error))?;
        let own = git.at(&folder);
        own.done(&["init", "-q", "--template=", "-b", "scratch", &format!("--object-format={form}")], &[]).await?;
        let share = || {
            let info = folder.join(".git/objects/info");
            std::fs::create_dir_all(&info)?;
            let mut alternate = quoted(&objects);
            alternate.push(b'\n');
            std::fs::write(info.join("alternates"), alternate)?;
            // What the repository has no parents of, this has none of either.
            match std::fs::copy(&shallow, folder.join(".git/shallow")) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                Ok(_) | Err(_) => Ok(()),
            }
        };
        share().map_err(|error| unusable(&folder, &error))?;
        Ok(Scratch { git: own })
    }

    /// Git in it.
    pub fn git(&self) -> &Git {
        &self.git
    }

    /// The folder with the tree.
    pub fn folder(&self) -> &Path {
        self.git.folder()
    }

    /// Makes the tree that of a commit. What is ignored stays, so that builds in it need not begin anew.
    pub async fn show(&self, commit: &Commit) -> Result<(), GitError> {
        self.git.done(&["checkout", "-q", "--force", "--detach", commit.as_str()], &[]).await?;
        self.git.done(&["clean", "-ffdq"], &[]).await.map(|_said| ())
    }

    /// Gives a commit to the repository, under a ref.
    pub async fn publish(&self, to: &Git, commit: &Commit, name: &str) -> Result<(), GitError> {
        let offered = format!("refs/scratch/{commit}");
        self.git.done(&["update-ref", &offered, commit.as_str()], &[]).await?;
        let mut args: Vec<OsString> = ["fetch", "-q", "--no-tags", "--no-write-fetch-head"].map(Into::into).into();
        args.extend(["--no-prune".into(), "--no-recurse-submodules".into()]);
        args.extend([self.folder().into(), format!("+{offered}:{name}").into()]);
        to.done(&args, &[]).await.map(|_said| ())
    }
}

fn unusable(folder: &Path, error: &io::Error) -> GitError {
    GitError::Folder { folder: folder.to_owned(), said: error.to_string() }
}

/// A path as the list of alternates takes it, whatever bytes it has.
fn quoted(path: &Path) -> Vec<u8> {
    let bytes = path.as_os_str().as_bytes();
    let is_plain = !bytes.starts_with(b"\"") && !bytes.starts_with(b"#") && !bytes.contains(&b'\n');
    if is_plain {
        return bytes.to_vec();
    }
    let mut quoted = vec![b'"'];
    for byte in bytes {
        match byte {
            b'"' | b'\\' => quoted.extend([b'\\', *byte]),
            b'\n' => quoted.extend(b"\\n"),
            _ => quoted.push(*byte),
        }
    }
    quoted.push(b'"');
    quoted
}

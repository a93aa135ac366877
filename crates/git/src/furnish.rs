//! What a new checkout gets: a repository of its own, the objects of the user's, what git must know to read and write
//! files there as it does for the user, and the files.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::checkout::Checkout;
use crate::staging::NOBODY;
use crate::{GitError, Repository};

/// The settings that say who commits, and how files are read and written.
const TAKEN: &str = r"^(user\.(name|email)|core\.(autocrlf|eol|excludesfile|attributesfile|precomposeunicode))$";

/// Most bytes of a list of ignored files that is taken over.
const LISTED: u64 = 1 << 20;

pub(crate) async fn furnish(checkout: &Checkout, repository: &Repository) -> Result<(), GitError> {
    let format = repository.git().text(&["rev-parse", "--show-object-format"]).await?;
    let (format, branch) = (format!("--object-format={format}"), branch(checkout.name()));
    let git = &checkout.git;
    git.done(&["init", "--quiet", "--template=", &format, &format!("--initial-branch={branch}")], &[]).await?;
    borrow(checkout, repository)?;
    settle(checkout, repository).await?;
    git.done(&["update-ref", &format!("refs/heads/{branch}"), checkout.base().as_str()], &[]).await?;
    git.done(&["reset", "--quiet", "--hard"], &[]).await.map(|_said| ())
}

/// Lends it the objects of the user's repository, and copies what else is in files there.
fn borrow(checkout: &Checkout, repository: &Repository) -> Result<(), GitError> {
    let (own, common) = (checkout.path().join(".git"), repository.common());
    let objects = common.join("objects");
    if objects.as_os_str().as_bytes().iter().any(|byte| matches!(byte, b'\n' | b'"')) {
        let why =
            format!("its repository's path {} holds a line end or a quote; move the repository", common.display());
        return Err(GitError::Unfit { path: checkout.path().to_owned(), why });
    }
    let alternates = own.join("objects/info/alternates");
    let line = [objects.as_os_str().as_bytes(), b"\n"].concat();
    fs::write(&alternates, line).map_err(GitError::file(&alternates))?;
    fs::create_dir_all(own.join("info")).map_err(GitError::file(&own))?;
    for name in ["shallow", "info/exclude", "info/attributes"] {
        copy(&common.join(name), &own.join(name)).map_err(GitError::file(common.join(name)))?;
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    match fs::metadata(from) {
        Ok(found) if found.is_file() && found.len() <= LISTED => fs::copy(from, to).map(|_bytes| ()),
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Takes over the settings that count for it too; somebody commits in it, if only a name of ours.
async fn settle(checkout: &Checkout, repository: &Repository) -> Result<(), GitError> {
    let found = repository.git().run(&["config", "--includes", "-z", "--get-regexp", TAKEN], &[]).await?;
    let text = String::from_utf8_lossy(&found.out).into_owned();
    let mut settings: Vec<(String, String)> = Vec::new();
    let known = text.split('\0').filter_map(|entry| entry.split_once('\n'));
    let nobody = [("user.name", NOBODY.0), ("user.email", NOBODY.1)];
    // The latest counts, and ours come first.
    for (key, value) in nobody.into_iter().chain(known) {
        settings.retain(|(other, _)| other != key);
        settings.push((key.to_owned(), value.to_owned()));
    }
    let large = repository.common().join("lfs");
    if large.is_dir() {
        settings.push(("lfs.storage".into(), large.display().to_string()));
    }
    for (key, value) in settings {
        checkout.git.done(&["config", "--local", &key, &value], &[]).await?;
    }
    Ok(())
}

/// The branch that a task of this name works on.
fn branch(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_".contains(c) { c } else { '-' };
    let name: String = name.chars().map(plain).take(60).collect();
    let name = name.trim_matches('-');
    format!("bosun/{}", if name.is_empty() { "work" } else { name })
}

#[cfg(test)]
mod tests {
    use super::branch;

    #[test]
    fn a_branch_has_a_name_that_git_takes() {
        let names = ["fix tests", "../x.lock", "…", "-a", "Größe"].map(branch);
        assert_eq!(names, ["bosun/fix-tests", "bosun/x-lock", "bosun/work", "bosun/a", "bosun/Gr--e"]);
    }
}

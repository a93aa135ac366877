//! Fills a new checkout: its own repository, the objects of the user's repository, the settings needed to read and
//! write files as for the user, and the files.

use std::fs;
use std::io::{self, Write};
use std::num::NonZero;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::checkout::Checkout;
use crate::staging::DEFAULT_COMMITTER;
use crate::{GitError, Repository};

/// The settings for the committer and for reading and writing files.
const COPIED_SETTINGS: &str =
    r"^(user\.(name|email)|core\.(autocrlf|eol|excludesfile|attributesfile|precomposeunicode))$";

/// Maximum bytes of an exclude file that is copied.
const MAX_COPIED_BYTES: u64 = 1 << 20;

/// Initialises its repository, with the files of its base commit.
pub(crate) async fn populate(checkout: &Checkout, repository: &Repository) -> Result<(), GitError> {
    // Before the first step, so that concurrent checkouts are counted by then.
    let in_progress = CheckoutInProgress::begin();
    init_repository(checkout, repository).await?;
    let writers = format!("checkout.workers={}", in_progress.writers());
    checkout.git.run_checked(&["-c", &writers, "reset", "--quiet", "--hard", checkout.base().as_str()], &[]).await?;
    drop(in_progress);
    checkout.keep_made_index()
}

/// The number of checkouts this process is creating.
static CHECKOUTS_IN_PROGRESS: AtomicUsize = AtomicUsize::new(0);

/// A checkout that is being created.
struct CheckoutInProgress(());

impl CheckoutInProgress {
    fn begin() -> CheckoutInProgress {
        CHECKOUTS_IN_PROGRESS.fetch_add(1, Ordering::Relaxed);
        CheckoutInProgress(())
    }

    /// The number of git processes that write its files if there are many; git decides what counts as many.
    fn writers(&self) -> usize {
        let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
        writers(processors, CHECKOUTS_IN_PROGRESS.load(Ordering::Relaxed))
    }
}

/// The processors divided among the checkouts: more processes than processors slow each other down.
fn writers(processors: usize, at_once: usize) -> usize {
    (processors / at_once.max(1)).max(1)
}

impl Drop for CheckoutInProgress {
    fn drop(&mut self) {
        CHECKOUTS_IN_PROGRESS.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Initialises its repository, without a commit and without files.
pub(crate) async fn init_repository(checkout: &Checkout, repository: &Repository) -> Result<(), GitError> {
    // The length of a commit's full id shows the object format.
    let format = if checkout.base().as_str().len() == 64 { "sha256" } else { "sha1" };
    let (format, branch) = (format!("--object-format={format}"), branch_name(checkout.name()));
    let args = ["init", "--quiet", "--template=", &format, &format!("--initial-branch={branch}")];
    checkout.git.run_checked(&args, &[]).await?;
    link_objects(checkout, repository)?;
    copy_settings(checkout, repository).await
}

/// Lets it borrow the objects of the user's repository, and copies the settings in files.
fn link_objects(checkout: &Checkout, repository: &Repository) -> Result<(), GitError> {
    let (own, common) = (checkout.path().join(".git"), repository.common());
    let objects = common.join("objects");
    if objects.as_os_str().as_bytes().iter().any(|byte| matches!(byte, b'\n' | b'"')) {
        let why =
            format!("its repository's path {} contains a line break or a quote; move the repository", common.display());
        return Err(GitError::Unfit { path: checkout.path().to_owned(), why });
    }
    let alternates = own.join("objects/info/alternates");
    let line = [objects.as_os_str().as_bytes(), b"\n"].concat();
    fs::write(&alternates, line).map_err(GitError::file(&alternates))?;
    fs::create_dir_all(own.join("info")).map_err(GitError::file(&own))?;
    for name in ["shallow", "info/exclude", "info/attributes"] {
        copy_small_file(&common.join(name), &own.join(name)).map_err(GitError::file(common.join(name)))?;
    }
    Ok(())
}

fn copy_small_file(from: &Path, to: &Path) -> io::Result<()> {
    match fs::metadata(from) {
        Ok(metadata) if metadata.is_file() && metadata.len() <= MAX_COPIED_BYTES => fs::copy(from, to).map(|_bytes| ()),
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Copies the settings that apply to it too; without a user name, commits get ours.
async fn copy_settings(checkout: &Checkout, repository: &Repository) -> Result<(), GitError> {
    let output = repository.git().run(&["config", "--includes", "-z", "--get-regexp", COPIED_SETTINGS], &[]).await?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut settings: Vec<(String, String)> = Vec::new();
    let known = text.split('\0').filter_map(|entry| entry.split_once('\n'));
    let default_committer = [("user.name", DEFAULT_COMMITTER.0), ("user.email", DEFAULT_COMMITTER.1)];
    // The last one wins, and ours come first.
    for (key, value) in default_committer.into_iter().chain(known) {
        settings.retain(|(other, _)| other != key);
        settings.push((key.to_owned(), value.to_owned()));
    }
    let lfs = repository.common().join("lfs");
    if lfs.is_dir() {
        settings.push(("lfs.storage".into(), lfs.display().to_string()));
    }
    let text: String = settings.iter().map(|(key, value)| format_setting(key, value)).collect();
    let path = checkout.path().join(".git/config");
    let written = fs::File::options().append(true).open(&path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(GitError::file(path))
}

/// A setting in the format of a config file.
fn format_setting(key: &str, value: &str) -> String {
    let (section, name) = key.rsplit_once('.').unwrap_or((key, ""));
    let escaped = |c: char| match c {
        '"' | '\\' => format!("\\{c}"),
        '\n' => "\\n".into(),
        '\t' => "\\t".into(),
        other => other.to_string(),
    };
    let value: String = value.chars().map(escaped).collect();
    format!("[{section}]\n\t{name} = \"{value}\"\n")
}

/// The branch that a task of this name works on.
fn branch_name(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_".contains(c) { c } else { '-' };
    let name: String = name.chars().map(plain).take(60).collect();
    let name = name.trim_matches('-');
    format!("bosun/{}", if name.is_empty() { "work" } else { name })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_escaped_for_git() {
        let text = format_setting("user.name", "A \"B\" \\ C; # d\n");
        assert_eq!(text, "[user]\n\tname = \"A \\\"B\\\" \\\\ C; # d\\n\"\n");
    }

    #[test]
    fn branch_names_are_valid_for_git() {
        let names = ["fix tests", "../x.lock", "…", "-a", "Größe"].map(branch_name);
        assert_eq!(names, ["bosun/fix-tests", "bosun/x-lock", "bosun/work", "bosun/a", "bosun/Gr--e"]);
    }

    #[test]
    fn concurrent_checkouts_share_the_processors() {
        assert_eq!([1, 2, 3, 4, 5, 9].map(|at_once| writers(4, at_once)), [4, 2, 1, 1, 1, 1]);
    }
}

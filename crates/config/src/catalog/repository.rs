//! Finds a repository's remote address in its files, without starting git.

use std::path::{Path, PathBuf};

use url::Url;

/// Maximum size of a file read, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// The address of a repository's `origin`, or of its first remote, without a user or password.
pub fn remote_url(top: &Path) -> Option<String> {
    let config = git_folder(top)?.join("config");
    let text = String::from_utf8(host::read_plain(&config, MAX_FILE_BYTES).ok()??).ok()?;
    let (mut section, mut first, mut origin) = ("", None, None);
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            section = line;
        } else if section.starts_with("[remote ")
            && let Some((key, value)) = line.split_once('=')
            && key.trim() == "url"
        {
            let target = if section == "[remote \"origin\"]" { &mut origin } else { &mut first };
            target.get_or_insert_with(|| value.trim().trim_matches('"').to_owned());
        }
    }
    origin.or(first).map(|url| without_secrets(&url))
}

/// The folder with a repository's config: `.git`, or the folder that a worktree's `.git` file leads to.
fn git_folder(top: &Path) -> Option<PathBuf> {
    let git = top.join(".git");
    if git.is_dir() {
        return Some(git);
    }
    let read = |path: &Path| String::from_utf8(host::read_plain(path, MAX_FILE_BYTES).ok()??).ok();
    let worktree_folder = top.join(read(&git)?.trim().strip_prefix("gitdir:")?.trim());
    match read(&worktree_folder.join("commondir")) {
        Some(common) => Some(worktree_folder.join(common.trim())),
        None => Some(worktree_folder),
    }
}

fn without_secrets(url: &str) -> String {
    let Ok(mut parsed) = Url::parse(url) else { return url.to_owned() };
    if !matches!(parsed.scheme(), "http" | "https") {
        return url.to_owned();
    }
    // These cannot fail for an http address, which always has a host.
    let _user = parsed.set_username("");
    let _password = parsed.set_password(None);
    parsed.into()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn remote_url_is_read_without_git_and_without_password() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path();
        assert_eq!(remote_url(top), None);
        fs::create_dir_all(top.join(".git/worktrees/side")).unwrap();
        let config = "[core]\n\tbare = false\n[remote \"up\"]\n\turl = git@host:up.git\n[remote \"origin\"]\n\t\
                      url = https://me:secret@example.com/a/b.git\n\tfetch = +refs\n";
        fs::write(top.join(".git/config"), config).unwrap();
        assert_eq!(remote_url(top).as_deref(), Some("https://example.com/a/b.git"));
        fs::write(top.join(".git/worktrees/side/commondir"), "../..\n").unwrap();
        fs::create_dir(top.join("side")).unwrap();
        fs::write(top.join("side/.git"), "gitdir: ../.git/worktrees/side\n").unwrap();
        assert_eq!(remote_url(&top.join("side")), remote_url(top));
        fs::write(top.join(".git/config"), "[remote \"up\"]\nurl = git@host:up.git\n").unwrap();
        assert_eq!(remote_url(top).as_deref(), Some("git@host:up.git"));
    }
}

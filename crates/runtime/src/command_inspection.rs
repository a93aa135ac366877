//! Inspects the file system for a shell command before it runs: whether its paths stay in the workspace, and whether
//! git would run other programs there.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use policy::FilesystemFacts;
use policy::gitconfig::{GitSetting, parse_settings};
use shell_parser::ShellScript;

use crate::command_paths;

/// Maximum bytes of a git settings file that is read.
const MAX_SETTINGS_BYTES: u64 = 64 * 1024;

/// Maximum bytes of a git index that is read.
const MAX_INDEX_BYTES: u64 = 64 * 1024 * 1024;

/// The folders that matter for a command.
#[derive(Debug, Clone, Copy)]
pub struct InspectionScope<'a> {
    /// The folders of the workspace, with links resolved.
    pub roots: &'a [PathBuf],
    /// Files and folders that control Bosun.
    pub controls: &'a [PathBuf],
    /// The `PATH` of commands.
    pub path: Option<&'a OsStr>,
}

/// Collects the facts about a command that starts in `cwd`, a folder of the workspace.
pub fn inspect_command(command: &str, cwd: &Path, scope: InspectionScope<'_>) -> FilesystemFacts {
    let script = shell_parser::parse(command);
    let working_folders = command_paths::working_folders(&script, cwd);
    let inside = |path: &Path| path.starts_with(cwd) || scope.roots.iter().any(|root| path.starts_with(root));
    let named = command_paths::named_paths(&script, &working_folders);
    let has_git = script.commands.iter().any(|simple| simple.name.rsplit('/').next() == Some("git"));
    let is_reachable = |control: &PathBuf| {
        let contains_control = |path: &PathBuf| control.starts_with(path) && control.symlink_metadata().is_ok();
        working_folders.all().iter().any(contains_control) || named.iter().any(|(_, real)| contains_control(real))
    };
    FilesystemFacts {
        // A path that is outside already as written is left to the permission rules.
        inside: named.iter().all(|(written, real)| !inside(written) || inside(real))
            && !has_writable_program(&script, scope.path, inside),
        no_controls_below: !scope.controls.iter().any(is_reachable),
        plain_repository: has_git && working_folders.all().iter().all(|folder| is_plain_repository(folder)),
        hidden_repository: has_git
            && (working_folders.all().iter().any(|folder| finds_bare_repository(folder))
                || named.iter().any(|(_, real)| is_bare(real))),
    }
}

/// Whether a program of the command comes from a folder that an agent may write to.
fn has_writable_program(script: &ShellScript, path: Option<&OsStr>, inside: impl Fn(&Path) -> bool) -> bool {
    let folders: Vec<PathBuf> = path.map(|path| std::env::split_paths(path).collect()).unwrap_or_default();
    script.commands.iter().filter(|simple| !simple.name.contains('/')).any(|simple| {
        let found = folders.iter().find(|folder| folder.join(&simple.name).is_file() || folder.is_relative());
        found.is_some_and(|folder| folder.is_relative() || inside(folder))
    })
}

/// Whether git takes a folder for a repository because of its contents, not its name.
fn is_bare(folder: &Path) -> bool {
    folder.file_name() != Some(OsStr::new(".git"))
        && folder.join("HEAD").symlink_metadata().is_ok()
        && folder.join("objects").is_dir()
        && folder.join("refs").is_dir()
}

/// Whether git, started in a folder, finds a bare repository before one with a `.git`.
fn finds_bare_repository(folder: &Path) -> bool {
    let found = folder.ancestors().find(|above| above.join(".git").symlink_metadata().is_ok() || is_bare(above));
    found.is_some_and(is_bare)
}

/// Whether a read-only git command in a folder runs no other program.
fn is_plain_repository(folder: &Path) -> bool {
    let Some(top) = folder.ancestors().find(|above| above.join(".git").symlink_metadata().is_ok()) else {
        return false;
    };
    let Some((own, common)) = git_folders(&top.join(".git")) else { return false };
    let harmless = |file: PathBuf| match fs::symlink_metadata(&file) {
        Err(_) => true,
        Ok(_) => is_harmless(&file),
    };
    let runs_no_hook = !common.join("hooks/post-index-change").exists() && !common.join("modules").exists();
    runs_no_hook
        && harmless(common.join("config"))
        && harmless(own.join("config.worktree"))
        && !top.join(".gitmodules").exists()
        && !has_submodules(&own.join("index"))
}

/// The git folder of a working tree, and that of its repository. A `.git` file counts only if the folder that it names
/// points back to it: it could name any folder.
fn git_folders(git: &Path) -> Option<(PathBuf, PathBuf)> {
    if fs::symlink_metadata(git).ok()?.is_dir() {
        let linked = git.join("commondir").exists();
        return (!linked).then(|| (git.to_owned(), git.to_owned()));
    }
    let text = read(git, MAX_SETTINGS_BYTES)?;
    let own = git.parent()?.join(text.strip_prefix("gitdir:")?.trim()).canonicalize().ok()?;
    let back = PathBuf::from(read(&own.join("gitdir"), MAX_SETTINGS_BYTES)?.trim());
    let common = own.join(read(&own.join("commondir"), MAX_SETTINGS_BYTES)?.trim()).canonicalize().ok()?;
    (back.canonicalize().ok()? == git.canonicalize().ok()?).then_some((own, common))
}

fn is_harmless(file: &Path) -> bool {
    let settings = read(file, MAX_SETTINGS_BYTES).and_then(|text| parse_settings(&text));
    settings.is_some_and(|all| all.iter().all(GitSetting::is_harmless))
}

/// The text of a file, unless it is too large.
fn read(file: &Path, max: u64) -> Option<String> {
    let is_small = fs::metadata(file).is_ok_and(|metadata| metadata.is_file() && metadata.len() <= max);
    is_small.then(|| fs::read_to_string(file).ok()).flatten()
}

/// Whether an index has submodules, in which git would run as well; true if it cannot be read.
fn has_submodules(index: &Path) -> bool {
    match fs::metadata(index) {
        Err(_) => false,
        Ok(metadata) if metadata.len() > MAX_INDEX_BYTES || !metadata.is_file() => true,
        Ok(_) => fs::read(index).ok().and_then(|bytes| index_has_submodules(&bytes)).unwrap_or(true),
    }
}

/// Walks the entries of an index; `None` if its format is unknown.
fn index_has_submodules(bytes: &[u8]) -> Option<bool> {
    const FIXED_ENTRY_BYTES: usize = 62;
    let read_u32 = |offset: usize| {
        bytes.get(offset..offset + 4).map(|four| u32::from_be_bytes([four[0], four[1], four[2], four[3]]))
    };
    let version = read_u32(4)?;
    if bytes.get(..4)? != b"DIRC" || !(2..=4).contains(&version) {
        return None;
    }
    let mut offset = 12;
    for _ in 0..read_u32(8)? {
        if read_u32(offset + 24)? & 0o170_000 == 0o160_000 {
            return Some(true);
        }
        let extended = bytes.get(offset + FIXED_ENTRY_BYTES - 2)? & 0x40 != 0;
        let mut name_offset = offset + FIXED_ENTRY_BYTES + if extended { 2 } else { 0 };
        if version == 4 {
            while bytes.get(name_offset)? & 0x80 != 0 {
                name_offset += 1;
            }
            name_offset += 1;
        }
        let end = name_offset + bytes.get(name_offset..)?.iter().position(|byte| *byte == 0)?;
        offset = if version == 4 { end + 1 } else { offset + (end - offset) / 8 * 8 + 8 };
    }
    // A split index keeps the rest of its entries in another file.
    Some(bytes.get(offset..)?.starts_with(b"link"))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[expect(clippy::disallowed_methods, reason = "the test makes repositories with the real git")]
    fn git(folder: &Path, args: &[&str]) {
        let done = Command::new("git")
            .args(["-c", "user.name=a", "-c", "user.email=a@b", "-C"])
            .arg(folder)
            .args(args)
            .output();
        assert!(done.unwrap().status.success(), "{args:?}");
    }

    fn inspect(command: &str, cwd: &Path) -> FilesystemFacts {
        inspect_command(command, cwd, InspectionScope { roots: &[], controls: &[], path: None })
    }

    #[test]
    fn a_repository_is_plain_unless_git_would_run_a_program() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        git(&top, &["init", "-q", "-b", "main"]);
        fs::write(top.join("a"), "x").unwrap();
        fs::write(top.join("longer-name.txt"), "x").unwrap();
        git(&top, &["add", "."]);
        git(&top, &["commit", "-qm", "x"]);
        assert!(inspect("git status", &top).plain_repository);
        git(&top, &["update-index", "--index-version", "4"]);
        assert!(inspect("git status", &top).plain_repository);
        fs::create_dir(top.join("sub")).unwrap();
        assert!(inspect("cd sub && git log", &top).plain_repository);
        git(&top, &["worktree", "add", "-q", "../wt-of-test"]);
        let other = top.parent().unwrap().join("wt-of-test");
        assert!(inspect("git status", &other).plain_repository);
        fs::remove_dir_all(&other).unwrap();
        git(&top, &["config", "core.fsmonitor", "./evil"]);
        assert!(!inspect("git status", &top).plain_repository);
        git(&top, &["config", "--unset", "core.fsmonitor"]);
        fs::write(top.join(".git/hooks/post-index-change"), "").unwrap();
        assert!(!inspect("git status", &top).plain_repository);
        fs::remove_file(top.join(".git/hooks/post-index-change")).unwrap();
        git(&top, &["update-index", "--add", "--cacheinfo", "160000,4b825dc642cb6eb9a060e54bf8d69288fbee4904,s"]);
        assert!(!inspect("git status", &top).plain_repository);
    }

    #[test]
    fn bare_repositories_are_detected() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        git(&top, &["init", "-q"]);
        git(&top, &["init", "-q", "--bare", "doc"]);
        fs::create_dir_all(top.join("doc/deep")).unwrap();
        for command in ["cd doc && git status", "git -C doc status", "git push doc main", "cd doc/deep; git log"] {
            assert!(inspect(command, &top).hidden_repository, "{command}");
        }
        assert!(!inspect("git status", &top).hidden_repository);
    }

    #[test]
    fn links_and_patterns_that_leave_the_workspace_are_detected() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        fs::create_dir_all(top.join("work/sub")).unwrap();
        fs::write(top.join("secret"), "").unwrap();
        std::os::unix::fs::symlink("../secret", top.join("work/link.txt")).unwrap();
        std::os::unix::fs::symlink("../..", top.join("work/sub/up")).unwrap();
        fs::write(top.join("work/a.rs"), "").unwrap();
        let work = top.join("work");
        for command in ["cat link.txt", "cat *.txt", "cat sub/up/secret", "cat sub/*/secret", "cd sub; cat up/secret"] {
            assert!(!inspect(command, &work).inside, "{command}");
        }
        for command in ["cat a.rs", "cat *.rs", "ls", "grep -rn /api .", "cat /etc/hosts"] {
            assert!(inspect(command, &work).inside, "{command}");
        }
    }

    #[test]
    fn a_program_in_the_workspace_is_detected() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        fs::create_dir(top.join("bin")).unwrap();
        fs::write(top.join("bin/ls"), "").unwrap();
        let path = std::env::join_paths([top.join("bin"), "/usr/bin".into()]).unwrap();
        let scope = InspectionScope { roots: &[], controls: &[], path: Some(&path) };
        assert!(!inspect_command("ls", &top, scope).inside);
        assert!(inspect_command("cat x", &top, scope).inside);
    }
}

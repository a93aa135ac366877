//! Resolves the paths of a shell command before it runs: the shell follows links, which rules on names cannot see.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use policy::{FilesystemFacts, Policy, RequestedAct};
use shell_parser::{CommandFolders, RedirectMode, ShellScript, ShellWord, SimpleCommand};

use crate::protected_files::{PathResolver, resolve_links};

/// Maximum number of paths that are checked. A command with more of them is like a program, which is not checked.
const MAX_LOOKUPS: usize = 20_000;

/// The first path of a command that reaches a file that controls Bosun.
pub(crate) fn find_reached_control(
    command: &str,
    cwd: &Path,
    is_control: impl Fn(&Path) -> bool,
    policy: &Policy,
) -> Option<PathBuf> {
    let script = shell_parser::parse(command);
    let folders = working_folders(&script, cwd);
    let mut resolver = PathResolver::default();
    let by_name = candidate_paths(&script, &folders)
        .take(MAX_LOOKUPS)
        .find_map(|path| resolver.resolve(&path).filter(|real| is_control(real)));
    let by_pattern = || {
        let patterns = glob_words(&script, &folders);
        let expanded = patterns.iter().flat_map(|(folder, pattern)| GlobExpansion::expand(folder, pattern).all);
        expanded.into_iter().find(|path| is_control(path) || policy.could_be_control(path))
    };
    by_name.or_else(by_pattern)
}

/// Every path that a word of the command may name: as written, and resolved.
pub(crate) fn named_paths(script: &ShellScript, folders: &CommandFolders) -> Vec<(PathBuf, PathBuf)> {
    let mut resolver = PathResolver::default();
    let mut named: Vec<(PathBuf, PathBuf)> = candidate_paths(script, folders)
        .take(MAX_LOOKUPS)
        .map(|path| {
            let real = resolver.resolve(&path).unwrap_or_else(|| PathBuf::from("/"));
            (normalize_lexically(&path), real)
        })
        .collect();
    for (folder, pattern) in glob_words(script, folders) {
        named.extend(GlobExpansion::expand(&folder, &pattern).matches.into_iter().map(|real| (folder.clone(), real)));
    }
    named
}

/// The folders in which the commands of a script run. A missing folder is not entered.
pub(crate) fn working_folders(script: &ShellScript, cwd: &Path) -> CommandFolders {
    CommandFolders::follow(&script.commands, cwd, |from, target| {
        let to = from.join(target);
        match resolve_links(&to) {
            Some(real) if to.is_dir() => vec![real],
            Some(real) => vec![from.to_owned(), real],
            None => vec![from.to_owned()],
        }
    })
}

/// The words of each command, joined to the folders that it may run in.
fn candidate_paths<'a>(script: &'a ShellScript, folders: &'a CommandFolders) -> impl Iterator<Item = PathBuf> + 'a {
    let commands = script.commands.iter().enumerate().flat_map(|(index, simple)| {
        let words: BTreeSet<&str> = words_of(simple).flat_map(split_at_separators).collect();
        join_words(folders.of_command(index), words)
    });
    let files: BTreeSet<&str> =
        script.files.iter().map(|redirect| word_text(&redirect.file)).flat_map(split_at_separators).collect();
    commands.chain(join_words(folders.all(), files))
}

fn join_words(folders: &[PathBuf], words: BTreeSet<&str>) -> Vec<PathBuf> {
    folders.iter().flat_map(|folder| words.iter().map(|word| folder.join(word))).take(MAX_LOOKUPS).collect()
}

fn words_of(simple: &SimpleCommand) -> impl Iterator<Item = &str> {
    simple.args.iter().map(word_text).chain([simple.name.as_str()])
}

/// Splits off file names that follow a separator in options and settings.
fn split_at_separators(word: &str) -> impl Iterator<Item = &str> {
    word.split(['=', ':', ',', '@']).chain([word])
}

/// The words that the shell expands as file name patterns.
fn glob_words(script: &ShellScript, folders: &CommandFolders) -> Vec<(PathBuf, String)> {
    let is_pattern = |word: &&str| word.contains(['*', '?', '[']);
    let commands = script.commands.iter().enumerate().flat_map(|(index, simple)| {
        let words: Vec<&str> = words_of(simple).flat_map(split_at_separators).filter(is_pattern).collect();
        folders
            .of_command(index)
            .iter()
            .flat_map(|folder| words.iter().map(|word| (folder.clone(), (*word).to_owned())))
            .collect::<Vec<_>>()
    });
    let files = script.files.iter().map(|redirect| word_text(&redirect.file)).filter(is_pattern);
    let files = files.flat_map(|word| folders.all().iter().map(move |folder| (folder.clone(), word.to_owned())));
    commands.chain(files).take(MAX_LOOKUPS).collect()
}

/// The expansion of a file name pattern.
#[derive(Debug, Default)]
struct GlobExpansion {
    /// The matching files and folders, with links resolved.
    matches: Vec<PathBuf>,
    /// The matches, and every folder on the way with the rest of the pattern: a file created there counts too.
    all: Vec<PathBuf>,
    lookups: usize,
}

impl GlobExpansion {
    fn expand(folder: &Path, pattern: &str) -> GlobExpansion {
        let mut expansion = GlobExpansion::default();
        let (start, pattern) = match pattern.strip_prefix('/') {
            Some(rest) => (Path::new("/"), rest),
            None => (folder, pattern),
        };
        let parts: Vec<&str> = pattern.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
        expansion.walk(start, &parts);
        expansion
    }

    fn walk(&mut self, folder: &Path, parts: &[&str]) {
        self.lookups += 1;
        let [part, rest @ ..] = parts else {
            self.matches.push(folder.to_owned());
            self.all.push(folder.to_owned());
            return;
        };
        if self.lookups > MAX_LOOKUPS {
            return;
        }
        self.all.push(folder.join(parts.join("/")));
        if !part.contains(['*', '?', '[', '\\']) {
            if let Some(next) = resolve_links(&folder.join(part)) {
                self.walk(&next, rest);
            }
            return;
        }
        let is_match =
            |name: &str| name.starts_with('.') <= part.starts_with(['.', '[', '\\']) && policy::may_match(part, name);
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            self.lookups += 1;
            if self.lookups > MAX_LOOKUPS {
                return;
            }
            if entry.file_name().to_str().is_some_and(is_match)
                && let Some(next) = resolve_links(&entry.path())
            {
                self.walk(&next, rest);
            }
        }
    }
}

/// The path without `.` and `..`, by text alone.
fn normalize_lexically(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::CurDir => {}
            std::path::Component::ParentDir => drop(normal.pop()),
            part => normal.push(part),
        }
    }
    normal
}

/// The redirections of a command whose real target differs from the written one, as separate acts.
pub fn resolved_redirects(command: &str, cwd: &Path) -> Vec<RequestedAct> {
    let script = shell_parser::parse(command);
    let known = script.files.iter().filter_map(|redirect| match &redirect.file {
        ShellWord::Known(path) => Some((redirect.mode, cwd.join(path))),
        ShellWord::Glob(_) | ShellWord::Unknown(_) => None,
    });
    let elsewhere =
        known.filter_map(|(mode, path)| resolve_links(&path).filter(|real| *real != path).map(|real| (mode, real)));
    let act = |(mode, path): (RedirectMode, PathBuf)| {
        let sign = match mode {
            RedirectMode::Read => '<',
            RedirectMode::Write => '>',
        };
        let quoted = path.to_string_lossy().replace('\'', r"'\''");
        RequestedAct::Shell {
            command: format!("{sign} '{quoted}'"),
            cwd: cwd.to_owned(),
            facts: FilesystemFacts::default(),
        }
    };
    elsewhere.map(act).collect()
}

fn word_text(word: &ShellWord) -> &str {
    match word {
        ShellWord::Known(text) | ShellWord::Glob(text) | ShellWord::Unknown(text) => text,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn words_are_resolved_as_the_shell_would_do_it() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        fs::create_dir_all(top.join("work/sub")).unwrap();
        fs::create_dir_all(top.join("home")).unwrap();
        symlink(top.join("home"), top.join("work/link")).unwrap();
        let work = top.join("work");
        let policy = Policy::default();
        let wanted = top.join("home/config");
        let reaches = |command: &str| find_reached_control(command, &work, |path| path == wanted, &policy).is_some();
        for command in [
            "cat link/config",
            "cp x link/config",
            "echo x > link/config",
            "x --file=link/config",
            "cd link && cat config",
            "cd sub && cat ../link/config",
            "cat sub/../link/config",
            "git -C link add config",
            "bash -c 'cat link/config'",
        ] {
            assert!(reaches(command), "{command}");
        }
        assert!(!reaches("cat config") && !reaches("cat sub/config"));
    }

    #[test]
    fn a_pattern_behind_a_link_is_followed() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        fs::create_dir_all(top.join("work/sub")).unwrap();
        fs::create_dir_all(top.join(".bosun")).unwrap();
        symlink("..", top.join("work/up")).unwrap();
        symlink("../..", top.join("work/sub/far")).unwrap();
        let (work, home) = (top.join("work"), top.join(".bosun"));
        let policy = Policy { control_paths: vec![home.clone()], ..Policy::default() };
        let reaches =
            |command: &str| find_reached_control(command, &work, |path| path.starts_with(&home), &policy).is_some();
        for command in [
            "cat up/.bos*/x",
            "cp a up/.bos*/config.toml",
            "cat up/.b?sun/x",
            "cat up/[.]bosun/x",
            "cat */.bos*/x",
            "cat u?/.bosun/x",
            "cat sub/*/.bosun/x",
            "cd sub; cat far/.bos*/x",
            "echo x > up/.bos*/config.toml",
            "x --file=up/.bos*/x",
        ] {
            assert!(reaches(command), "{command}");
        }
        for command in ["cat sub/*", "cat up/*.txt", "ls *", "cat .bos*/x"] {
            assert!(!reaches(command), "{command}");
        }
    }

    #[test]
    fn cd_back_from_an_existing_folder_stays_in_the_checkout() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        let checkout = home.join("checkouts/w");
        fs::create_dir_all(checkout.join("s/t")).unwrap();
        let policy = Policy::default();
        let is_control = |path: &Path| path.starts_with(&home) && !path.starts_with(&checkout);
        let reaches = |command: &str| find_reached_control(command, &checkout, is_control, &policy).is_some();
        for command in ["cd s; make; cd ..", "cd s && make && cd ..", "cd s/t; make; cd ../..; ls", "pushd s; popd"] {
            assert!(!reaches(command), "{command}");
        }
        for command in ["cd ..", "cd gone; cd ..; ls", "(cd s); cd ..", "cd s; cd ../..", "cd s; cat ../../x"] {
            assert!(reaches(command), "{command}");
        }
    }

    #[test]
    fn a_redirection_through_a_link_is_judged_by_its_target() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        symlink("it's", top.join("link")).unwrap();
        let quoted = top.join("it's").display().to_string().replace('\'', r"'\''");
        let act = |sign: char| RequestedAct::Shell {
            command: format!("{sign} '{quoted}'"),
            cwd: top.clone(),
            facts: FilesystemFacts::default(),
        };
        assert_eq!(resolved_redirects("echo x > link; cat < link > ./plain 2> other", &top), [act('>'), act('<')]);
    }
}

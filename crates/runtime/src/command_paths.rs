//! Where the words of a shell command really lead, as far as the file system tells before it runs: the shell follows
//! links that no rule on a name can see.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use policy::shell::{self, CommandFolders, RedirectMode, ShellScript, ShellWord, SimpleCommand};
use policy::{FilesystemFacts, Policy, RequestedAct};

use crate::protected_files::{PathResolver, real};

/// Most paths that are looked at. Whoever writes more of them could as well write a program.
const LOOKS: usize = 20_000;

/// The path that a call would reach of what controls Bosun, if it would.
pub(crate) fn find_reached_control(
    command: &str,
    cwd: &Path,
    holds: impl Fn(&Path) -> bool,
    policy: &Policy,
) -> Option<PathBuf> {
    let script = shell::parse(command);
    let places = working_folders(&script, cwd);
    let mut leads = PathResolver::default();
    let plain =
        candidate_paths(&script, &places).take(LOOKS).find_map(|path| leads.resolve(&path).filter(|real| holds(real)));
    let found = || {
        let patterns = patterns(&script, &places);
        let found = patterns.iter().flat_map(|(folder, pattern)| GlobExpansion::expand(folder, pattern).all);
        found.into_iter().find(|path| holds(path) || policy.could_be_control(path))
    };
    plain.or_else(found)
}

/// Every path that a word of the command may name: as it is written, and as it really leads.
pub(crate) fn named_paths(script: &ShellScript, places: &CommandFolders) -> Vec<(PathBuf, PathBuf)> {
    let mut leads = PathResolver::default();
    let mut named: Vec<(PathBuf, PathBuf)> = candidate_paths(script, places)
        .take(LOOKS)
        .map(|path| {
            let real = leads.resolve(&path).unwrap_or_else(|| PathBuf::from("/"));
            (normalize_lexically(&path), real)
        })
        .collect();
    for (folder, pattern) in patterns(script, places) {
        named.extend(GlobExpansion::expand(&folder, &pattern).matches.into_iter().map(|real| (folder.clone(), real)));
    }
    named
}

/// Where the commands of a line run. A folder that is not there is not entered.
pub(crate) fn working_folders(script: &ShellScript, cwd: &Path) -> CommandFolders {
    CommandFolders::follow(&script.commands, cwd, |from, target| {
        let to = from.join(target);
        match real(&to) {
            Some(real) if to.is_dir() => vec![real],
            Some(real) => vec![from.to_owned(), real],
            None => vec![from.to_owned()],
        }
    })
}

/// The words of each command, joined to the folders that it may run in.
fn candidate_paths<'a>(script: &'a ShellScript, places: &'a CommandFolders) -> impl Iterator<Item = PathBuf> + 'a {
    let commands = script.commands.iter().enumerate().flat_map(|(at, simple)| {
        let words: BTreeSet<&str> = words_of(simple).flat_map(split).collect();
        join(places.at(at), words)
    });
    let files: BTreeSet<&str> = script.files.iter().map(|redirect| text(&redirect.file)).flat_map(split).collect();
    commands.chain(join(places.all(), files))
}

fn join(folders: &[PathBuf], words: BTreeSet<&str>) -> Vec<PathBuf> {
    folders.iter().flat_map(|folder| words.iter().map(|word| folder.join(word))).take(LOOKS).collect()
}

fn words_of(simple: &SimpleCommand) -> impl Iterator<Item = &str> {
    simple.args.iter().map(text).chain([simple.name.as_str()])
}

/// Options and settings carry their file behind a sign.
fn split(word: &str) -> impl Iterator<Item = &str> {
    word.split(['=', ':', ',', '@']).chain([word])
}

/// The words that the shell looks up among the names of files.
fn patterns(script: &ShellScript, places: &CommandFolders) -> Vec<(PathBuf, String)> {
    let is_pattern = |word: &&str| word.contains(['*', '?', '[']);
    let commands = script.commands.iter().enumerate().flat_map(|(at, simple)| {
        let words: Vec<&str> = words_of(simple).flat_map(split).filter(is_pattern).collect();
        places
            .at(at)
            .iter()
            .flat_map(|folder| words.iter().map(|word| (folder.clone(), (*word).to_owned())))
            .collect::<Vec<_>>()
    });
    let files = script.files.iter().map(|redirect| text(&redirect.file)).filter(is_pattern);
    let files = files.flat_map(|word| places.all().iter().map(move |folder| (folder.clone(), word.to_owned())));
    commands.chain(files).take(LOOKS).collect()
}

/// What a pattern of file names finds.
#[derive(Debug, Default)]
struct GlobExpansion {
    /// The files and folders that fit it, without links.
    matches: Vec<PathBuf>,
    /// These, and every folder on the way with the rest of the pattern: what may be made there counts.
    all: Vec<PathBuf>,
    lookups: usize,
}

impl GlobExpansion {
    fn expand(folder: &Path, pattern: &str) -> GlobExpansion {
        let mut found = GlobExpansion::default();
        let (start, pattern) = match pattern.strip_prefix('/') {
            Some(rest) => (Path::new("/"), rest),
            None => (folder, pattern),
        };
        let parts: Vec<&str> = pattern.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
        found.walk(start, &parts);
        found
    }

    fn walk(&mut self, folder: &Path, parts: &[&str]) {
        self.lookups += 1;
        let [part, rest @ ..] = parts else {
            self.matches.push(folder.to_owned());
            self.all.push(folder.to_owned());
            return;
        };
        if self.lookups > LOOKS {
            return;
        }
        self.all.push(folder.join(parts.join("/")));
        if !part.contains(['*', '?', '[', '\\']) {
            if let Some(next) = real(&folder.join(part)) {
                self.walk(&next, rest);
            }
            return;
        }
        let fits =
            |name: &str| name.starts_with('.') <= part.starts_with(['.', '[', '\\']) && policy::may_match(part, name);
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            self.lookups += 1;
            if self.lookups > LOOKS {
                return;
            }
            if entry.file_name().to_str().is_some_and(fits)
                && let Some(next) = real(&entry.path())
            {
                self.walk(&next, rest);
            }
        }
    }
}

/// The path without `.` and `..`, as it is written.
fn normalize_lexically(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::CurDir => {}
            std::path::Component::ParentDir => drop(plain.pop()),
            part => plain.push(part),
        }
    }
    plain
}

/// The redirections of a command that lead elsewhere than they say, as acts of their own.
pub fn resolved_redirects(command: &str, cwd: &Path) -> Vec<RequestedAct> {
    let script = shell::parse(command);
    let known = script.files.iter().filter_map(|redirect| match &redirect.file {
        ShellWord::Known(path) => Some((redirect.mode, cwd.join(path))),
        ShellWord::Glob(_) | ShellWord::Unknown(_) => None,
    });
    let elsewhere = known.filter_map(|(open, path)| real(&path).filter(|real| *real != path).map(|real| (open, real)));
    let act = |(open, path): (RedirectMode, PathBuf)| {
        let sign = match open {
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

fn text(word: &ShellWord) -> &str {
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
    fn words_lead_where_the_shell_would_go() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        fs::create_dir_all(top.join("work/sub")).unwrap();
        fs::create_dir_all(top.join("home")).unwrap();
        symlink(top.join("home"), top.join("work/link")).unwrap();
        let work = top.join("work");
        let policy = Policy::default();
        let wanted = top.join("home/config");
        let leads = |command: &str| find_reached_control(command, &work, |path| path == wanted, &policy).is_some();
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
            assert!(leads(command), "{command}");
        }
        assert!(!leads("cat config") && !leads("cat sub/config"));
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
        let policy = Policy { controls: vec![home.clone()], ..Policy::default() };
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
    fn the_way_back_from_a_folder_that_is_there_is_taken_from_it() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        let own = home.join("checkouts/w");
        fs::create_dir_all(own.join("s/t")).unwrap();
        let policy = Policy::default();
        let holds = |path: &Path| path.starts_with(&home) && !path.starts_with(&own);
        let reaches = |command: &str| find_reached_control(command, &own, holds, &policy).is_some();
        for command in ["cd s; make; cd ..", "cd s && make && cd ..", "cd s/t; make; cd ../..; ls", "pushd s; popd"] {
            assert!(!reaches(command), "{command}");
        }
        for command in ["cd ..", "cd gone; cd ..; ls", "(cd s); cd ..", "cd s; cd ../..", "cd s; cat ../../x"] {
            assert!(reaches(command), "{command}");
        }
    }

    #[test]
    fn a_redirection_through_a_link_is_judged_by_its_real_name() {
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

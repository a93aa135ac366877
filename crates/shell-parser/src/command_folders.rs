//! The folders that the commands of a line run in.

use std::path::{Path, PathBuf};

use super::{CommandTiming, ShellWord, SimpleCommand};

/// Maximum number of folders tracked per line.
const MAX_FOLDERS: usize = 16;

/// The folders in which each command of a line may run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandFolders {
    by_command: Vec<Vec<PathBuf>>,
    all: Vec<PathBuf>,
    /// Whether a command changes the folder of those after it.
    pub has_changes: bool,
    /// Whether there are more folders than are tracked.
    pub too_many: bool,
}

impl CommandFolders {
    /// Follows commands that begin in the folder `start`. `change_folder` returns where a change from a folder to
    /// a target may lead.
    pub fn follow(
        commands: &[SimpleCommand],
        start: &Path,
        mut change_folder: impl FnMut(&Path, &str) -> Vec<PathBuf>,
    ) -> CommandFolders {
        let mut folders = CommandFolders { all: vec![start.to_owned()], ..CommandFolders::default() };
        folders.has_changes = commands.iter().any(changes_folder);
        let in_order = commands
            .iter()
            .filter(|simple| changes_folder(simple))
            .all(|simple| simple.timing != CommandTiming::Unordered);
        let mut current = folders.all.clone();
        for simple in commands {
            let mut own = current.clone();
            for folder in option_folders(simple) {
                let next = own.iter().flat_map(|from| change_folder(from, folder)).collect::<Vec<_>>();
                own.extend(next);
                own.truncate(MAX_FOLDERS * 2);
            }
            own.iter().for_each(|folder| folders.add(folder));
            folders.by_command.push(own);
            if !changes_folder(simple) {
                continue;
            }
            let mut next = folders_after(simple, &current, &folders.all, &mut change_folder);
            if simple.timing != CommandTiming::Once || !in_order {
                next.extend(current);
            }
            next.dedup();
            next.truncate(MAX_FOLDERS * 2);
            current = next;
            current.iter().for_each(|folder| folders.add(folder));
        }
        // A command that may run again may run in the folder of a later command.
        if !in_order {
            folders.by_command = vec![folders.all.clone(); commands.len()];
        }
        folders
    }

    fn add(&mut self, folder: &Path) {
        if self.all.iter().any(|known| known == folder) {
            return;
        }
        self.too_many |= self.all.len() > MAX_FOLDERS;
        if !self.too_many {
            self.all.push(folder.to_owned());
        }
    }

    /// The folders that a command may run in; all of them if that is unknown.
    pub fn of_command(&self, command: usize) -> &[PathBuf] {
        self.by_command.get(command).unwrap_or(&self.all)
    }

    /// Every folder that a command may run in.
    pub fn all(&self) -> &[PathBuf] {
        &self.all
    }

    /// The folder that the commands start in.
    pub fn first(&self) -> &Path {
        self.all.first().map_or(Path::new("/"), PathBuf::as_path)
    }
}

/// Whether a command changes the folder of its shell.
fn changes_folder(simple: &SimpleCommand) -> bool {
    matches!(simple.name.rsplit('/').next(), Some("cd" | "pushd" | "popd"))
}

/// The folders that a `cd` may lead to. Going back may lead to any folder so far.
fn folders_after(
    simple: &SimpleCommand,
    current: &[PathBuf],
    before: &[PathBuf],
    change_folder: &mut impl FnMut(&Path, &str) -> Vec<PathBuf>,
) -> Vec<PathBuf> {
    let targets: Vec<&str> = simple.args.iter().map(word_text).filter(|text| !text.starts_with('-')).collect();
    let back = simple.args.iter().any(|word| word_text(word) == "-") || simple.name.ends_with("popd");
    let targets = match targets.as_slice() {
        [] if simple.args.is_empty() && simple.name.ends_with("cd") => vec!["~"],
        [] => return before.to_vec(),
        targets => targets.to_vec(),
    };
    let reached = current
        .iter()
        .flat_map(|from| targets.iter().flat_map(|target| change_folder(from, target)).collect::<Vec<_>>());
    let mut reached: Vec<PathBuf> = reached.collect();
    if back || simple.name.ends_with("pushd") {
        reached.extend(before.iter().cloned());
    }
    reached
}

/// The folders that options make a program work in.
fn option_folders(simple: &SimpleCommand) -> impl Iterator<Item = &str> {
    let before = std::iter::once("").chain(simple.args.iter().map(word_text));
    simple.args.iter().map(word_text).zip(before).filter_map(|(word, before)| match before {
        "-C" | "--chdir" | "--directory" => Some(word),
        _ => word.strip_prefix("-C").or_else(|| word.strip_prefix("--directory=")).filter(|rest| !rest.is_empty()),
    })
}

fn word_text(word: &ShellWord) -> &str {
    match word {
        ShellWord::Known(text) | ShellWord::Glob(text) | ShellWord::Unknown(text) => text,
    }
}

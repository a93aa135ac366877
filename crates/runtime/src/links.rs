//! Where the words of a shell command really lead, as far as the file system tells before it runs: the shell follows
//! links that no rule on a name can see.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use policy::Act;
use policy::shell::{self, Open, Script, Simple, Word};

use crate::controls::{Leads, real};

/// Most folders of a command that are followed.
const FOLDERS: usize = 32;

/// Most paths that are looked at. Whoever writes more of them could as well write a program.
const LOOKS: usize = 20_000;

/// Every path that a word of the command may name, as it really leads.
pub(crate) fn paths(command: &str, cwd: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let script = shell::read(command);
    let folders = folders(&script, cwd);
    let words = script.commands.iter().flat_map(|simple| simple.args.iter().map(text).chain([simple.name.as_str()]));
    let words = words.chain(script.files.iter().map(|redirect| text(&redirect.file)));
    // Options and settings carry their file behind a sign.
    let pieces: BTreeSet<&str> = words.flat_map(|word| word.split(['=', ':', ',', '@']).chain([word])).collect();
    let joined = folders.iter().flat_map(|folder| pieces.iter().map(|piece| folder.join(piece)));
    let joined: Vec<PathBuf> = joined.take(LOOKS).collect();
    let mut leads = Leads::default();
    joined.into_iter().filter_map(move |path| leads.real(&path))
}

/// The redirections of a command that lead elsewhere than they say, as acts of their own.
pub fn redirects(command: &str, cwd: &Path) -> Vec<Act> {
    let script = shell::read(command);
    let known = script.files.iter().filter_map(|redirect| match &redirect.file {
        Word::Known(path) => Some((redirect.open, cwd.join(path))),
        Word::Glob(_) | Word::Unknown(_) => None,
    });
    let elsewhere = known.filter_map(|(open, path)| real(&path).filter(|real| *real != path).map(|real| (open, real)));
    let act = |(open, path): (Open, PathBuf)| {
        let sign = match open {
            Open::Read => '<',
            Open::Write => '>',
        };
        let quoted = path.to_string_lossy().replace('\'', r"'\''");
        Act::Shell { command: format!("{sign} '{quoted}'"), cwd: cwd.to_owned() }
    };
    elsewhere.map(act).collect()
}

/// The folder that a command starts in, and those that it goes to.
fn folders(script: &Script, cwd: &Path) -> Vec<PathBuf> {
    let mut folders = vec![cwd.to_owned()];
    for target in script.commands.iter().flat_map(targets) {
        let next: Vec<PathBuf> = folders.iter().filter_map(|folder| real(&folder.join(target))).collect();
        folders.extend(next);
        folders.truncate(FOLDERS);
    }
    folders
}

fn targets(simple: &Simple) -> impl Iterator<Item = &str> {
    let moves = matches!(simple.name.as_str(), "cd" | "pushd");
    let before = std::iter::once("").chain(simple.args.iter().map(text));
    simple.args.iter().map(text).zip(before).filter(move |(_, before)| moves || *before == "-C").map(|(word, _)| word)
}

fn text(word: &Word) -> &str {
    match word {
        Word::Known(text) | Word::Glob(text) | Word::Unknown(text) => text,
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
        let leads = |command: &str| paths(command, &work).any(|path| path == top.join("home/config"));
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
    fn a_redirection_through_a_link_is_judged_by_its_real_name() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        symlink("it's", top.join("link")).unwrap();
        let quoted = top.join("it's").display().to_string().replace('\'', r"'\''");
        let act = |sign: char| Act::Shell { command: format!("{sign} '{quoted}'"), cwd: top.clone() };
        assert_eq!(redirects("echo x > link; cat < link > ./plain 2> other", &top), [act('>'), act('<')]);
    }
}

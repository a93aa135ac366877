//! Commands that only look: they start no program, write no file, and read nothing but their operands. An option that is
//! not known makes any of them an ordinary command.

mod table;

use table::{Operands, PROGRAMS, Program};

use crate::pattern::bare;
use crate::shell::{Simple, Word};

/// What such a command reads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Looks<'a> {
    /// Words that may name files or folders.
    pub(crate) paths: Vec<&'a Word>,
    pub(crate) depth: Depth,
    /// Whether git does it, which may run what the settings of the repository name.
    pub(crate) git: bool,
}

/// Which contents of a folder are read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Depth {
    /// None: only files that are named, and the names of others.
    #[default]
    Named,
    /// Those that are not hidden.
    Visible,
    Everything,
}

/// Programs that do nothing but run the command in their words.
const THROUGH: [&str; 9] = ["bash", "builtin", "command", "env", "nice", "sh", "stdbuf", "time", "timeout"];

/// What a command reads, if it only looks.
pub(crate) fn looks(simple: &Simple) -> Option<Looks<'_>> {
    let name = bare(&simple.name);
    let through = simple.through.iter().all(|name| THROUGH.contains(&bare(name)));
    let known = simple.args.iter().all(|word| !matches!(word, Word::Unknown(_)));
    if !simple.tricks.is_empty() || !through || !known || name.contains('/') {
        return None;
    }
    match name {
        "git" => git(&simple.args),
        "find" => find(&simple.args),
        "sed" => sed(&simple.args),
        "date" => date(&simple.args),
        _ => {
            let program = PROGRAMS.iter().find(|program| program.names.contains(&name))?;
            let given = Given::read(program, &simple.args)?;
            by_operands(name, program, given)
        }
    }
}

/// The options and operands of a program.
#[derive(Debug, Default)]
struct Given<'a> {
    options: Vec<&'a str>,
    operands: Vec<&'a Word>,
    /// Whether a long option may have taken the first operand for its value.
    long_before: bool,
}

impl<'a> Given<'a> {
    /// Sorts arguments; nothing where an option is not one of the program's.
    fn read(program: &Program, args: &'a [Word]) -> Option<Given<'a>> {
        let mut given = Given::default();
        let mut rest = args.iter();
        while let Some(arg) = rest.next() {
            let Word::Known(text) = arg else {
                given.operands.push(arg);
                continue;
            };
            if program.operands == Operands::Text && program.flags.is_empty() {
                continue;
            }
            if text == "--" {
                // It may be the value of the option before it, and then options follow.
                given.operands.extend(rest.by_ref());
                given.operands.iter().all(|word| !self::text(word).starts_with('-')).then_some(())?;
            } else if let Some(long) = text.strip_prefix("--") {
                let name = long.split('=').next().unwrap_or(long);
                program.longs.contains(&name).then_some(())?;
                given.options.push(name);
                given.long_before |= !long.contains('=') && given.operands.is_empty();
            } else if let Some(letters) = text.strip_prefix('-').filter(|letters| !letters.is_empty()) {
                given.options.push(text);
                if takes_next(program, letters)? && !matches!(rest.next()?, Word::Known(_)) {
                    return None;
                }
            } else {
                given.operands.push(arg);
            }
        }
        Some(given)
    }

    fn has(&self, letters: &str, longs: &[&str]) -> bool {
        self.options.iter().any(|option| match option.strip_prefix('-') {
            Some(cluster) => cluster.contains(|c| letters.contains(c)),
            None => longs.contains(option),
        })
    }
}

/// Whether a cluster of letters takes the next argument; nothing where a letter is not known.
fn takes_next(program: &Program, letters: &str) -> Option<bool> {
    for (at, letter) in letters.char_indices() {
        if program.valued.contains(letter) {
            return Some(at + letter.len_utf8() == letters.len());
        }
        if !program.flags.contains(letter) {
            return None;
        }
    }
    Some(false)
}

fn by_operands<'a>(name: &str, program: &Program, given: Given<'a>) -> Option<Looks<'a>> {
    let everything = |is: bool| if is { Depth::Everything } else { Depth::Named };
    let paths = match program.operands {
        Operands::None => given.operands.is_empty().then(Vec::new)?,
        Operands::Text => given.operands.clone(),
        Operands::Paths => given.operands.clone(),
        Operands::OneFolder => (given.operands.len() == 1).then(|| given.operands.clone())?,
        Operands::PatternThenPaths => {
            let by_option = given.has("e", &["regexp", "files", "type-list"]);
            let skipped = usize::from(!by_option && !given.long_before);
            given.operands.iter().skip(skipped).copied().collect()
        }
    };
    // Words that are no paths may still be patterns, which the shell would look up.
    let paths = match program.operands {
        Operands::Text => paths.into_iter().filter(|word| matches!(word, Word::Glob(_))).collect(),
        _ => paths,
    };
    let depth = match name {
        "rg" if given.has("u.", &["hidden", "no-ignore"]) => Depth::Everything,
        "rg" => Depth::Visible,
        "grep" | "egrep" | "fgrep" | "diff" => everything(given.has("r", &["recursive"])),
        _ => Depth::Named,
    };
    Some(Looks { paths, depth, git: false })
}

fn text(word: &Word) -> &str {
    match word {
        Word::Known(text) | Word::Glob(text) | Word::Unknown(text) => text,
    }
}

/// Without an action `find` prints names.
fn find(args: &[Word]) -> Option<Looks<'_>> {
    #[rustfmt::skip]
    const ALONE: [&str; 21] = [
        "!", "(", ")", ",", "-a", "-and", "-depth", "-empty", "-executable", "-false", "-ls", "-mount", "-not", "-o",
        "-or", "-print", "-print0", "-prune", "-readable", "-true", "-xdev",
    ];
    #[rustfmt::skip]
    const VALUED: [&str; 21] = [
        "-amin", "-atime", "-cmin", "-ctime", "-iname", "-ipath", "-iregex", "-maxdepth", "-mindepth", "-mmin",
        "-mtime", "-name", "-path", "-perm", "-printf", "-regex", "-regextype", "-size", "-type", "-user", "-wholename",
    ];
    let begins = |word: &Word| text(word).starts_with('-') || ["!", "(", ","].contains(&text(word));
    let end = args.iter().position(begins).unwrap_or(args.len());
    let (paths, mut rest) = args.split_at_checked(end)?;
    while let [word, after @ ..] = rest {
        rest = match text(word) {
            alone if ALONE.contains(&alone) => after,
            // Not even a pattern may become several words.
            valued if VALUED.contains(&valued) => match after {
                [Word::Known(_), further @ ..] => further,
                [..] => return None,
            },
            _ => return None,
        };
    }
    Some(Looks { paths: paths.iter().collect(), ..Looks::default() })
}

/// A script of line numbers prints lines.
fn sed(args: &[Word]) -> Option<Looks<'_>> {
    let [Word::Known(quiet), Word::Known(script), paths @ ..] = args else { return None };
    let prints = !script.is_empty() && script.chars().all(|c| c.is_ascii_digit() || ",;$pq ".contains(c));
    let plain = paths.iter().all(|word| !text(word).starts_with('-'));
    (quiet == "-n" && prints && plain).then(|| Looks { paths: paths.iter().collect(), ..Looks::default() })
}

fn date(args: &[Word]) -> Option<Looks<'_>> {
    let fits = |word: &Word| match word {
        Word::Known(text) => {
            text.starts_with('+') || ["-u", "-I", "-R", "-Is", "-Iseconds", "--utc"].contains(&text.as_str())
        }
        Word::Glob(_) | Word::Unknown(_) => false,
    };
    args.iter().all(fits).then(Looks::default)
}

/// Commands of git that look, where no option makes them do more. The reader has looked at their options already.
fn git(args: &[Word]) -> Option<Looks<'_>> {
    #[rustfmt::skip]
    const LOOK: [&str; 25] = [
        "blame", "cat-file", "check-ignore", "cherry", "count-objects", "describe", "diff", "diff-files", "diff-index",
        "diff-tree", "for-each-ref", "grep", "log", "ls-files", "ls-tree", "merge-base", "name-rev", "range-diff",
        "rev-list", "rev-parse", "shortlog", "show", "show-branch", "show-ref", "status",
    ];
    let mut paths = Vec::new();
    let mut rest = args;
    let (command, words) = loop {
        match rest {
            [Word::Known(option), after @ ..] if option == "--no-pager" || option == "-P" => rest = after,
            [Word::Known(option), folder, after @ ..] if option == "-C" => {
                paths.push(folder);
                rest = after;
            }
            [Word::Known(option)] if option == "--version" => return Some(Looks::default()),
            [Word::Known(command), words @ ..] if !command.starts_with('-') => break (command.as_str(), words),
            _ => return None,
        }
    };
    let is_option = |word: &&Word| text(word).starts_with('-');
    let options: Vec<&str> = words.iter().filter(is_option).map(text).collect();
    let operands: Vec<&Word> = words.iter().filter(|word| !is_option(word)).collect();
    let lists = |listed: &[&str]| {
        let listing = |option: &&str| listed.contains(option) || option.starts_with("--sort=");
        let says = options.iter().any(|option| ["-l", "--list"].contains(option));
        options.iter().all(listing) && (operands.is_empty() || says)
    };
    let first = operands.first().map(|word| text(word));
    let looks = match command {
        "branch" => lists(&["-a", "-r", "-v", "-vv", "-l", "--list", "--all", "--remotes", "--show-current", "-av"]),
        "tag" => lists(&["-l", "--list", "-n"]),
        "remote" => operands.is_empty() || first == Some("get-url"),
        "stash" => matches!(first, Some("list" | "show")),
        "reflog" => matches!(first, None | Some("show")),
        "worktree" => first == Some("list"),
        command => LOOK.contains(&command),
    };
    // What a long option has behind its sign may be a file.
    paths.extend(operands);
    looks.then_some(Looks { paths, depth: Depth::Named, git: true })
}

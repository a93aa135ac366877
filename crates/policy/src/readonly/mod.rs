//! Read-only commands: they start no program, write no file, and read nothing but their operands. An unknown option
//! makes any of them an ordinary command.

mod table;

use shell_parser::{ShellWord, SimpleCommand};
use table::{OperandKind, PROGRAMS, ReadOnlyProgram};

use crate::pattern::without_system_folder;

/// What a read-only command reads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ReadOnlyInputs<'a> {
    /// Words that may name files or folders.
    pub(crate) paths: Vec<&'a ShellWord>,
    pub(crate) depth: ReadDepth,
    /// Whether it is git, which may run programs that the repository's settings name.
    pub(crate) is_git: bool,
}

/// Which contents of a folder are read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum ReadDepth {
    /// None: only named files, and the names of others.
    #[default]
    Named,
    /// Those that are not hidden.
    Visible,
    Everything,
}

/// Programs that do nothing but run the command in their arguments.
const TRANSPARENT_WRAPPERS: [&str; 9] =
    ["bash", "builtin", "command", "env", "nice", "sh", "stdbuf", "time", "timeout"];

/// What a command reads, if it is read-only.
pub(crate) fn read_only_inputs(simple: &SimpleCommand) -> Option<ReadOnlyInputs<'_>> {
    let name = without_system_folder(&simple.name);
    let is_transparent = simple.wrappers.iter().all(|name| TRANSPARENT_WRAPPERS.contains(&without_system_folder(name)));
    let known = simple.args.iter().all(|word| !matches!(word, ShellWord::Unknown(_)));
    if !simple.risks.is_empty() || !is_transparent || !known || name.contains('/') {
        return None;
    }
    match name {
        "git" => git_inputs(&simple.args),
        "find" => find_inputs(&simple.args),
        "sed" => sed_inputs(&simple.args),
        "date" => date_inputs(&simple.args),
        _ => {
            let program = PROGRAMS.iter().find(|program| program.names.contains(&name))?;
            let arguments = ProgramArguments::parse(program, &simple.args)?;
            inputs_by_operands(name, program, arguments)
        }
    }
}

/// The options and operands of a program.
#[derive(Debug, Default)]
struct ProgramArguments<'a> {
    options: Vec<&'a str>,
    operands: Vec<&'a ShellWord>,
    /// Whether the first operand may be the value of a long option.
    first_operand_may_be_value: bool,
}

impl<'a> ProgramArguments<'a> {
    /// Splits arguments into options and operands; returns `None` if an option is not in the program's table.
    fn parse(program: &ReadOnlyProgram, args: &'a [ShellWord]) -> Option<ProgramArguments<'a>> {
        let mut arguments = ProgramArguments::default();
        let mut rest = args.iter();
        while let Some(arg) = rest.next() {
            let ShellWord::Known(text) = arg else {
                arguments.operands.push(arg);
                continue;
            };
            if program.operands == OperandKind::Text && program.flags.is_empty() {
                continue;
            }
            if text == "--" {
                // The `--` may be the value of the option before it, and then options may follow.
                arguments.operands.extend(rest.by_ref());
                arguments.operands.iter().all(|word| !self::word_text(word).starts_with('-')).then_some(())?;
            } else if let Some(long) = text.strip_prefix("--") {
                let name = long.split('=').next().unwrap_or(long);
                program.longs.contains(&name).then_some(())?;
                arguments.options.push(name);
                arguments.first_operand_may_be_value |= !long.contains('=') && arguments.operands.is_empty();
            } else if let Some(letters) = text.strip_prefix('-').filter(|letters| !letters.is_empty()) {
                arguments.options.push(text);
                if takes_next(program, letters)? && !matches!(rest.next()?, ShellWord::Known(_)) {
                    return None;
                }
            } else {
                arguments.operands.push(arg);
            }
        }
        Some(arguments)
    }

    fn has_option(&self, letters: &str, longs: &[&str]) -> bool {
        self.options.iter().any(|option| match option.strip_prefix('-') {
            Some(cluster) => cluster.contains(|c| letters.contains(c)),
            None => longs.contains(option),
        })
    }
}

/// Whether a cluster of letters takes the next argument; `None` if a letter is unknown.
fn takes_next(program: &ReadOnlyProgram, letters: &str) -> Option<bool> {
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

fn inputs_by_operands<'a>(
    name: &str,
    program: &ReadOnlyProgram,
    arguments: ProgramArguments<'a>,
) -> Option<ReadOnlyInputs<'a>> {
    let everything_if = |recursive: bool| if recursive { ReadDepth::Everything } else { ReadDepth::Named };
    let paths = match program.operands {
        OperandKind::None => arguments.operands.is_empty().then(Vec::new)?,
        OperandKind::Text => arguments.operands.clone(),
        OperandKind::Paths => arguments.operands.clone(),
        OperandKind::OneFolder => (arguments.operands.len() == 1).then(|| arguments.operands.clone())?,
        OperandKind::PatternThenPaths => {
            let by_option = arguments.has_option("e", &["regexp", "files", "type-list"]);
            let skipped = usize::from(!by_option && !arguments.first_operand_may_be_value);
            arguments.operands.iter().skip(skipped).copied().collect()
        }
    };
    // Words that are not paths may still be glob patterns, which the shell expands.
    let paths = match program.operands {
        OperandKind::Text => paths.into_iter().filter(|word| matches!(word, ShellWord::Glob(_))).collect(),
        _ => paths,
    };
    let depth = match name {
        "rg" if arguments.has_option("u.", &["hidden", "no-ignore"]) => ReadDepth::Everything,
        "rg" => ReadDepth::Visible,
        "grep" | "egrep" | "fgrep" | "diff" => everything_if(arguments.has_option("r", &["recursive"])),
        _ => ReadDepth::Named,
    };
    Some(ReadOnlyInputs { paths, depth, is_git: false })
}

fn word_text(word: &ShellWord) -> &str {
    match word {
        ShellWord::Known(text) | ShellWord::Glob(text) | ShellWord::Unknown(text) => text,
    }
}

/// What `find` reads. Without an action, it only prints names.
fn find_inputs(args: &[ShellWord]) -> Option<ReadOnlyInputs<'_>> {
    #[rustfmt::skip]
    const WITHOUT_VALUE: [&str; 21] = [
        "!", "(", ")", ",", "-a", "-and", "-depth", "-empty", "-executable", "-false", "-ls", "-mount", "-not", "-o",
        "-or", "-print", "-print0", "-prune", "-readable", "-true", "-xdev",
    ];
    #[rustfmt::skip]
    const VALUED: [&str; 21] = [
        "-amin", "-atime", "-cmin", "-ctime", "-iname", "-ipath", "-iregex", "-maxdepth", "-mindepth", "-mmin",
        "-mtime", "-name", "-path", "-perm", "-printf", "-regex", "-regextype", "-size", "-type", "-user", "-wholename",
    ];
    let begins = |word: &ShellWord| word_text(word).starts_with('-') || ["!", "(", ","].contains(&word_text(word));
    let end = args.iter().position(begins).unwrap_or(args.len());
    let (paths, mut rest) = args.split_at_checked(end)?;
    while let [word, after @ ..] = rest {
        rest = match word_text(word) {
            flag if WITHOUT_VALUE.contains(&flag) => after,
            // A pattern could expand to several words.
            valued if VALUED.contains(&valued) => match after {
                [ShellWord::Known(_), further @ ..] => further,
                [..] => return None,
            },
            _ => return None,
        };
    }
    Some(ReadOnlyInputs { paths: paths.iter().collect(), ..ReadOnlyInputs::default() })
}

/// What `sed` reads, if its script only prints lines by number.
fn sed_inputs(args: &[ShellWord]) -> Option<ReadOnlyInputs<'_>> {
    let [ShellWord::Known(option), ShellWord::Known(script), paths @ ..] = args else { return None };
    let prints = !script.is_empty() && script.chars().all(|c| c.is_ascii_digit() || ",;$pq ".contains(c));
    let plain = paths.iter().all(|word| !word_text(word).starts_with('-'));
    (option == "-n" && prints && plain)
        .then(|| ReadOnlyInputs { paths: paths.iter().collect(), ..ReadOnlyInputs::default() })
}

fn date_inputs(args: &[ShellWord]) -> Option<ReadOnlyInputs<'_>> {
    let fits = |word: &ShellWord| match word {
        ShellWord::Known(text) => {
            text.starts_with('+') || ["-u", "-I", "-R", "-Is", "-Iseconds", "--utc"].contains(&text.as_str())
        }
        ShellWord::Glob(_) | ShellWord::Unknown(_) => false,
    };
    args.iter().all(fits).then(ReadOnlyInputs::default)
}

/// Read-only git commands, if no option makes them do more. The parser has checked their options already.
fn git_inputs(args: &[ShellWord]) -> Option<ReadOnlyInputs<'_>> {
    #[rustfmt::skip]
    const READ_ONLY: [&str; 25] = [
        "blame", "cat-file", "check-ignore", "cherry", "count-objects", "describe", "diff", "diff-files", "diff-index",
        "diff-tree", "for-each-ref", "grep", "log", "ls-files", "ls-tree", "merge-base", "name-rev", "range-diff",
        "rev-list", "rev-parse", "shortlog", "show", "show-branch", "show-ref", "status",
    ];
    let mut paths = Vec::new();
    let mut rest = args;
    let (command, words) = loop {
        match rest {
            [ShellWord::Known(option), after @ ..] if option == "--no-pager" || option == "-P" => rest = after,
            [ShellWord::Known(option), folder, after @ ..] if option == "-C" => {
                paths.push(folder);
                rest = after;
            }
            [ShellWord::Known(option)] if option == "--version" => return Some(ReadOnlyInputs::default()),
            [ShellWord::Known(command), words @ ..] if !command.starts_with('-') => break (command.as_str(), words),
            _ => return None,
        }
    };
    let is_option = |word: &&ShellWord| word_text(word).starts_with('-');
    let options: Vec<&str> = words.iter().filter(is_option).map(word_text).collect();
    let operands: Vec<&ShellWord> = words.iter().filter(|word| !is_option(word)).collect();
    let lists = |listed: &[&str]| {
        let listing = |option: &&str| listed.contains(option) || option.starts_with("--sort=");
        let lists_only = options.iter().any(|option| ["-l", "--list"].contains(option));
        options.iter().all(listing) && (operands.is_empty() || lists_only)
    };
    let first = operands.first().map(|word| word_text(word));
    let reads = match command {
        "branch" => lists(&["-a", "-r", "-v", "-vv", "-l", "--list", "--all", "--remotes", "--show-current", "-av"]),
        "tag" => lists(&["-l", "--list", "-n"]),
        "remote" => operands.is_empty() || first == Some("get-url"),
        "stash" => matches!(first, Some("list" | "show")),
        "reflog" => matches!(first, None | Some("show")),
        "worktree" => first == Some("list"),
        command => READ_ONLY.contains(&command),
    };
    // The value of a long option may be a file.
    paths.extend(operands);
    reads.then_some(ReadOnlyInputs { paths, depth: ReadDepth::Named, is_git: true })
}

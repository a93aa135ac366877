//! Patterns for shell commands, word by word. Allow rules are matched strictly, ask and deny rules generously.

use super::word_pattern::{WordPattern, split};
use super::{RuleMatch, interpreters};
use crate::request::CommandScope;
use crate::shell::{ShellWord, SimpleCommand};

/// Folders whose programs a bare name means.
const SYSTEM: [&str; 5] = ["/bin/", "/usr/bin/", "/usr/local/bin/", "/sbin/", "/usr/sbin/"];

/// Programs that start no other program, whatever their arguments.
const INERT: [&str; 28] = [
    "[", "basename", "cat", "cd", "chmod", "chown", "cp", "cut", "dirname", "echo", "false", "grep", "head", "ln",
    "ls", "mkdir", "mv", "printf", "pwd", "rm", "rmdir", "stat", "tail", "test", "touch", "tr", "true", "wc",
];

/// Programs that start other programs only in ways that the parser finds in their words.
#[rustfmt::skip]
const QUIET: [&str; 62] = [
    "apt", "apt-get", "awk", "b2sum", "bash", "brew", "cksum", "cmp", "comm", "command", "cut", "date", "dd", "df",
    "diff", "dnf", "du", "egrep", "env", "expr", "fd", "fgrep", "file", "find", "fold", "gawk", "git", "hexdump", "id",
    "jq", "kill", "killall", "less", "man", "md5sum", "mktemp", "nl", "nohup", "od", "paste", "pgrep", "pip", "pkill",
    "ps", "readlink", "realpath", "rg", "sed", "seq", "sh", "sha1sum", "sha256sum", "sha512sum", "sleep", "sort",
    "strings", "tac", "tree", "type", "uniq", "which", "xargs",
];

/// A pattern for one simple command.
#[derive(Debug, Clone)]
pub(crate) struct CommandPattern {
    /// Its possible readings; a `:*` at the end has two.
    forms: Vec<Vec<CommandPatternItem>>,
}

#[derive(Debug, Clone)]
enum CommandPatternItem {
    /// Any number of words, including none.
    Any,
    Word(WordPattern),
}

/// A word of the command, for matching.
#[derive(Debug, Clone, Copy)]
enum CommandToken<'a> {
    Program(&'a str),
    Known(&'a str),
    /// Names of files that the shell will find.
    Glob(&'a str),
    /// Any number of words that only the shell knows.
    Gap,
}

/// How strictly a pattern is matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MatchStrictness {
    /// Everything must be known and match the pattern.
    Strict,
    /// The command matches, or begins with a match.
    Certain,
    /// The command could match.
    Possible,
}

impl CommandPattern {
    pub(crate) fn parse(text: &str) -> Result<CommandPattern, String> {
        let words = split(text)?;
        let item =
            |word: WordPattern| if word.is_any() { CommandPatternItem::Any } else { CommandPatternItem::Word(word) };
        let before = words.last().and_then(WordPattern::before_colon);
        let mut forms = vec![words.iter().cloned().map(item).collect::<Vec<CommandPatternItem>>()];
        if let Some(before) = before {
            // `git push:*` is any `git push`; `npm run test:*` may also mean `test:unit`.
            let mut prefix: Vec<CommandPatternItem> = words[..words.len() - 1].iter().cloned().map(item).collect();
            prefix.extend((!before.text().is_empty()).then_some(CommandPatternItem::Word(before)));
            prefix.push(CommandPatternItem::Any);
            forms[0].push(CommandPatternItem::Any);
            forms.insert(0, prefix);
        }
        Ok(CommandPattern { forms })
    }

    /// Whether an allow rule with this pattern covers the command. A command with risks must match exactly.
    pub(crate) fn permits(&self, simple: &SimpleCommand, scope: CommandScope) -> RuleMatch {
        if scope == CommandScope::WholeLine && self.is_exactly(simple) {
            return RuleMatch::Exact;
        }
        let tokens: Vec<CommandToken<'_>> =
            std::iter::once(CommandToken::Program(&simple.name)).chain(args(simple)).collect();
        let covers = || self.forms.iter().any(|form| run(form, &tokens, MatchStrictness::Strict));
        RuleMatch::certain(simple.risks.is_empty() && covers())
    }

    /// Whether a deny or ask rule with this pattern covers the command.
    pub(crate) fn forbids(&self, simple: &SimpleCommand) -> RuleMatch {
        let assignments = assignments(simple);
        let tokens = wrapped(simple, &assignments);
        let begins = |(at, token): (usize, &CommandToken<'_>)| {
            (at == 0 || matches!(token, CommandToken::Program(_))).then_some(at)
        };
        let starts: Vec<usize> = tokens.iter().enumerate().filter_map(begins).collect();
        let found =
            |reading| self.forms.iter().any(|form| starts.iter().any(|&start| run(form, &tokens[start..], reading)));
        if found(MatchStrictness::Certain) {
            RuleMatch::Certain
        } else if may_start_others(simple) || found(MatchStrictness::Possible) || self.may_be_run_by(simple) {
            RuleMatch::Possible
        } else {
            RuleMatch::No
        }
    }

    /// Whether a program that may run its arguments is given the name of the forbidden program, or text to run.
    fn may_be_run_by(&self, simple: &SimpleCommand) -> bool {
        let name = base(&simple.name);
        if is_quiet(name) {
            return false;
        }
        let named = |word: &WordPattern| {
            let text = word.text();
            let program = WordPattern::glob(&base(&text).to_lowercase());
            let names = |text: &str| text.split(is_between_names).any(|name| program.matches(&name.to_lowercase()));
            !word.is_any() && simple.args.iter().map(written).any(names)
        };
        let first = |form: &Vec<CommandPatternItem>| match form.first() {
            Some(CommandPatternItem::Word(word)) => named(word),
            Some(CommandPatternItem::Any) | None => false,
        };
        interpreters::runs_text(simple) || self.forms.iter().any(first)
    }

    /// Whether the pattern matches this command and no other, so that its risks were intended.
    fn is_exactly(&self, simple: &SimpleCommand) -> bool {
        let [form] = self.forms.as_slice() else { return false };
        let literal = |item: &CommandPatternItem| match item {
            CommandPatternItem::Any => None,
            CommandPatternItem::Word(word) => word.literal(),
        };
        let wanted: Option<Vec<String>> = form.iter().map(literal).collect();
        simple.wrappers.is_empty() && wanted.is_some() && wanted == exact(simple)
    }
}

/// Whether a command may start forbidden programs without naming them.
fn may_start_others(simple: &SimpleCommand) -> bool {
    let inert = simple.assignments.is_empty() && INERT.contains(&bare(&simple.name));
    !simple.risks.is_empty() && !inert
}

/// Whether a program never runs one of its arguments. The subcommands of git and package managers are part of them.
fn is_quiet(name: &str) -> bool {
    INERT.contains(&name) || QUIET.contains(&name)
}

/// Whether a character separates program names in a text.
fn is_between_names(c: char) -> bool {
    !c.is_alphanumeric() && !"-_.+".contains(c)
}

fn written(word: &ShellWord) -> &str {
    match word {
        ShellWord::Known(text) | ShellWord::Glob(text) | ShellWord::Unknown(text) => text,
    }
}

/// Every word of a command, if all are known.
pub(crate) fn exact(simple: &SimpleCommand) -> Option<Vec<String>> {
    let known = |word: &ShellWord| match word {
        ShellWord::Known(text) => Some(text.clone()),
        ShellWord::Glob(_) | ShellWord::Unknown(_) => None,
    };
    let assignments = simple.assignments.iter().map(|(name, value)| Some(format!("{name}={}", known(value)?)));
    assignments.chain([Some(simple.name.clone())]).chain(simple.args.iter().map(known)).collect()
}

fn args(simple: &SimpleCommand) -> impl Iterator<Item = CommandToken<'_>> {
    simple.args.iter().map(|word| match word {
        ShellWord::Known(text) => CommandToken::Known(text),
        ShellWord::Glob(text) => CommandToken::Glob(text),
        ShellWord::Unknown(_) => CommandToken::Gap,
    })
}

fn assignments(simple: &SimpleCommand) -> Vec<Option<String>> {
    let written = |(name, value): &(String, ShellWord)| match value {
        ShellWord::Known(text) | ShellWord::Glob(text) => Some(format!("{name}={text}")),
        ShellWord::Unknown(_) => None,
    };
    simple.assignments.iter().map(written).collect()
}

/// The command with its wrappers, of which only the names are known.
fn wrapped<'a>(simple: &'a SimpleCommand, assignments: &'a [Option<String>]) -> Vec<CommandToken<'a>> {
    let mut tokens: Vec<CommandToken<'a>> =
        assignments.iter().map(|set| set.as_deref().map_or(CommandToken::Gap, CommandToken::Known)).collect();
    for wrapper in &simple.wrappers {
        tokens.extend([CommandToken::Program(wrapper), CommandToken::Gap]);
    }
    tokens.push(CommandToken::Program(&simple.name));
    tokens.extend(args(simple));
    tokens
}

/// Matches by tracking all positions in the pattern that the words so far may have reached.
fn run(pattern: &[CommandPatternItem], tokens: &[CommandToken<'_>], reading: MatchStrictness) -> bool {
    let mut places = vec![false; pattern.len() + 1];
    reach(pattern, &mut places, 0);
    let mut after_option = false;
    for token in tokens {
        let mut next = vec![false; pattern.len() + 1];
        for at in (0..places.len()).filter(|&at| places[at]) {
            step(pattern, at, *token, reading, &mut next);
            if reading == MatchStrictness::Possible && at > 0 && (after_option || is_option(*token)) {
                reach(pattern, &mut next, at);
            }
        }
        after_option = is_option(*token);
        places = next;
    }
    places[pattern.len()]
}

fn step(
    pattern: &[CommandPatternItem],
    at: usize,
    token: CommandToken<'_>,
    reading: MatchStrictness,
    next: &mut [bool],
) {
    if reading == MatchStrictness::Possible && matches!(token, CommandToken::Gap | CommandToken::Glob(_)) {
        (at..=pattern.len()).for_each(|place| next[place] = true);
        return;
    }
    match pattern.get(at) {
        // A deny rule for a command also matches the command with more words.
        None if reading == MatchStrictness::Strict => {}
        None => next[at] = true,
        Some(CommandPatternItem::Any) if reading == MatchStrictness::Strict && matches!(token, CommandToken::Gap) => {}
        Some(CommandPatternItem::Any) => reach(pattern, next, at),
        Some(CommandPatternItem::Word(word)) if means(word, token, reading) => reach(pattern, next, at + 1),
        Some(CommandPatternItem::Word(_)) => {}
    }
}

/// Marks a position, and those after it that need no further word.
fn reach(pattern: &[CommandPatternItem], places: &mut [bool], at: usize) {
    places[at] = true;
    if matches!(pattern.get(at), Some(CommandPatternItem::Any)) {
        reach(pattern, places, at + 1);
    }
}

fn is_option(token: CommandToken<'_>) -> bool {
    match token {
        CommandToken::Known(text) => text.starts_with('-'),
        CommandToken::Program(_) | CommandToken::Glob(_) | CommandToken::Gap => false,
    }
}

fn means(word: &WordPattern, token: CommandToken<'_>, reading: MatchStrictness) -> bool {
    match (token, reading) {
        (CommandToken::Program(name), MatchStrictness::Strict) => {
            // A bare name never matches a program in a folder, even with wildcards.
            let of_folder = word.text().contains('/');
            if of_folder {
                word.matches_within(name)
            } else {
                !bare(name).contains('/') && word.matches_within(bare(name))
            }
        }
        (CommandToken::Program(name), MatchStrictness::Certain) => {
            word.matches(name) || is_anywhere(bare(&word.text()), name)
        }
        (CommandToken::Program(name), MatchStrictness::Possible) => {
            let text = word.text();
            let reachable = name.contains('/') || text.starts_with('/') || !text.contains('/');
            word.matches(name) || (reachable && is_anywhere(base(&text), name))
        }
        (CommandToken::Known(text), MatchStrictness::Strict) => word.matches_within(text),
        (CommandToken::Known(text), MatchStrictness::Certain | MatchStrictness::Possible) => word.matches(text),
        (CommandToken::Glob(text), _) => word.text() == text,
        (CommandToken::Gap, _) => false,
    }
}

/// Whether a bare name matches this program in any folder, ignoring case.
fn is_anywhere(pattern: &str, name: &str) -> bool {
    !pattern.contains('/') && WordPattern::glob(&pattern.to_lowercase()).matches(&base(name).to_lowercase())
}

/// Removes the folder from a system program; leaves other names unchanged.
pub(crate) fn bare(name: &str) -> &str {
    let bare = SYSTEM.iter().find_map(|folder| name.strip_prefix(folder));
    bare.filter(|bare| !bare.contains('/')).unwrap_or(name)
}

/// The last part of a program's path.
fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

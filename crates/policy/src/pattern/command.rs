//! Patterns for shell commands, word by word. Allow rules are matched strictly, ask and deny rules generously.

use shell_parser::{ShellWord, SimpleCommand};

use super::word_pattern::{WordPattern, split_words};
use super::{RuleMatch, interpreters};
use crate::request::CommandScope;

/// Folders whose programs a name without a folder may mean.
const SYSTEM_FOLDERS: [&str; 5] = ["/bin/", "/usr/bin/", "/usr/local/bin/", "/sbin/", "/usr/sbin/"];

/// Programs that start no other program, whatever their arguments.
const START_NO_PROGRAMS: [&str; 28] = [
    "[", "basename", "cat", "cd", "chmod", "chown", "cp", "cut", "dirname", "echo", "false", "grep", "head", "ln",
    "ls", "mkdir", "mv", "printf", "pwd", "rm", "rmdir", "stat", "tail", "test", "touch", "tr", "true", "wc",
];

/// Programs that start other programs only in ways that the parser finds in their words.
#[rustfmt::skip]
const START_NO_HIDDEN_PROGRAMS: [&str; 62] = [
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
    readings: Vec<Vec<CommandPatternItem>>,
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
    /// A pattern of file names that the shell expands.
    Glob(&'a str),
    /// Any number of words that are only known to the shell.
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
        let words = split_words(text)?;
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
        Ok(CommandPattern { readings: forms })
    }

    /// Whether an allow rule with this pattern covers the command. A command with risks must match exactly.
    pub(crate) fn permits(&self, simple: &SimpleCommand, scope: CommandScope) -> RuleMatch {
        if scope == CommandScope::WholeLine && self.matches_only(simple) {
            return RuleMatch::Exact;
        }
        let tokens: Vec<CommandToken<'_>> =
            std::iter::once(CommandToken::Program(&simple.name)).chain(argument_tokens(simple)).collect();
        let covers = || self.readings.iter().any(|form| matches_tokens(form, &tokens, MatchStrictness::Strict));
        RuleMatch::certain_if(simple.risks.is_empty() && covers())
    }

    /// Whether a deny or ask rule with this pattern covers the command.
    pub(crate) fn forbids(&self, simple: &SimpleCommand) -> RuleMatch {
        let assignments = assignment_texts(simple);
        let tokens = tokens_with_wrappers(simple, &assignments);
        let start_position = |(at, token): (usize, &CommandToken<'_>)| {
            (at == 0 || matches!(token, CommandToken::Program(_))).then_some(at)
        };
        let starts: Vec<usize> = tokens.iter().enumerate().filter_map(start_position).collect();
        let matches_somewhere = |strictness| {
            self.readings
                .iter()
                .any(|form| starts.iter().any(|&start| matches_tokens(form, &tokens[start..], strictness)))
        };
        if matches_somewhere(MatchStrictness::Certain) {
            RuleMatch::Certain
        } else if may_start_others(simple) || matches_somewhere(MatchStrictness::Possible) || self.may_be_run_by(simple)
        {
            RuleMatch::Possible
        } else {
            RuleMatch::No
        }
    }

    /// Whether a program that may run its arguments is given the name of the forbidden program, or text to run.
    fn may_be_run_by(&self, simple: &SimpleCommand) -> bool {
        let name = program_name(&simple.name);
        if starts_no_hidden_programs(name) {
            return false;
        }
        let is_argument = |word: &WordPattern| {
            let text = word.text();
            let program = WordPattern::glob(&program_name(&text).to_lowercase());
            let names = |text: &str| text.split(is_between_names).any(|name| program.matches(&name.to_lowercase()));
            !word.is_any() && simple.args.iter().map(word_text).any(names)
        };
        let first = |form: &Vec<CommandPatternItem>| match form.first() {
            Some(CommandPatternItem::Word(word)) => is_argument(word),
            Some(CommandPatternItem::Any) | None => false,
        };
        interpreters::runs_inline_code(simple) || self.readings.iter().any(first)
    }

    /// Whether the pattern matches this command and no other, so that its risks were intended.
    fn matches_only(&self, simple: &SimpleCommand) -> bool {
        let [form] = self.readings.as_slice() else { return false };
        let literal = |item: &CommandPatternItem| match item {
            CommandPatternItem::Any => None,
            CommandPatternItem::Word(word) => word.literal(),
        };
        let wanted: Option<Vec<String>> = form.iter().map(literal).collect();
        simple.wrappers.is_empty() && wanted.is_some() && wanted == known_words(simple)
    }
}

/// Whether a command may start forbidden programs without naming them.
fn may_start_others(simple: &SimpleCommand) -> bool {
    let inert = simple.assignments.is_empty() && START_NO_PROGRAMS.contains(&without_system_folder(&simple.name));
    !simple.risks.is_empty() && !inert
}

/// Whether a program starts no program that the parser does not find. Subcommands of git and package managers are
/// found.
fn starts_no_hidden_programs(name: &str) -> bool {
    START_NO_PROGRAMS.contains(&name) || START_NO_HIDDEN_PROGRAMS.contains(&name)
}

/// Whether a character separates program names in a text.
fn is_between_names(c: char) -> bool {
    !c.is_alphanumeric() && !"-_.+".contains(c)
}

fn word_text(word: &ShellWord) -> &str {
    match word {
        ShellWord::Known(text) | ShellWord::Glob(text) | ShellWord::Unknown(text) => text,
    }
}

/// Every word of a command, if all are known.
pub(crate) fn known_words(simple: &SimpleCommand) -> Option<Vec<String>> {
    let known = |word: &ShellWord| match word {
        ShellWord::Known(text) => Some(text.clone()),
        ShellWord::Glob(_) | ShellWord::Unknown(_) => None,
    };
    let assignments = simple.assignments.iter().map(|(name, value)| Some(format!("{name}={}", known(value)?)));
    assignments.chain([Some(simple.name.clone())]).chain(simple.args.iter().map(known)).collect()
}

fn argument_tokens(simple: &SimpleCommand) -> impl Iterator<Item = CommandToken<'_>> {
    simple.args.iter().map(|word| match word {
        ShellWord::Known(text) => CommandToken::Known(text),
        ShellWord::Glob(text) => CommandToken::Glob(text),
        ShellWord::Unknown(_) => CommandToken::Gap,
    })
}

fn assignment_texts(simple: &SimpleCommand) -> Vec<Option<String>> {
    let written = |(name, value): &(String, ShellWord)| match value {
        ShellWord::Known(text) | ShellWord::Glob(text) => Some(format!("{name}={text}")),
        ShellWord::Unknown(_) => None,
    };
    simple.assignments.iter().map(written).collect()
}

/// The command with its wrappers, of which only the names are known.
fn tokens_with_wrappers<'a>(simple: &'a SimpleCommand, assignments: &'a [Option<String>]) -> Vec<CommandToken<'a>> {
    let mut tokens: Vec<CommandToken<'a>> =
        assignments.iter().map(|set| set.as_deref().map_or(CommandToken::Gap, CommandToken::Known)).collect();
    for wrapper in &simple.wrappers {
        tokens.extend([CommandToken::Program(wrapper), CommandToken::Gap]);
    }
    tokens.push(CommandToken::Program(&simple.name));
    tokens.extend(argument_tokens(simple));
    tokens
}

/// Matches by tracking all positions in the pattern that the words so far may have reached.
fn matches_tokens(pattern: &[CommandPatternItem], tokens: &[CommandToken<'_>], strictness: MatchStrictness) -> bool {
    let mut reachable = vec![false; pattern.len() + 1];
    mark_reachable(pattern, &mut reachable, 0);
    let mut after_option = false;
    for token in tokens {
        let mut next = vec![false; pattern.len() + 1];
        for at in (0..reachable.len()).filter(|&at| reachable[at]) {
            advance(pattern, at, *token, strictness, &mut next);
            if strictness == MatchStrictness::Possible && at > 0 && (after_option || is_option(*token)) {
                mark_reachable(pattern, &mut next, at);
            }
        }
        after_option = is_option(*token);
        reachable = next;
    }
    reachable[pattern.len()]
}

fn advance(
    pattern: &[CommandPatternItem],
    at: usize,
    token: CommandToken<'_>,
    strictness: MatchStrictness,
    next: &mut [bool],
) {
    if strictness == MatchStrictness::Possible && matches!(token, CommandToken::Gap | CommandToken::Glob(_)) {
        (at..=pattern.len()).for_each(|place| next[place] = true);
        return;
    }
    match pattern.get(at) {
        // A deny rule for a command also matches the command with more words.
        None if strictness == MatchStrictness::Strict => {}
        None => next[at] = true,
        Some(CommandPatternItem::Any)
            if strictness == MatchStrictness::Strict && matches!(token, CommandToken::Gap) => {}
        Some(CommandPatternItem::Any) => mark_reachable(pattern, next, at),
        Some(CommandPatternItem::Word(word)) if word_matches(word, token, strictness) => {
            mark_reachable(pattern, next, at + 1)
        }
        Some(CommandPatternItem::Word(_)) => {}
    }
}

/// Marks a position, and those after it that need no further word.
fn mark_reachable(pattern: &[CommandPatternItem], reachable: &mut [bool], at: usize) {
    reachable[at] = true;
    if matches!(pattern.get(at), Some(CommandPatternItem::Any)) {
        mark_reachable(pattern, reachable, at + 1);
    }
}

fn is_option(token: CommandToken<'_>) -> bool {
    match token {
        CommandToken::Known(text) => text.starts_with('-'),
        CommandToken::Program(_) | CommandToken::Glob(_) | CommandToken::Gap => false,
    }
}

fn word_matches(word: &WordPattern, token: CommandToken<'_>, strictness: MatchStrictness) -> bool {
    match (token, strictness) {
        (CommandToken::Program(name), MatchStrictness::Strict) => {
            // A bare name never matches a program in a folder, even with wildcards.
            let has_folder = word.text().contains('/');
            if has_folder {
                word.matches_strictly(name)
            } else {
                !without_system_folder(name).contains('/') && word.matches_strictly(without_system_folder(name))
            }
        }
        (CommandToken::Program(name), MatchStrictness::Certain) => {
            word.matches(name) || matches_in_any_folder(without_system_folder(&word.text()), name)
        }
        (CommandToken::Program(name), MatchStrictness::Possible) => {
            let text = word.text();
            let reachable = name.contains('/') || text.starts_with('/') || !text.contains('/');
            word.matches(name) || (reachable && matches_in_any_folder(program_name(&text), name))
        }
        (CommandToken::Known(text), MatchStrictness::Strict) => word.matches_strictly(text),
        (CommandToken::Known(text), MatchStrictness::Certain | MatchStrictness::Possible) => word.matches(text),
        (CommandToken::Glob(text), _) => word.text() == text,
        (CommandToken::Gap, _) => false,
    }
}

/// Whether a bare name matches this program in any folder, ignoring case.
fn matches_in_any_folder(pattern: &str, name: &str) -> bool {
    !pattern.contains('/') && WordPattern::glob(&pattern.to_lowercase()).matches(&program_name(name).to_lowercase())
}

/// Removes the folder from a system program; leaves other names unchanged.
pub(crate) fn without_system_folder(name: &str) -> &str {
    let bare = SYSTEM_FOLDERS.iter().find_map(|folder| name.strip_prefix(folder));
    bare.filter(|bare| !bare.contains('/')).unwrap_or(name)
}

/// The last part of a program's path.
fn program_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

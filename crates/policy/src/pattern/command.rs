//! Patterns for shell commands, word by word. A rule that permits is read strictly, one that forbids generously.

use super::words::{WordPattern, split};
use super::{Match, interpreters};
use crate::request::Company;
use crate::shell::{Simple, Word};

/// Folders whose programs go by their bare names.
const SYSTEM: [&str; 5] = ["/bin/", "/usr/bin/", "/usr/local/bin/", "/sbin/", "/usr/sbin/"];

/// Programs that start no other, whatever they are given.
const INERT: [&str; 28] = [
    "[", "basename", "cat", "cd", "chmod", "chown", "cp", "cut", "dirname", "echo", "false", "grep", "head", "ln",
    "ls", "mkdir", "mv", "printf", "pwd", "rm", "rmdir", "stat", "tail", "test", "touch", "tr", "true", "wc",
];

/// Programs that start others only by what the reader finds in their words.
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
    /// The ways to read it; a `:*` at its end has two.
    forms: Vec<Vec<Item>>,
}

#[derive(Debug, Clone)]
enum Item {
    /// Any number of words, also none.
    Any,
    Word(WordPattern),
}

/// A word of the command, as patterns see it.
#[derive(Debug, Clone, Copy)]
enum Token<'a> {
    Program(&'a str),
    Known(&'a str),
    /// Names of files that the shell will find.
    Glob(&'a str),
    /// Any number of words that only the shell knows.
    Gap,
}

/// How a pattern is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// Everything must be known, and be as the pattern says.
    Strict,
    /// It is what the pattern says, or begins so.
    Certain,
    /// It could be.
    Possible,
}

impl CommandPattern {
    pub(crate) fn parse(text: &str) -> Result<CommandPattern, String> {
        let words = split(text)?;
        let item = |word: WordPattern| if word.is_any() { Item::Any } else { Item::Word(word) };
        let before = words.last().and_then(WordPattern::before_colon);
        let mut forms = vec![words.iter().cloned().map(item).collect::<Vec<Item>>()];
        if let Some(before) = before {
            // `git push:*` is any `git push`; `npm run test:*` may also mean `test:unit`.
            let mut prefix: Vec<Item> = words[..words.len() - 1].iter().cloned().map(item).collect();
            prefix.extend((!before.text().is_empty()).then_some(Item::Word(before)));
            prefix.push(Item::Any);
            forms[0].push(Item::Any);
            forms.insert(0, prefix);
        }
        Ok(CommandPattern { forms })
    }

    /// Whether an allow rule with this pattern covers the command. Where a command may do more than it shows, only its
    /// exact words do.
    pub(crate) fn permits(&self, simple: &Simple, company: Company) -> Match {
        if company == Company::Alone && self.is_exactly(simple) {
            return Match::Exact;
        }
        let tokens: Vec<Token<'_>> = std::iter::once(Token::Program(&simple.name)).chain(args(simple)).collect();
        let covers = || self.forms.iter().any(|form| run(form, &tokens, Reading::Strict));
        Match::certain(simple.tricks.is_empty() && covers())
    }

    /// Whether a deny or ask rule with this pattern covers the command.
    pub(crate) fn forbids(&self, simple: &Simple) -> Match {
        let sets = assignments(simple);
        let tokens = wrapped(simple, &sets);
        let begins = |(at, token): (usize, &Token<'_>)| (at == 0 || matches!(token, Token::Program(_))).then_some(at);
        let starts: Vec<usize> = tokens.iter().enumerate().filter_map(begins).collect();
        let found =
            |reading| self.forms.iter().any(|form| starts.iter().any(|&start| run(form, &tokens[start..], reading)));
        if found(Reading::Certain) {
            Match::Certain
        } else if may_start_others(simple) || found(Reading::Possible) || self.may_be_run_by(simple) {
            Match::Possible
        } else {
            Match::No
        }
    }

    /// Whether a program that is not known to leave its words alone is given the name of the one that is forbidden, or
    /// text to run.
    fn may_be_run_by(&self, simple: &Simple) -> bool {
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
        let first = |form: &Vec<Item>| match form.first() {
            Some(Item::Word(word)) => named(word),
            Some(Item::Any) | None => false,
        };
        interpreters::runs_text(simple) || self.forms.iter().any(first)
    }

    /// Whether it is this command and no other, so that whatever it may do besides was meant.
    fn is_exactly(&self, simple: &Simple) -> bool {
        let [form] = self.forms.as_slice() else { return false };
        let literal = |item: &Item| match item {
            Item::Any => None,
            Item::Word(word) => word.literal(),
        };
        let wanted: Option<Vec<String>> = form.iter().map(literal).collect();
        simple.through.is_empty() && wanted.is_some() && wanted == exact(simple)
    }
}

/// Whether a command may start programs that a rule forbids though it does not name them.
fn may_start_others(simple: &Simple) -> bool {
    let inert = simple.sets.is_empty() && INERT.contains(&bare(&simple.name));
    !simple.tricks.is_empty() && !inert
}

/// Whether a program runs no word of its own, whatever the word is. What git and package managers call a command is
/// part of themselves.
fn is_quiet(name: &str) -> bool {
    INERT.contains(&name) || QUIET.contains(&name)
}

/// Whether a character stands between the names of programs in a text.
fn is_between_names(c: char) -> bool {
    !c.is_alphanumeric() && !"-_.+".contains(c)
}

fn written(word: &Word) -> &str {
    match word {
        Word::Known(text) | Word::Glob(text) | Word::Unknown(text) => text,
    }
}

/// Every word of a command, if all are known.
pub(crate) fn exact(simple: &Simple) -> Option<Vec<String>> {
    let known = |word: &Word| match word {
        Word::Known(text) => Some(text.clone()),
        Word::Glob(_) | Word::Unknown(_) => None,
    };
    let sets = simple.sets.iter().map(|(name, value)| Some(format!("{name}={}", known(value)?)));
    sets.chain([Some(simple.name.clone())]).chain(simple.args.iter().map(known)).collect()
}

fn args(simple: &Simple) -> impl Iterator<Item = Token<'_>> {
    simple.args.iter().map(|word| match word {
        Word::Known(text) => Token::Known(text),
        Word::Glob(text) => Token::Glob(text),
        Word::Unknown(_) => Token::Gap,
    })
}

fn assignments(simple: &Simple) -> Vec<Option<String>> {
    let written = |(name, value): &(String, Word)| match value {
        Word::Known(text) | Word::Glob(text) => Some(format!("{name}={text}")),
        Word::Unknown(_) => None,
    };
    simple.sets.iter().map(written).collect()
}

/// The command with everything it runs through, of which only the names are known.
fn wrapped<'a>(simple: &'a Simple, sets: &'a [Option<String>]) -> Vec<Token<'a>> {
    let mut tokens: Vec<Token<'a>> = sets.iter().map(|set| set.as_deref().map_or(Token::Gap, Token::Known)).collect();
    for wrapper in &simple.through {
        tokens.extend([Token::Program(wrapper), Token::Gap]);
    }
    tokens.push(Token::Program(&simple.name));
    tokens.extend(args(simple));
    tokens
}

/// Follows all places of the pattern that the words so far may have reached.
fn run(pattern: &[Item], tokens: &[Token<'_>], reading: Reading) -> bool {
    let mut places = vec![false; pattern.len() + 1];
    reach(pattern, &mut places, 0);
    let mut after_option = false;
    for token in tokens {
        let mut next = vec![false; pattern.len() + 1];
        for at in (0..places.len()).filter(|&at| places[at]) {
            step(pattern, at, *token, reading, &mut next);
            if reading == Reading::Possible && at > 0 && (after_option || is_option(*token)) {
                reach(pattern, &mut next, at);
            }
        }
        after_option = is_option(*token);
        places = next;
    }
    places[pattern.len()]
}

fn step(pattern: &[Item], at: usize, token: Token<'_>, reading: Reading, next: &mut [bool]) {
    if reading == Reading::Possible && matches!(token, Token::Gap | Token::Glob(_)) {
        (at..=pattern.len()).for_each(|place| next[place] = true);
        return;
    }
    match pattern.get(at) {
        // What a deny rule says of a command, it says of the command with more words too.
        None if reading == Reading::Strict => {}
        None => next[at] = true,
        Some(Item::Any) if reading == Reading::Strict && matches!(token, Token::Gap) => {}
        Some(Item::Any) => reach(pattern, next, at),
        Some(Item::Word(word)) if means(word, token, reading) => reach(pattern, next, at + 1),
        Some(Item::Word(_)) => {}
    }
}

/// Marks a place, and those behind it that need no further word.
fn reach(pattern: &[Item], places: &mut [bool], at: usize) {
    places[at] = true;
    if matches!(pattern.get(at), Some(Item::Any)) {
        reach(pattern, places, at + 1);
    }
}

fn is_option(token: Token<'_>) -> bool {
    match token {
        Token::Known(text) => text.starts_with('-'),
        Token::Program(_) | Token::Glob(_) | Token::Gap => false,
    }
}

fn means(word: &WordPattern, token: Token<'_>, reading: Reading) -> bool {
    match (token, reading) {
        (Token::Program(name), Reading::Strict) => {
            // A bare name means no program of a folder, whatever its wildcards are.
            let of_folder = word.text().contains('/');
            if of_folder {
                word.matches_within(name)
            } else {
                !bare(name).contains('/') && word.matches_within(bare(name))
            }
        }
        (Token::Program(name), Reading::Certain) => word.matches(name) || is_anywhere(bare(&word.text()), name),
        (Token::Program(name), Reading::Possible) => {
            let text = word.text();
            let reachable = name.contains('/') || text.starts_with('/') || !text.contains('/');
            word.matches(name) || (reachable && is_anywhere(base(&text), name))
        }
        (Token::Known(text), Reading::Strict) => word.matches_within(text),
        (Token::Known(text), Reading::Certain | Reading::Possible) => word.matches(text),
        (Token::Glob(text), _) => word.text() == text,
        (Token::Gap, _) => false,
    }
}

/// Whether a bare name means this program, in whatever folder that is, and whatever the case of its letters.
fn is_anywhere(pattern: &str, name: &str) -> bool {
    !pattern.contains('/') && WordPattern::glob(&pattern.to_lowercase()).matches(&base(name).to_lowercase())
}

/// A program of the system without its folder; any other as it is.
pub(crate) fn bare(name: &str) -> &str {
    let bare = SYSTEM.iter().find_map(|folder| name.strip_prefix(folder));
    bare.filter(|bare| !bare.contains('/')).unwrap_or(name)
}

/// The last part of a program's path.
fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

//! `LIKE` and `GLOB` that can be interrupted. SQLite reports no progress from inside a function, nor between the
//! columns of one row: with a long text a single call takes half a second, and one row can hold thousands of calls.

use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Error, ffi};

use super::guard::SqlGuard;
use super::linear::value_text;

/// Maximum bytes of a pattern.
const MAX_PATTERN_BYTES: usize = 200;

/// How many comparisons pass between two checks of the guard.
const CHECK_INTERVAL_COMPARISONS: usize = 10_000;

/// The guard of the current call, for the functions.
#[derive(Clone, Default)]
pub(super) struct CurrentGuard(Arc<Mutex<Option<SqlGuard>>>);

impl std::fmt::Debug for CurrentGuard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CurrentGuard")
    }
}

impl CurrentGuard {
    /// Sets the guard of the next call.
    pub(super) fn set(&self, guard: &SqlGuard) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(guard.clone());
    }

    /// Fails when the call must stop.
    fn check(&self) -> rusqlite::Result<()> {
        let must_stop = self.0.lock().unwrap_or_else(PoisonError::into_inner).as_ref().is_some_and(SqlGuard::must_stop);
        if must_stop { Err(Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_INTERRUPT), None)) } else { Ok(()) }
    }
}

/// Replaces the built-in `LIKE` and `GLOB`, which cannot be stopped.
pub(super) fn replace_unstoppable(conn: &Connection, current: &CurrentGuard) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC | FunctionFlags::SQLITE_INNOCUOUS;
    for arguments in [2, 3] {
        let current = current.clone();
        conn.create_scalar_function(c"like", arguments, flags, move |context| matches(context, &current, parse_like))?;
    }
    let current = current.clone();
    conn.create_scalar_function(c"glob", 2, flags, move |context| matches(context, &current, parse_glob))
}

/// One token of a pattern.
#[derive(Debug)]
enum PatternToken {
    /// Any number of characters.
    Many,
    /// Any one character.
    One,
    /// This character.
    Exactly(char),
    /// This letter, in either case.
    Letter(char),
    /// One character in these ranges, or outside of them if `within` is false.
    CharSet { ranges: Vec<(char, char)>, within: bool },
    /// Matches nothing: the pattern is malformed.
    Never,
}

impl PatternToken {
    fn matches_char(&self, c: char) -> bool {
        match self {
            PatternToken::Many | PatternToken::Never => false,
            PatternToken::One => true,
            PatternToken::Exactly(wanted) => *wanted == c,
            PatternToken::Letter(wanted) => wanted.eq_ignore_ascii_case(&c),
            PatternToken::CharSet { ranges, within } => {
                ranges.iter().any(|(from, to)| (*from..=*to).contains(&c)) == *within
            }
        }
    }
}

type PatternParser = fn(&str, Option<char>) -> Vec<PatternToken>;

fn matches(context: &Context<'_>, current: &CurrentGuard, parse: PatternParser) -> rusqlite::Result<Option<bool>> {
    let refused = |why: &str| Error::UserFunctionError(why.into());
    let values: Vec<ValueRef<'_>> = (0..context.len()).map(|n| context.get_raw(n)).collect();
    if values.contains(&ValueRef::Null) {
        return Ok(None);
    }
    let pattern = value_text(values[0]);
    if pattern.len() > MAX_PATTERN_BYTES {
        return Err(refused("LIKE or GLOB pattern too complex"));
    }
    let escape = match values.get(2).map(|value| value_text(*value)) {
        None => None,
        Some(escape) => {
            let mut chars = escape.chars();
            let (Some(one), None) = (chars.next(), chars.next()) else {
                return Err(refused("ESCAPE expression must be a single character"));
            };
            Some(one)
        }
    };
    matches_pattern(&parse(&pattern, escape), &value_text(values[1]), current).map(Some)
}

/// Whether the whole text matches. After a mismatch, only the last `Many` needs to take one more character: it can take
/// everything that an earlier one could.
fn matches_pattern(pattern: &[PatternToken], text: &str, current: &CurrentGuard) -> rusqlite::Result<bool> {
    current.check()?;
    let (mut token, mut rest) = (0, text.chars());
    let mut last_many: Option<(usize, std::str::Chars<'_>)> = None;
    let mut steps = 0;
    loop {
        steps += 1;
        if steps % CHECK_INTERVAL_COMPARISONS == 0 {
            current.check()?;
        }
        if let Some(PatternToken::Many) = pattern.get(token) {
            token += 1;
            last_many = Some((token, rest.clone()));
            continue;
        }
        let mut after_next = rest.clone();
        match (pattern.get(token), after_next.next()) {
            (None, None) => return Ok(true),
            (Some(wanted), Some(c)) if wanted.matches_char(c) => {
                token += 1;
                rest = after_next;
            }
            (Some(_), None) => return Ok(false),
            (Some(_) | None, Some(_)) => {
                let Some((next_token, remaining)) = &mut last_many else { return Ok(false) };
                remaining.next();
                token = *next_token;
                rest = remaining.clone();
            }
        }
    }
}

fn parse_like(pattern: &str, escape: Option<char>) -> Vec<PatternToken> {
    let mut chars = pattern.chars();
    let mut tokens = Vec::new();
    while let Some(c) = chars.next() {
        tokens.push(match c {
            c if Some(c) == escape => chars.next().map_or(PatternToken::Never, letter),
            '%' => PatternToken::Many,
            '_' => PatternToken::One,
            c => letter(c),
        });
    }
    tokens
}

fn letter(c: char) -> PatternToken {
    if c.is_ascii_alphabetic() { PatternToken::Letter(c) } else { PatternToken::Exactly(c) }
}

fn parse_glob(pattern: &str, _escape: Option<char>) -> Vec<PatternToken> {
    let mut chars = pattern.chars();
    let mut tokens = Vec::new();
    while let Some(c) = chars.next() {
        tokens.push(match c {
            '*' => PatternToken::Many,
            '?' => PatternToken::One,
            '[' => set(&mut chars),
            c => PatternToken::Exactly(c),
        });
    }
    tokens
}

/// Parses the rest of a set such as `[a-c]`. A leading `]` belongs to the set; an unclosed set matches nothing.
fn set(chars: &mut std::str::Chars<'_>) -> PatternToken {
    let mut next = chars.next();
    let within = next != Some('^');
    if !within {
        next = chars.next();
    }
    let mut ranges = Vec::new();
    let mut range_start: Option<char> = None;
    if next == Some(']') {
        ranges.push((']', ']'));
        next = chars.next();
    }
    while let Some(c) = next {
        let after = chars.clone().next();
        match (c, range_start, after) {
            (']', _, _) => return PatternToken::CharSet { ranges, within },
            ('-', Some(from), Some(to)) if to != ']' => {
                chars.next();
                ranges.push((from, to));
                range_start = None;
            }
            (c, _, _) => {
                ranges.push((c, c));
                range_start = Some(c);
            }
        }
        next = chars.next();
    }
    PatternToken::Never
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Matches every text against every pattern, with these functions and with SQLite's own.
    #[test]
    fn like_and_glob_match_as_in_sqlite() {
        let open = || Connection::open_in_memory().unwrap();
        let (theirs, ours) = (open(), open());
        replace_unstoppable(&ours, &CurrentGuard::default()).unwrap();
        let texts = [
            "",
            "a",
            "A",
            "ab",
            "aXb",
            "abab",
            "a%b",
            "é",
            "É",
            "a]b",
            "-",
            "a-c",
            "b",
            "_",
            "[",
            "12.5",
            "\u{1F600}x",
        ];
        let patterns = [
            "", "%", "_", "a", "A%", "%b", "a%b", "a_b", "%a%b", "%%b%", "é", "_x", "x%%", "a%%b", "%x%", "%x_", "*",
            "?", "a*b", "[ab]*", "[^a]*", "[]a]*", "[^]]*", "[a-c]", "[a-]*", "[-a]*", "[a", "[", "*[0-9].?", "[^",
            "*]*", "a[]]b", "[a-c-e]", "[]-a]",
        ];
        for text in texts {
            for pattern in patterns {
                for sql in [
                    "SELECT ?1 LIKE ?2",
                    "SELECT ?1 LIKE ?2 ESCAPE 'x'",
                    "SELECT ?1 LIKE ?2 ESCAPE '%'",
                    "SELECT ?1 GLOB ?2",
                ] {
                    let evaluate =
                        |conn: &Connection| conn.query_row(sql, [text, pattern], |row| row.get::<_, bool>(0)).unwrap();
                    assert_eq!(evaluate(&ours), evaluate(&theirs), "{sql} {text:?} {pattern:?}");
                }
            }
        }
        let odd = "SELECT 12 LIKE 1.0, NULL LIKE 'a', 'a' LIKE NULL, 1.5 LIKE '1.%', x'6162' LIKE 'A_'";
        let evaluate = |conn: &Connection| {
            let row =
                |row: &rusqlite::Row<'_>| (0..5).map(|n| row.get::<_, Option<bool>>(n)).collect::<Result<Vec<_>, _>>();
            conn.query_row(odd, [], row).unwrap()
        };
        assert_eq!(evaluate(&ours), evaluate(&theirs));
    }
}

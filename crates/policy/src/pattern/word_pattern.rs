//! Patterns for single words, and splitting the text of a rule into words.

use std::fmt;

/// A pattern for one word: `*` matches any text, `?` any character.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct WordPattern {
    pieces: Vec<WordPatternPiece>,
}

impl fmt::Debug for WordPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.text())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WordPatternPiece {
    Char(char),
    AnyChar,
    AnyText,
}

impl WordPattern {
    /// Parses a pattern without quotes.
    pub(crate) fn glob(text: &str) -> WordPattern {
        let piece = |c| match c {
            '*' => WordPatternPiece::AnyText,
            '?' => WordPatternPiece::AnyChar,
            c => WordPatternPiece::Char(c),
        };
        WordPattern { pieces: text.chars().map(piece).collect() }
    }

    /// Whether it consists of `*` alone.
    pub(super) fn is_any(&self) -> bool {
        !self.pieces.is_empty() && self.pieces.iter().all(|piece| *piece == WordPatternPiece::AnyText)
    }

    /// The word, if the pattern matches only one.
    pub(crate) fn literal(&self) -> Option<String> {
        let only = |piece: &WordPatternPiece| match piece {
            WordPatternPiece::Char(c) => Some(*c),
            WordPatternPiece::AnyChar | WordPatternPiece::AnyText => None,
        };
        self.pieces.iter().map(only).collect()
    }

    /// The pattern as a shell would write it.
    pub(super) fn text(&self) -> String {
        let written = |piece: &WordPatternPiece| match piece {
            WordPatternPiece::Char(c) => *c,
            WordPatternPiece::AnyChar => '?',
            WordPatternPiece::AnyText => '*',
        };
        self.pieces.iter().map(written).collect()
    }

    /// Whether the whole word matches.
    pub(crate) fn matches(&self, word: &str) -> bool {
        let word: Vec<char> = word.chars().collect();
        let (mut position, mut consumed) = (0, 0);
        // The position of the last `*`, and how much of the word it has matched.
        let mut star: Option<(usize, usize)> = None;
        while consumed < word.len() {
            match self.pieces.get(position) {
                Some(WordPatternPiece::AnyText) => {
                    star = Some((position, consumed));
                    position += 1;
                    continue;
                }
                Some(WordPatternPiece::Char(c)) if *c == word[consumed] => {}
                Some(WordPatternPiece::AnyChar) => {}
                Some(WordPatternPiece::Char(_)) | None => {
                    let Some((place, taken)) = star else { return false };
                    star = Some((place, taken + 1));
                    (position, consumed) = (place + 1, taken + 1);
                    continue;
                }
            }
            position += 1;
            consumed += 1;
        }
        self.pieces[position..].iter().all(|piece| *piece == WordPatternPiece::AnyText)
    }

    /// Whether the word matches without a wildcard that stands for `..` or for the beginning of an option.
    pub(super) fn matches_strictly(&self, word: &str) -> bool {
        if word.starts_with('-') && !matches!(self.pieces.first(), None | Some(WordPatternPiece::Char(_))) {
            return false;
        }
        let climbs = || word.split(['/', '=', ':']).any(|part| part == "..");
        self.matches(word) && (self.literal().is_some() || !climbs() || self.text().contains(".."))
    }

    /// The pattern before a `:*` at its end.
    pub(super) fn before_colon(&self) -> Option<WordPattern> {
        let before = self.pieces.strip_suffix(&[WordPatternPiece::Char(':'), WordPatternPiece::AnyText])?;
        Some(WordPattern { pieces: before.to_vec() })
    }
}

/// Splits the text of a rule into words. Quotes and backslashes make wildcards literal, as in a shell.
pub(super) fn split_words(text: &str) -> Result<Vec<WordPattern>, String> {
    let mut words = Vec::new();
    let mut word: Option<Vec<WordPatternPiece>> = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c.is_whitespace() {
            words.extend(word.take().map(|pieces| WordPattern { pieces }));
            continue;
        }
        let pieces = word.get_or_insert_default();
        match c {
            '\\' => pieces.push(WordPatternPiece::Char(chars.next().ok_or("nothing follows its last backslash")?)),
            '\'' | '"' => read_quoted(c, &mut chars, pieces)?,
            '*' => pieces.push(WordPatternPiece::AnyText),
            '?' => pieces.push(WordPatternPiece::AnyChar),
            c => pieces.push(WordPatternPiece::Char(c)),
        }
    }
    words.extend(word.map(|pieces| WordPattern { pieces }));
    Ok(words)
}

/// Quotes a word so that a rule matches it literally.
pub(crate) fn quote_word(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./=:,+@%^~#{}[]".contains(c);
    if !word.is_empty() && word.chars().all(plain) && !word.ends_with(':') {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

fn read_quoted(quote: char, chars: &mut std::str::Chars<'_>, pieces: &mut Vec<WordPatternPiece>) -> Result<(), String> {
    loop {
        match chars.next() {
            None => return Err(format!("the quote {quote} is not closed; write \\{quote} to mean the character")),
            Some(c) if c == quote => return Ok(()),
            Some('\\') if quote == '"' => {
                let next = chars.next().ok_or("nothing follows its last backslash")?;
                if !matches!(next, '"' | '\\' | '$' | '`') {
                    pieces.push(WordPatternPiece::Char('\\'));
                }
                pieces.push(WordPatternPiece::Char(next));
            }
            Some(c) => pieces.push(WordPatternPiece::Char(c)),
        }
    }
}

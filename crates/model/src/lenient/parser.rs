//! Parses JSON as small models write it, one character at a time.
//!
//! It repairs only what has one meaning: trailing commas, other quotes, Python constants, unquoted names, `//`
//! comments, raw line breaks in strings, and, on request, missing brackets at the end.

use super::json::Json;
use super::quoted_string::QuotedString;

/// Maximum nesting depth.
const MAX_DEPTH: usize = 64;
/// Maximum length of a bare word: a number, a constant or an unquoted name.
const MAX_WORD_BYTES: usize = 128;

/// The progress of a parser.
#[derive(Debug)]
pub(super) enum ParseProgress<T> {
    /// More input is needed.
    More,
    /// The value is complete with this character.
    Complete(T),
    /// The character is invalid here.
    Invalid,
}

/// A parser for an object or a list.
#[derive(Debug, Default)]
pub(super) struct JsonParser {
    open: Vec<OpenContainer>,
    state: JsonParserState,
    comment: CommentState,
}

#[derive(Debug)]
enum OpenContainer {
    List(Vec<Json>),
    Object { fields: Vec<(String, Json)>, name: Option<String> },
}

#[derive(Debug, Default)]
enum JsonParserState {
    /// Before a value.
    #[default]
    Value,
    /// Before a name.
    Name,
    /// Before a colon.
    Colon,
    /// Before a comma or the end.
    After,
    /// In a string.
    Text(QuotedString, TokenRole),
    /// In an unquoted word.
    Word(String, TokenRole),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum TokenRole {
    Name,
    Value,
}

#[derive(Debug, Default, PartialEq)]
enum CommentState {
    #[default]
    None,
    /// After one slash.
    Slash,
    Line,
}

impl JsonParser {
    /// Parses one character.
    pub(super) fn push(&mut self, c: char) -> ParseProgress<Json> {
        match &mut self.state {
            JsonParserState::Text(text, role) => match text.push(c) {
                ParseProgress::More => ParseProgress::More,
                ParseProgress::Complete(text) => {
                    let role = *role;
                    self.finish_text(text, role)
                }
                ParseProgress::Invalid => ParseProgress::Invalid,
            },
            JsonParserState::Word(word, _) if is_word_char(c) => {
                word.push(c);
                if word.len() > MAX_WORD_BYTES { ParseProgress::Invalid } else { ParseProgress::More }
            }
            JsonParserState::Word(..) => match self.end_word() {
                Some(()) => self.push_between(c),
                None => ParseProgress::Invalid,
            },
            JsonParserState::Value | JsonParserState::Name | JsonParserState::Colon | JsonParserState::After => {
                self.push_between(c)
            }
        }
    }

    /// The value with missing closing brackets added; none if anything else is missing.
    pub(super) fn close_all(&mut self) -> Option<Json> {
        if !matches!(self.state, JsonParserState::After) || self.comment == CommentState::Slash {
            return None;
        }
        loop {
            match self.close_container() {
                ParseProgress::More => {}
                ParseProgress::Complete(json) => return Some(json),
                ParseProgress::Invalid => return None,
            }
        }
    }

    fn push_between(&mut self, c: char) -> ParseProgress<Json> {
        match (&self.comment, c) {
            (CommentState::Line, '\n') => self.comment = CommentState::None,
            (CommentState::Line, _) => {}
            (CommentState::Slash, '/') => self.comment = CommentState::Line,
            (CommentState::Slash, _) => return ParseProgress::Invalid,
            (CommentState::None, '/') if !self.open.is_empty() => self.comment = CommentState::Slash,
            (CommentState::None, c) if c.is_whitespace() => {}
            (CommentState::None, c) => return self.push_token(c),
        }
        ParseProgress::More
    }

    fn push_token(&mut self, c: char) -> ParseProgress<Json> {
        match (&self.state, self.open.last(), c) {
            (JsonParserState::Value, _, '{' | '[') => return self.open_container(c),
            (JsonParserState::Value | JsonParserState::After, Some(OpenContainer::List(_)), ']') => {
                return self.close_container();
            }
            (JsonParserState::Name | JsonParserState::After, Some(OpenContainer::Object { .. }), '}') => {
                return self.close_container();
            }
            (JsonParserState::After, Some(OpenContainer::List(_)), ',') => self.state = JsonParserState::Value,
            (JsonParserState::After, Some(OpenContainer::Object { .. }), ',') => self.state = JsonParserState::Name,
            (JsonParserState::Colon, Some(_), ':') => self.state = JsonParserState::Value,
            (JsonParserState::Value, Some(_), c) => return self.start_token(c, TokenRole::Value),
            (JsonParserState::Name, Some(_), c) => return self.start_token(c, TokenRole::Name),
            _unexpected => return ParseProgress::Invalid,
        }
        ParseProgress::More
    }

    fn open_container(&mut self, c: char) -> ParseProgress<Json> {
        if self.open.len() == MAX_DEPTH {
            return ParseProgress::Invalid;
        }
        let object = OpenContainer::Object { fields: Vec::new(), name: None };
        let (open, state) = if c == '{' {
            (object, JsonParserState::Name)
        } else {
            (OpenContainer::List(Vec::new()), JsonParserState::Value)
        };
        self.open.push(open);
        self.state = state;
        ParseProgress::More
    }

    /// Starts a string or a word.
    fn start_token(&mut self, c: char, role: TokenRole) -> ParseProgress<Json> {
        let digit = c.is_ascii_digit() || c == '-';
        self.state = match (QuotedString::begin(c), role) {
            (Some(text), _) => JsonParserState::Text(text, role),
            (None, TokenRole::Name) if is_word_char(c) && !digit => JsonParserState::Word(c.into(), role),
            (None, TokenRole::Value) if is_word_char(c) => JsonParserState::Word(c.into(), role),
            (None, TokenRole::Name | TokenRole::Value) => return ParseProgress::Invalid,
        };
        ParseProgress::More
    }

    fn finish_text(&mut self, text: String, role: TokenRole) -> ParseProgress<Json> {
        match role {
            TokenRole::Name => {
                self.set_name(text);
                ParseProgress::More
            }
            TokenRole::Value => self.add_value(Json::Text(text)),
        }
    }

    fn end_word(&mut self) -> Option<()> {
        let JsonParserState::Word(word, role) = &self.state else { return None };
        let word = word.clone();
        match role {
            TokenRole::Name => self.set_name(word),
            TokenRole::Value => {
                let value = parse_constant(word)?;
                // Words occur only inside brackets, so the value cannot end here.
                let ParseProgress::More = self.add_value(value) else { return None };
            }
        }
        Some(())
    }

    fn set_name(&mut self, text: String) {
        if let Some(OpenContainer::Object { name, .. }) = self.open.last_mut() {
            *name = Some(text);
        }
        self.state = JsonParserState::Colon;
    }

    /// Adds a value to its container.
    fn add_value(&mut self, json: Json) -> ParseProgress<Json> {
        self.state = JsonParserState::After;
        match self.open.last_mut() {
            None => return ParseProgress::Complete(json),
            Some(OpenContainer::List(items)) => items.push(json),
            Some(OpenContainer::Object { fields, name }) => fields.extend(name.take().map(|name| (name, json))),
        }
        ParseProgress::More
    }

    /// Ends the innermost object or list.
    fn close_container(&mut self) -> ParseProgress<Json> {
        match self.open.pop() {
            Some(OpenContainer::List(items)) => self.add_value(Json::List(items)),
            Some(OpenContainer::Object { fields, .. }) if has_unique_names(&fields) => {
                self.add_value(Json::Object(fields))
            }
            Some(OpenContainer::Object { .. }) | None => ParseProgress::Invalid,
        }
    }
}

fn is_word_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '+' | '.')
}

fn parse_constant(word: String) -> Option<Json> {
    match word.as_str() {
        "true" | "True" => Some(Json::Bool(true)),
        "false" | "False" => Some(Json::Bool(false)),
        "null" | "None" => Some(Json::Null),
        _number => serde_json::from_str::<serde_json::Number>(&word).is_ok().then_some(Json::Number(word)),
    }
}

/// Whether no name occurs twice: a duplicate has no certain meaning.
fn has_unique_names(fields: &[(String, Json)]) -> bool {
    let mut names: Vec<&str> = fields.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    names.windows(2).all(|pair| pair[0] != pair[1])
}

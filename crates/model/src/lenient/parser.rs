//! Reads JSON as small models write it, one character at a time.
//!
//! Repaired is only what has one meaning: trailing commas, other quotes, Python's words, bare names, `//` comments,
//! raw line breaks in texts, and, when asked, missing brackets at the end.

use super::json::Json;
use super::quoted::Quoted;

/// How deep values may be nested.
const MAX_DEPTH: usize = 64;
/// The longest bare word: a number, a constant or a name without quotes.
const MAX_WORD: usize = 128;

/// How far a reader has come.
#[derive(Debug)]
pub(super) enum Progress<T> {
    /// It takes more.
    More,
    /// It is complete with this character.
    Whole(T),
    /// It cannot take this character.
    Broken,
}

/// An object or a list under way.
#[derive(Debug, Default)]
pub(super) struct Parser {
    open: Vec<Open>,
    now: Now,
    comment: Comment,
}

#[derive(Debug)]
enum Open {
    List(Vec<Json>),
    Object { fields: Vec<(String, Json)>, name: Option<String> },
}

#[derive(Debug, Default)]
enum Now {
    /// A value comes.
    #[default]
    Value,
    /// A name comes.
    Name,
    /// A colon comes.
    Colon,
    /// A comma or the end comes.
    After,
    /// In a text.
    Text(Quoted, Role),
    /// In a word without quotes.
    Word(String, Role),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Role {
    Name,
    Value,
}

#[derive(Debug, Default, PartialEq)]
enum Comment {
    #[default]
    None,
    /// One slash came.
    Slash,
    Line,
}

impl Parser {
    /// Takes one character.
    pub(super) fn push(&mut self, c: char) -> Progress<Json> {
        match &mut self.now {
            Now::Text(text, role) => match text.push(c) {
                Progress::More => Progress::More,
                Progress::Whole(text) => {
                    let role = *role;
                    self.text(text, role)
                }
                Progress::Broken => Progress::Broken,
            },
            Now::Word(word, _) if is_word(c) => {
                word.push(c);
                if word.len() > MAX_WORD { Progress::Broken } else { Progress::More }
            }
            Now::Word(..) => match self.end_word() {
                Some(()) => self.between(c),
                None => Progress::Broken,
            },
            Now::Value | Now::Name | Now::Colon | Now::After => self.between(c),
        }
    }

    /// The value with the brackets that are missing at its end; none unless only those are missing.
    pub(super) fn close(&mut self) -> Option<Json> {
        if !matches!(self.now, Now::After) || self.comment == Comment::Slash {
            return None;
        }
        loop {
            match self.shut() {
                Progress::More => {}
                Progress::Whole(json) => return Some(json),
                Progress::Broken => return None,
            }
        }
    }

    fn between(&mut self, c: char) -> Progress<Json> {
        match (&self.comment, c) {
            (Comment::Line, '\n') => self.comment = Comment::None,
            (Comment::Line, _) => {}
            (Comment::Slash, '/') => self.comment = Comment::Line,
            (Comment::Slash, _) => return Progress::Broken,
            (Comment::None, '/') if !self.open.is_empty() => self.comment = Comment::Slash,
            (Comment::None, c) if c.is_whitespace() => {}
            (Comment::None, c) => return self.token(c),
        }
        Progress::More
    }

    fn token(&mut self, c: char) -> Progress<Json> {
        match (&self.now, self.open.last(), c) {
            (Now::Value, _, '{' | '[') => return self.begin(c),
            (Now::Value | Now::After, Some(Open::List(_)), ']') => return self.shut(),
            (Now::Name | Now::After, Some(Open::Object { .. }), '}') => return self.shut(),
            (Now::After, Some(Open::List(_)), ',') => self.now = Now::Value,
            (Now::After, Some(Open::Object { .. }), ',') => self.now = Now::Name,
            (Now::Colon, Some(_), ':') => self.now = Now::Value,
            (Now::Value, Some(_), c) => return self.start(c, Role::Value),
            (Now::Name, Some(_), c) => return self.start(c, Role::Name),
            _unexpected => return Progress::Broken,
        }
        Progress::More
    }

    fn begin(&mut self, c: char) -> Progress<Json> {
        if self.open.len() == MAX_DEPTH {
            return Progress::Broken;
        }
        let object = Open::Object { fields: Vec::new(), name: None };
        let (open, now) = if c == '{' { (object, Now::Name) } else { (Open::List(Vec::new()), Now::Value) };
        self.open.push(open);
        self.now = now;
        Progress::More
    }

    /// Begins a text or a word.
    fn start(&mut self, c: char, role: Role) -> Progress<Json> {
        let digit = c.is_ascii_digit() || c == '-';
        self.now = match (Quoted::begin(c), role) {
            (Some(text), _) => Now::Text(text, role),
            (None, Role::Name) if is_word(c) && !digit => Now::Word(c.into(), role),
            (None, Role::Value) if is_word(c) => Now::Word(c.into(), role),
            (None, Role::Name | Role::Value) => return Progress::Broken,
        };
        Progress::More
    }

    fn text(&mut self, text: String, role: Role) -> Progress<Json> {
        match role {
            Role::Name => {
                self.name(text);
                Progress::More
            }
            Role::Value => self.value(Json::Text(text)),
        }
    }

    fn end_word(&mut self) -> Option<()> {
        let Now::Word(word, role) = &self.now else { return None };
        let word = word.clone();
        match role {
            Role::Name => self.name(word),
            Role::Value => {
                let value = constant(word)?;
                // Words stand only inside brackets, so the whole cannot end here.
                let Progress::More = self.value(value) else { return None };
            }
        }
        Some(())
    }

    fn name(&mut self, text: String) {
        if let Some(Open::Object { name, .. }) = self.open.last_mut() {
            *name = Some(text);
        }
        self.now = Now::Colon;
    }

    /// Puts a value where it belongs.
    fn value(&mut self, json: Json) -> Progress<Json> {
        self.now = Now::After;
        match self.open.last_mut() {
            None => return Progress::Whole(json),
            Some(Open::List(items)) => items.push(json),
            Some(Open::Object { fields, name }) => fields.extend(name.take().map(|name| (name, json))),
        }
        Progress::More
    }

    /// Ends the innermost object or list.
    fn shut(&mut self) -> Progress<Json> {
        match self.open.pop() {
            Some(Open::List(items)) => self.value(Json::List(items)),
            Some(Open::Object { fields, .. }) if distinct(&fields) => self.value(Json::Object(fields)),
            Some(Open::Object { .. }) | None => Progress::Broken,
        }
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '+' | '.')
}

fn constant(word: String) -> Option<Json> {
    match word.as_str() {
        "true" | "True" => Some(Json::Bool(true)),
        "false" | "False" => Some(Json::Bool(false)),
        "null" | "None" => Some(Json::Null),
        _number => serde_json::from_str::<serde_json::Number>(&word).is_ok().then_some(Json::Number(word)),
    }
}

/// A name that comes twice has no certain meaning.
fn distinct(fields: &[(String, Json)]) -> bool {
    let mut names: Vec<&str> = fields.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    names.windows(2).all(|pair| pair[0] != pair[1])
}

//! Parses `<function=NAME>…</function>`, from after its `=`.

use super::json::Json;
use super::parser::{JsonParser, ParseProgress};

/// Maximum length of a function's or parameter's name.
const MAX_NAME_BYTES: usize = 128;
/// Maximum parameters of one call.
const MAX_PARAMETERS: usize = 64;
const END: &str = "</function>";
const PARAMETER: &str = "<parameter=";
const PARAMETER_END: &str = "</parameter>";

/// A call in this syntax.
#[derive(Debug)]
pub(super) struct FunctionTagCall {
    pub(super) name: String,
    pub(super) input: FunctionTagInput,
}

/// How its arguments are written.
#[derive(Debug)]
pub(super) enum FunctionTagInput {
    /// As JSON.
    Json(Json),
    /// As separate parameters in plain text.
    Parameters(Vec<(String, String)>),
}

/// A call while it is parsed.
#[derive(Debug)]
pub(super) struct FunctionTagReader {
    name: String,
    json: Option<Json>,
    parameters: Vec<(String, String)>,
    state: FunctionTagState,
}

#[derive(Debug)]
enum FunctionTagState {
    /// In the function's name.
    Name,
    /// Before a parameter, JSON or the end.
    Between,
    /// In one of the marks.
    Mark(String),
    /// In a parameter's name.
    Parameter(String),
    /// In a parameter's value.
    Value {
        name: String,
        text: String,
    },
    Json(Box<JsonParser>),
}

impl FunctionTagReader {
    pub(super) fn new() -> FunctionTagReader {
        FunctionTagReader { name: String::new(), json: None, parameters: Vec::new(), state: FunctionTagState::Name }
    }

    /// Parses one character.
    pub(super) fn push(&mut self, c: char) -> ParseProgress<FunctionTagCall> {
        match std::mem::replace(&mut self.state, FunctionTagState::Between) {
            FunctionTagState::Name => return self.name(c),
            FunctionTagState::Between => return self.push_between(c),
            FunctionTagState::Mark(mark) => return self.push_mark(mark, c),
            FunctionTagState::Parameter(name) if c == '>' && !name.is_empty() => {
                self.state = FunctionTagState::Value { name, text: String::new() };
            }
            FunctionTagState::Parameter(mut name) if is_name_char(c) && name.len() < MAX_NAME_BYTES => {
                name.push(c);
                self.state = FunctionTagState::Parameter(name);
            }
            FunctionTagState::Parameter(_) => return ParseProgress::Invalid,
            FunctionTagState::Value { name, mut text } => {
                text.push(c);
                if c != '>' || !text.ends_with(PARAMETER_END) {
                    self.state = FunctionTagState::Value { name, text };
                } else if !self.store_parameter(name, &text) {
                    return ParseProgress::Invalid;
                }
            }
            FunctionTagState::Json(parser) => return self.json(parser, c),
        }
        ParseProgress::More
    }

    fn name(&mut self, c: char) -> ParseProgress<FunctionTagCall> {
        match c {
            '>' if !self.name.is_empty() => self.state = FunctionTagState::Between,
            // Some models forget the `>`.
            '{' if !self.name.is_empty() => return self.push_between(c),
            c if is_name_char(c) && self.name.len() < MAX_NAME_BYTES => {
                self.name.push(c);
                self.state = FunctionTagState::Name;
            }
            _other => return ParseProgress::Invalid,
        }
        ParseProgress::More
    }

    fn push_between(&mut self, c: char) -> ParseProgress<FunctionTagCall> {
        match c {
            '<' => self.state = FunctionTagState::Mark("<".into()),
            '{' if self.json.is_none() && self.parameters.is_empty() => return self.json(Box::default(), c),
            c if c.is_whitespace() => {}
            _other => return ParseProgress::Invalid,
        }
        ParseProgress::More
    }

    fn json(&mut self, mut parser: Box<JsonParser>, c: char) -> ParseProgress<FunctionTagCall> {
        match parser.push(c) {
            ParseProgress::More => self.state = FunctionTagState::Json(parser),
            ParseProgress::Complete(json) => self.json = Some(json),
            ParseProgress::Invalid => match parser.close_all() {
                Some(json) if c == '<' => {
                    self.json = Some(json);
                    return self.push_between(c);
                }
                Some(_) | None => return ParseProgress::Invalid,
            },
        }
        ParseProgress::More
    }

    fn push_mark(&mut self, mut mark: String, c: char) -> ParseProgress<FunctionTagCall> {
        mark.push(c);
        if mark == END {
            let (name, parameters) = (std::mem::take(&mut self.name), std::mem::take(&mut self.parameters));
            let input = self.json.take().map_or(FunctionTagInput::Parameters(parameters), FunctionTagInput::Json);
            return ParseProgress::Complete(FunctionTagCall { name, input });
        }
        if mark == PARAMETER && self.json.is_none() {
            self.state = FunctionTagState::Parameter(String::new());
        } else if END.starts_with(&mark) || PARAMETER.starts_with(&mark) {
            self.state = FunctionTagState::Mark(mark);
        } else {
            return ParseProgress::Invalid;
        }
        ParseProgress::More
    }

    /// Stores a parameter; refuses one that seems to contain the next one because its end tag is missing.
    fn store_parameter(&mut self, name: String, text: &str) -> bool {
        let text = text.strip_suffix(PARAMETER_END).unwrap_or(text);
        let contains_next = text.contains(PARAMETER) || text.contains(END);
        let is_duplicate = self.parameters.iter().any(|(known, _)| *known == name);
        if contains_next || is_duplicate || self.parameters.len() == MAX_PARAMETERS {
            return false;
        }
        // The line breaks beside the marks belong to them.
        let text = text.strip_prefix("\r\n").or(text.strip_prefix('\n')).unwrap_or(text);
        let text = text.strip_suffix("\r\n").or(text.strip_suffix('\n')).unwrap_or(text);
        self.parameters.push((name, text.to_owned()));
        true
    }
}

fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')
}

//! Reads `<function=NAME>…</function>`, from behind its `=`.

use super::json::Json;
use super::parser::{Parser, Progress};

/// The longest name of a function or parameter.
const MAX_NAME: usize = 128;
/// Most parameters of one call.
const MAX_PARAMETERS: usize = 64;
const END: &str = "</function>";
const PARAMETER: &str = "<parameter=";
const PARAMETER_END: &str = "</parameter>";

/// A call in this form.
#[derive(Debug)]
pub(super) struct Function {
    pub(super) name: String,
    pub(super) input: Written,
}

/// How its arguments are written.
#[derive(Debug)]
pub(super) enum Written {
    /// As JSON.
    Json(Json),
    /// Each on its own, as plain text.
    Parameters(Vec<(String, String)>),
}

/// Such a call under way.
#[derive(Debug)]
pub(super) struct FunctionReader {
    name: String,
    json: Option<Json>,
    parameters: Vec<(String, String)>,
    now: Now,
}

#[derive(Debug)]
enum Now {
    /// In the function's name.
    Name,
    /// Where a parameter, JSON or the end may come.
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
    Json(Box<Parser>),
}

impl FunctionReader {
    pub(super) fn new() -> FunctionReader {
        FunctionReader { name: String::new(), json: None, parameters: Vec::new(), now: Now::Name }
    }

    /// Takes one character.
    pub(super) fn push(&mut self, c: char) -> Progress<Function> {
        match std::mem::replace(&mut self.now, Now::Between) {
            Now::Name => return self.name(c),
            Now::Between => return self.between(c),
            Now::Mark(mark) => return self.mark(mark, c),
            Now::Parameter(name) if c == '>' && !name.is_empty() => {
                self.now = Now::Value { name, text: String::new() };
            }
            Now::Parameter(mut name) if is_name(c) && name.len() < MAX_NAME => {
                name.push(c);
                self.now = Now::Parameter(name);
            }
            Now::Parameter(_) => return Progress::Broken,
            Now::Value { name, mut text } => {
                text.push(c);
                if c != '>' || !text.ends_with(PARAMETER_END) {
                    self.now = Now::Value { name, text };
                } else if !self.take(name, &text) {
                    return Progress::Broken;
                }
            }
            Now::Json(parser) => return self.json(parser, c),
        }
        Progress::More
    }

    fn name(&mut self, c: char) -> Progress<Function> {
        match c {
            '>' if !self.name.is_empty() => self.now = Now::Between,
            // Some forget the `>`.
            '{' if !self.name.is_empty() => return self.between(c),
            c if is_name(c) && self.name.len() < MAX_NAME => {
                self.name.push(c);
                self.now = Now::Name;
            }
            _other => return Progress::Broken,
        }
        Progress::More
    }

    fn between(&mut self, c: char) -> Progress<Function> {
        match c {
            '<' => self.now = Now::Mark("<".into()),
            '{' if self.json.is_none() && self.parameters.is_empty() => return self.json(Box::default(), c),
            c if c.is_whitespace() => {}
            _other => return Progress::Broken,
        }
        Progress::More
    }

    fn json(&mut self, mut parser: Box<Parser>, c: char) -> Progress<Function> {
        match parser.push(c) {
            Progress::More => self.now = Now::Json(parser),
            Progress::Whole(json) => self.json = Some(json),
            Progress::Broken => match parser.close() {
                Some(json) if c == '<' => {
                    self.json = Some(json);
                    return self.between(c);
                }
                Some(_) | None => return Progress::Broken,
            },
        }
        Progress::More
    }

    fn mark(&mut self, mut mark: String, c: char) -> Progress<Function> {
        mark.push(c);
        if mark == END {
            let (name, parameters) = (std::mem::take(&mut self.name), std::mem::take(&mut self.parameters));
            let input = self.json.take().map_or(Written::Parameters(parameters), Written::Json);
            return Progress::Whole(Function { name, input });
        }
        if mark == PARAMETER && self.json.is_none() {
            self.now = Now::Parameter(String::new());
        } else if END.starts_with(&mark) || PARAMETER.starts_with(&mark) {
            self.now = Now::Mark(mark);
        } else {
            return Progress::Broken;
        }
        Progress::More
    }

    /// Takes a parameter, unless it seems to hold the next one too because its end was forgotten.
    fn take(&mut self, name: String, text: &str) -> bool {
        let text = text.strip_suffix(PARAMETER_END).unwrap_or(text);
        let runs_on = text.contains(PARAMETER) || text.contains(END);
        let again = self.parameters.iter().any(|(known, _)| *known == name);
        if runs_on || again || self.parameters.len() == MAX_PARAMETERS {
            return false;
        }
        // The line breaks beside the marks belong to them.
        let text = text.strip_prefix("\r\n").or(text.strip_prefix('\n')).unwrap_or(text);
        let text = text.strip_suffix("\r\n").or(text.strip_suffix('\n')).unwrap_or(text);
        self.parameters.push((name, text.to_owned()));
        true
    }
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')
}

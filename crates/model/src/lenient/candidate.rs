//! Reads what stands between the marks of a call.

use super::call::{Item, Sign};
use super::function::FunctionReader;
use super::listing::Border;
use super::mark::{CLOSED, FUNCTION, OPENED};
use super::parser::{Parser, Progress};

/// What the calls stand in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Form {
    /// In a listing.
    Listing(Border),
    /// Between `<tool_call>` and its end.
    Tag,
    /// `<function=NAME>…</function>`, alone.
    Function,
    /// After `[TOOL_CALLS]`.
    Bracket,
    /// In nothing: they are the whole answer.
    Bare,
}

/// The inside of a form, under way.
#[derive(Debug)]
pub(super) struct Candidate {
    form: Form,
    sign: Sign,
    items: Vec<Item>,
    now: Now,
}

#[derive(Debug)]
enum Now {
    /// Where a value or the end may come.
    Between,
    Value(Parser),
    /// In a mark that begins with `<`.
    Mark(String),
    Function(FunctionReader),
    /// In the closing border, so many characters of it.
    Run(usize),
}

impl Candidate {
    pub(super) fn new(form: Form, sign: Sign) -> Candidate {
        let now = match form {
            Form::Function => Now::Function(FunctionReader::new()),
            Form::Listing(_) | Form::Tag | Form::Bracket | Form::Bare => Now::Between,
        };
        Candidate { form, sign, items: Vec::new(), now }
    }

    /// What may be a whole answer of JSON, begun with this bracket.
    pub(super) fn bare(bracket: char) -> Candidate {
        let mut candidate = Candidate::new(Form::Bare, Sign::Formed);
        candidate.push(bracket);
        candidate
    }

    pub(super) fn form(&self) -> Form {
        self.form
    }

    /// What was read, and how plainly it is meant as calls.
    pub(super) fn into_items(self) -> (Vec<Item>, Sign) {
        (self.items, self.sign)
    }

    /// Takes one character.
    pub(super) fn push(&mut self, c: char) -> Progress<()> {
        match std::mem::replace(&mut self.now, Now::Between) {
            Now::Between => self.between(c),
            Now::Value(parser) => self.value(parser, c),
            Now::Mark(mark) => self.mark(mark, c),
            Now::Function(reader) => self.function(reader, c),
            Now::Run(run) => self.run(run, c),
        }
    }

    /// What was read, if the answer ends here; the end mark may be missing, and brackets before it.
    pub(super) fn finish(mut self) -> Option<(Vec<Item>, Sign)> {
        match std::mem::replace(&mut self.now, Now::Between) {
            Now::Between | Now::Run(_) => {}
            Now::Value(mut parser) => self.items.push(Item::Json(parser.close()?)),
            Now::Mark(mark) if CLOSED.starts_with(&mark) => {}
            Now::Mark(_) | Now::Function(_) => return None,
        }
        Some(self.into_items())
    }

    fn between(&mut self, c: char) -> Progress<()> {
        match (self.form, c) {
            (_, '{' | '[') => return self.value(Parser::default(), c),
            (_, c) if c.is_whitespace() => {}
            // What stands between two values, or is one bracket too many behind the last.
            (_, ',' | ';' | '}' | ']') if !self.items.is_empty() => {}
            (Form::Listing(_) | Form::Tag, '<') => self.now = Now::Mark("<".into()),
            (Form::Listing(border), c) if c == border.mark => return self.run(0, c),
            (Form::Listing(_) | Form::Tag | Form::Function | Form::Bracket | Form::Bare, _) => return Progress::Broken,
        }
        Progress::More
    }

    fn value(&mut self, mut parser: Parser, c: char) -> Progress<()> {
        match parser.push(c) {
            Progress::More => self.now = Now::Value(parser),
            Progress::Whole(json) => {
                self.items.push(Item::Json(json));
                if self.form == Form::Bracket {
                    return Progress::Whole(());
                }
            }
            Progress::Broken => match parser.close() {
                Some(json) if self.is_end(c) => {
                    self.items.push(Item::Json(json));
                    return self.between(c);
                }
                Some(_) | None => return Progress::Broken,
            },
        }
        Progress::More
    }

    /// Whether the end mark begins with it.
    fn is_end(&self, c: char) -> bool {
        match self.form {
            Form::Listing(border) => c == border.mark,
            Form::Tag => c == '<',
            Form::Function | Form::Bracket | Form::Bare => false,
        }
    }

    fn mark(&mut self, mut mark: String, c: char) -> Progress<()> {
        mark.push(c);
        if mark == CLOSED && self.form == Form::Tag {
            return Progress::Whole(());
        }
        if mark == CLOSED || mark == OPENED {
            // Around calls in a listing, or the next call before the end of the last.
            self.sign = Sign::Marked;
        } else if mark == FUNCTION {
            self.now = Now::Function(FunctionReader::new());
        } else if [CLOSED, OPENED, FUNCTION].iter().any(|known| known.starts_with(&mark)) {
            self.now = Now::Mark(mark);
        } else {
            return Progress::Broken;
        }
        Progress::More
    }

    fn function(&mut self, mut reader: FunctionReader, c: char) -> Progress<()> {
        match reader.push(c) {
            Progress::More => self.now = Now::Function(reader),
            Progress::Whole(function) => {
                self.items.push(Item::Function(function));
                if self.form == Form::Function {
                    return Progress::Whole(());
                }
            }
            Progress::Broken => return Progress::Broken,
        }
        Progress::More
    }

    fn run(&mut self, run: usize, c: char) -> Progress<()> {
        match self.form {
            Form::Listing(border) if c == border.mark && run + 1 == border.length => Progress::Whole(()),
            Form::Listing(border) if c == border.mark => {
                self.now = Now::Run(run + 1);
                Progress::More
            }
            Form::Listing(_) | Form::Tag | Form::Function | Form::Bracket | Form::Bare => Progress::Broken,
        }
    }
}

//! Parses the text between the marks of a call.

use super::call::{CallCertainty, ParsedItem};
use super::code_block::CodeFence;
use super::function_tag::FunctionTagReader;
use super::mark::{CALL_END, CALL_START, FUNCTION_START};
use super::parser::{JsonParser, ParseProgress};

/// The syntax around the calls.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum CallSyntax {
    /// In a code block.
    CodeBlock(CodeFence),
    /// Between `<tool_call>` and its end.
    Tag,
    /// `<function=NAME>…</function>`, alone.
    Function,
    /// After `[TOOL_CALLS]`.
    Bracket,
    /// None: they are the whole answer.
    Bare,
}

/// A possible call while it is parsed.
#[derive(Debug)]
pub(super) struct CallCandidate {
    form: CallSyntax,
    certainty: CallCertainty,
    items: Vec<ParsedItem>,
    state: CandidateState,
}

#[derive(Debug)]
enum CandidateState {
    /// Before a value or the end.
    Between,
    Value(JsonParser),
    /// In a mark that begins with `<`.
    Mark(String),
    Function(FunctionTagReader),
    /// In the closing fence, after this many characters of it.
    ClosingFence(usize),
}

impl CallCandidate {
    pub(super) fn new(form: CallSyntax, sign: CallCertainty) -> CallCandidate {
        let state = match form {
            CallSyntax::Function => CandidateState::Function(FunctionTagReader::new()),
            CallSyntax::CodeBlock(_) | CallSyntax::Tag | CallSyntax::Bracket | CallSyntax::Bare => {
                CandidateState::Between
            }
        };
        CallCandidate { form, certainty: sign, items: Vec::new(), state }
    }

    /// A candidate for an answer of only JSON, which starts with this bracket.
    pub(super) fn bare(bracket: char) -> CallCandidate {
        let mut candidate = CallCandidate::new(CallSyntax::Bare, CallCertainty::WellFormed);
        candidate.push(bracket);
        candidate
    }

    pub(super) fn form(&self) -> CallSyntax {
        self.form
    }

    /// The parsed items, and how certainly they are calls.
    pub(super) fn into_items(self) -> (Vec<ParsedItem>, CallCertainty) {
        (self.items, self.certainty)
    }

    /// Parses one character.
    pub(super) fn push(&mut self, c: char) -> ParseProgress<()> {
        match std::mem::replace(&mut self.state, CandidateState::Between) {
            CandidateState::Between => self.push_between(c),
            CandidateState::Value(parser) => self.push_value(parser, c),
            CandidateState::Mark(mark) => self.push_mark(mark, c),
            CandidateState::Function(reader) => self.push_function(reader, c),
            CandidateState::ClosingFence(run) => self.push_fence(run, c),
        }
    }

    /// The parsed items if the answer ends here; the end mark and closing brackets may be missing.
    pub(super) fn finish(mut self) -> Option<(Vec<ParsedItem>, CallCertainty)> {
        match std::mem::replace(&mut self.state, CandidateState::Between) {
            CandidateState::Between | CandidateState::ClosingFence(_) => {}
            CandidateState::Value(mut parser) => self.items.push(ParsedItem::Json(parser.close_all()?)),
            CandidateState::Mark(mark) if CALL_END.starts_with(&mark) => {}
            CandidateState::Mark(_) | CandidateState::Function(_) => return None,
        }
        Some(self.into_items())
    }

    fn push_between(&mut self, c: char) -> ParseProgress<()> {
        match (self.form, c) {
            (_, '{' | '[') => return self.push_value(JsonParser::default(), c),
            (_, c) if c.is_whitespace() => {}
            // Separators between two values, or an extra bracket after the last.
            (_, ',' | ';' | '}' | ']') if !self.items.is_empty() => {}
            (CallSyntax::CodeBlock(_) | CallSyntax::Tag, '<') => self.state = CandidateState::Mark("<".into()),
            (CallSyntax::CodeBlock(border), c) if c == border.mark => return self.push_fence(0, c),
            (
                CallSyntax::CodeBlock(_)
                | CallSyntax::Tag
                | CallSyntax::Function
                | CallSyntax::Bracket
                | CallSyntax::Bare,
                _,
            ) => return ParseProgress::Invalid,
        }
        ParseProgress::More
    }

    fn push_value(&mut self, mut parser: JsonParser, c: char) -> ParseProgress<()> {
        match parser.push(c) {
            ParseProgress::More => self.state = CandidateState::Value(parser),
            ParseProgress::Complete(json) => {
                self.items.push(ParsedItem::Json(json));
                if self.form == CallSyntax::Bracket {
                    return ParseProgress::Complete(());
                }
            }
            ParseProgress::Invalid => match parser.close_all() {
                Some(json) if self.begins_end_mark(c) => {
                    self.items.push(ParsedItem::Json(json));
                    return self.push_between(c);
                }
                Some(_) | None => return ParseProgress::Invalid,
            },
        }
        ParseProgress::More
    }

    /// Whether the end mark starts with it.
    fn begins_end_mark(&self, c: char) -> bool {
        match self.form {
            CallSyntax::CodeBlock(border) => c == border.mark,
            CallSyntax::Tag => c == '<',
            CallSyntax::Function | CallSyntax::Bracket | CallSyntax::Bare => false,
        }
    }

    fn push_mark(&mut self, mut mark: String, c: char) -> ParseProgress<()> {
        mark.push(c);
        if mark == CALL_END && self.form == CallSyntax::Tag {
            return ParseProgress::Complete(());
        }
        if mark == CALL_END || mark == CALL_START {
            // Around calls in a code block, or the next call before the end of the last.
            self.certainty = CallCertainty::Marked;
        } else if mark == FUNCTION_START {
            self.state = CandidateState::Function(FunctionTagReader::new());
        } else if [CALL_END, CALL_START, FUNCTION_START].iter().any(|known| known.starts_with(&mark)) {
            self.state = CandidateState::Mark(mark);
        } else {
            return ParseProgress::Invalid;
        }
        ParseProgress::More
    }

    fn push_function(&mut self, mut reader: FunctionTagReader, c: char) -> ParseProgress<()> {
        match reader.push(c) {
            ParseProgress::More => self.state = CandidateState::Function(reader),
            ParseProgress::Complete(function) => {
                self.items.push(ParsedItem::Function(function));
                if self.form == CallSyntax::Function {
                    return ParseProgress::Complete(());
                }
            }
            ParseProgress::Invalid => return ParseProgress::Invalid,
        }
        ParseProgress::More
    }

    fn push_fence(&mut self, run: usize, c: char) -> ParseProgress<()> {
        match self.form {
            CallSyntax::CodeBlock(border) if c == border.mark && run + 1 == border.length => {
                ParseProgress::Complete(())
            }
            CallSyntax::CodeBlock(border) if c == border.mark => {
                self.state = CandidateState::ClosingFence(run + 1);
                ParseProgress::More
            }
            CallSyntax::CodeBlock(_)
            | CallSyntax::Tag
            | CallSyntax::Function
            | CallSyntax::Bracket
            | CallSyntax::Bare => ParseProgress::Invalid,
        }
    }
}

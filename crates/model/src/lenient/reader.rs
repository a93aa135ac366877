//! Finds calls in an answer as it arrives.

use std::sync::Arc;

use protocol::StopReason;

use super::call::{self, CallCertainty, ParsedItem, UnknownToolPolicy};
use super::candidate::{CallCandidate, CallSyntax};
use super::code_block::{CodeBlock, CodeFence, FenceLine, FenceOpening};
use super::delta_buffer::DeltaBuffer;
use super::mark::{AnswerPosition, MarkKind};
use super::parser::ParseProgress;
use super::thought::ThoughtReader;
use crate::{Delta, ModelReply, ToolSpec};

/// Maximum bytes held back; an answer that would need more is passed on unchanged.
const MAX_HELD: usize = 1 << 20;

/// The parser of one answer.
#[derive(Debug)]
pub(super) struct CallReader {
    tools: Arc<[ToolSpec]>,
    turn: u32,
    state: CallReaderState,
    /// Undecided text: white space, and possible marks or calls.
    held: String,
    buffer: DeltaBuffer,
    /// Bytes received.
    taken: usize,
}

#[derive(Debug)]
enum CallReaderState {
    Text(AnswerPosition),
    /// In a possible mark, from this byte of `held`.
    Mark(usize, AnswerPosition),
    /// In a possible first line of a code block.
    FirstLine(FenceLine),
    Candidate(Box<CallCandidate>),
    /// In a code block that is not a call.
    Listing(CodeBlock),
    Thought(ThoughtReader),
    /// After a tool result that the model made up: calls that follow do not count.
    AfterResponse,
    /// Everything is passed on unchanged.
    PassThrough,
}

impl CallReader {
    /// Parses the answer of this turn; only calls of these tools count.
    pub(super) fn new(tools: Arc<[ToolSpec]>, turn: u32) -> CallReader {
        let (state, buffer) = (CallReaderState::Text(AnswerPosition::Start), DeltaBuffer::default());
        CallReader { tools, turn, state, held: String::new(), buffer, taken: 0 }
    }

    /// Processes one delta; returns the deltas that can be passed on.
    pub(super) fn read(&mut self, delta: Delta) -> Vec<Delta> {
        self.taken = self.taken.saturating_add(delta.bytes());
        if self.taken > ModelReply::MAX_BYTES {
            // The collector of the answer ends it, since everything is passed on from here.
            self.give_up();
        }
        match delta {
            delta if matches!(self.state, CallReaderState::PassThrough) => self.buffer.delta(delta),
            Delta::Text(text) => text.chars().for_each(|c| self.push(c)),
            Delta::Call(_) => {
                self.give_up();
                self.buffer.delta(delta);
            }
            Delta::Thinking(_) | Delta::Opaque { .. } => {
                self.interrupt();
                self.buffer.delta(delta);
            }
            Delta::Done { stop, usage, model } => {
                let stop = self.finish(stop);
                self.buffer.delta(Delta::Done { stop, usage, model });
            }
        }
        self.buffer.take()
    }

    fn push(&mut self, c: char) {
        self.state = match std::mem::replace(&mut self.state, CallReaderState::PassThrough) {
            CallReaderState::Text(position) => self.text_char(position, c),
            CallReaderState::Mark(from, position) => self.mark(from, position, c),
            CallReaderState::FirstLine(line) => self.first_line(line, c),
            CallReaderState::Candidate(candidate) => self.candidate(candidate, c),
            CallReaderState::Listing(listing) => self.listing(listing, c),
            CallReaderState::Thought(thought) => self.thought(thought, c),
            same @ (CallReaderState::AfterResponse | CallReaderState::PassThrough) => {
                self.buffer.push(c);
                same
            }
        };
        if self.held.len() + self.buffer.waiting() > MAX_HELD {
            self.give_up();
        }
    }

    fn text_char(&mut self, position: AnswerPosition, c: char) -> CallReaderState {
        if c.is_whitespace() && position == AnswerPosition::Thought {
            return CallReaderState::Text(position);
        }
        let from = self.held.len();
        self.held.push(c);
        match c {
            c if c.is_whitespace() => CallReaderState::Text(position),
            '`' | '~' => CallReaderState::FirstLine(FenceLine::new(c)),
            '<' | '[' => CallReaderState::Mark(from, position),
            '{' if position != AnswerPosition::Middle => CallReaderState::Candidate(Box::new(CallCandidate::bare(c))),
            _word => {
                self.release();
                CallReaderState::Text(AnswerPosition::Middle)
            }
        }
    }

    fn mark(&mut self, from: usize, position: AnswerPosition, c: char) -> CallReaderState {
        self.held.push(c);
        let text = &self.held[from..];
        match MarkKind::of(text, position) {
            MarkKind::Partial => CallReaderState::Mark(from, position),
            MarkKind::Call(form) => {
                CallReaderState::Candidate(Box::new(CallCandidate::new(form, CallCertainty::Marked)))
            }
            MarkKind::Thought => {
                self.held.clear();
                CallReaderState::Thought(ThoughtReader::default())
            }
            MarkKind::ThoughtEnd => {
                self.release();
                self.buffer.release_as_text();
                CallReaderState::Text(AnswerPosition::Unmarked)
            }
            MarkKind::Response => {
                self.release();
                if self.buffer.has_calls() {
                    CallReaderState::AfterResponse
                } else {
                    CallReaderState::Text(AnswerPosition::Middle)
                }
            }
            MarkKind::Stray => {
                if self.buffer.append_stray_mark(&self.held) {
                    self.held.clear();
                }
                self.release();
                CallReaderState::Text(AnswerPosition::Middle)
            }
            MarkKind::Nothing => {
                let is_list = text.starts_with('[') && text.chars().count() == 2 && position != AnswerPosition::Middle;
                self.held.pop();
                if is_list { self.candidate(Box::new(CallCandidate::bare('[')), c) } else { self.no_mark(c) }
            }
        }
    }

    fn first_line(&mut self, mut line: FenceLine, c: char) -> CallReaderState {
        match line.push(c) {
            FenceOpening::Partly => {
                self.held.push(c);
                CallReaderState::FirstLine(line)
            }
            FenceOpening::Calls(border, sign) => {
                self.candidate(Box::new(CallCandidate::new(CallSyntax::CodeBlock(border), sign)), c)
            }
            FenceOpening::Listing(border) => self.show(border, c),
            // A mark directly after a single backtick is only text.
            FenceOpening::Nothing if matches!(c, '<' | '[') => {
                self.held.push(c);
                self.release();
                CallReaderState::Text(AnswerPosition::Middle)
            }
            FenceOpening::Nothing => self.no_mark(c),
        }
    }

    fn candidate(&mut self, mut candidate: Box<CallCandidate>, c: char) -> CallReaderState {
        match candidate.push(c) {
            ParseProgress::More => {
                self.held.push(c);
                CallReaderState::Candidate(candidate)
            }
            ParseProgress::Complete(()) => {
                self.held.push(c);
                let unknown = unknown(candidate.form());
                let (items, sign) = candidate.into_items();
                self.decide_calls(items, sign, unknown);
                CallReaderState::Text(AnswerPosition::Middle)
            }
            ParseProgress::Invalid => match candidate.form() {
                CallSyntax::CodeBlock(border) => self.show(border, c),
                CallSyntax::Tag | CallSyntax::Function | CallSyntax::Bracket | CallSyntax::Bare => self.no_mark(c),
            },
        }
    }

    /// Passes the held text on; the character follows it.
    fn no_mark(&mut self, c: char) -> CallReaderState {
        self.release();
        self.text_char(AnswerPosition::Middle, c)
    }

    /// Passes on the held code block, which is not a call; the character is its next.
    fn show(&mut self, border: CodeFence, c: char) -> CallReaderState {
        let listing = CodeBlock::after(border, self.held.trim_start());
        self.release();
        self.listing(listing, c)
    }

    fn listing(&mut self, mut listing: CodeBlock, c: char) -> CallReaderState {
        self.buffer.push(c);
        if listing.push(c) { CallReaderState::Text(AnswerPosition::Middle) } else { CallReaderState::Listing(listing) }
    }

    fn thought(&mut self, mut thought: ThoughtReader, c: char) -> CallReaderState {
        if thought.push(c, &mut self.buffer) {
            CallReaderState::Text(AnswerPosition::Thought)
        } else {
            CallReaderState::Thought(thought)
        }
    }

    /// Passes the held text on.
    fn release(&mut self) {
        self.buffer.text(&self.held);
        self.held.clear();
    }

    /// Decides whether the held text is calls.
    fn decide_calls(&mut self, items: Vec<ParsedItem>, sign: CallCertainty, unknown: UnknownToolPolicy) {
        match call::read(items, sign, unknown, &self.tools) {
            Some(calls) => self.buffer.calls(std::mem::take(&mut self.held), calls),
            None => self.release(),
        }
    }

    /// Handles a delta that is not text: undecided text is not a call.
    fn interrupt(&mut self) {
        self.state = match std::mem::replace(&mut self.state, CallReaderState::PassThrough) {
            CallReaderState::Thought(mut thought) => {
                thought.pass(&mut self.buffer);
                CallReaderState::Thought(thought)
            }
            CallReaderState::Mark(..) | CallReaderState::FirstLine(_) | CallReaderState::Candidate(_) => {
                CallReaderState::Text(AnswerPosition::Middle)
            }
            same @ (CallReaderState::Text(_)
            | CallReaderState::Listing(_)
            | CallReaderState::AfterResponse
            | CallReaderState::PassThrough) => same,
        };
        self.release();
    }

    /// Passes on what is held back and everything that follows.
    fn give_up(&mut self) {
        self.interrupt();
        self.buffer.release_as_text();
        self.state = CallReaderState::PassThrough;
    }

    /// Decides the rest; returns the stop reason.
    fn finish(&mut self, stop: StopReason) -> StopReason {
        match std::mem::replace(&mut self.state, CallReaderState::PassThrough) {
            CallReaderState::Candidate(candidate) => {
                let unknown = unknown(candidate.form());
                if let Some((items, sign)) = candidate.finish() {
                    self.decide_calls(items, sign, unknown);
                }
            }
            CallReaderState::Thought(mut thought) => thought.pass(&mut self.buffer),
            CallReaderState::Text(_)
            | CallReaderState::Mark(..)
            | CallReaderState::FirstLine(_)
            | CallReaderState::Listing(_)
            | CallReaderState::AfterResponse
            | CallReaderState::PassThrough => {}
        }
        self.release();
        self.buffer.finish(stop, self.turn)
    }
}

/// Whether this syntax accepts calls of tools that were not offered.
fn unknown(form: CallSyntax) -> UnknownToolPolicy {
    match form {
        CallSyntax::CodeBlock(_) | CallSyntax::Tag | CallSyntax::Function | CallSyntax::Bracket => {
            UnknownToolPolicy::Accepted
        }
        CallSyntax::Bare => UnknownToolPolicy::BesideKnown,
    }
}

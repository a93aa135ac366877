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
const MAX_HELD_BYTES: usize = 1 << 20;

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
    bytes_received: usize,
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
    OtherCode(CodeBlock),
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
        CallReader { tools, turn, state, held: String::new(), buffer, bytes_received: 0 }
    }

    /// Processes one delta; returns the deltas that can be passed on.
    pub(super) fn read(&mut self, delta: Delta) -> Vec<Delta> {
        self.bytes_received = self.bytes_received.saturating_add(delta.counted_bytes());
        if self.bytes_received > ModelReply::MAX_BYTES {
            // The collector of the answer ends it, since everything is passed on from here.
            self.give_up();
        }
        match delta {
            delta if matches!(self.state, CallReaderState::PassThrough) => self.buffer.push_delta(delta),
            Delta::Text(text) => text.chars().for_each(|c| self.push(c)),
            Delta::Call(_) => {
                self.give_up();
                self.buffer.push_delta(delta);
            }
            Delta::Thinking(_) | Delta::Opaque { .. } => {
                self.interrupt();
                self.buffer.push_delta(delta);
            }
            Delta::Done { stop, usage, model } => {
                let stop = self.finish(stop);
                self.buffer.push_delta(Delta::Done { stop, usage, model });
            }
        }
        self.buffer.take_ready()
    }

    fn push(&mut self, c: char) {
        self.state = match std::mem::replace(&mut self.state, CallReaderState::PassThrough) {
            CallReaderState::Text(position) => self.text_char(position, c),
            CallReaderState::Mark(from, position) => self.mark(from, position, c),
            CallReaderState::FirstLine(line) => self.first_line(line, c),
            CallReaderState::Candidate(candidate) => self.candidate(candidate, c),
            CallReaderState::OtherCode(listing) => self.listing(listing, c),
            CallReaderState::Thought(thought) => self.thought(thought, c),
            same @ (CallReaderState::AfterResponse | CallReaderState::PassThrough) => {
                self.buffer.push(c);
                same
            }
        };
        if self.held.len() + self.buffer.waiting() > MAX_HELD_BYTES {
            self.give_up();
        }
    }

    fn text_char(&mut self, position: AnswerPosition, c: char) -> CallReaderState {
        if c.is_whitespace() && position == AnswerPosition::AfterThought {
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
        match MarkKind::classify(text, position) {
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
                CallReaderState::Text(AnswerPosition::AfterUnmarkedThought)
            }
            MarkKind::Response => {
                self.release();
                if self.buffer.has_calls() {
                    CallReaderState::AfterResponse
                } else {
                    CallReaderState::Text(AnswerPosition::Middle)
                }
            }
            MarkKind::StrayCallEnd => {
                if self.buffer.append_stray_mark(&self.held) {
                    self.held.clear();
                }
                self.release();
                CallReaderState::Text(AnswerPosition::Middle)
            }
            MarkKind::Nothing => {
                let is_list = text.starts_with('[') && text.chars().count() == 2 && position != AnswerPosition::Middle;
                self.held.pop();
                if is_list { self.candidate(Box::new(CallCandidate::bare('[')), c) } else { self.release_as_text(c) }
            }
        }
    }

    fn first_line(&mut self, mut line: FenceLine, c: char) -> CallReaderState {
        match line.push(c) {
            FenceOpening::Partial => {
                self.held.push(c);
                CallReaderState::FirstLine(line)
            }
            FenceOpening::Calls(border, certainty) => {
                self.candidate(Box::new(CallCandidate::new(CallSyntax::CodeBlock(border), certainty)), c)
            }
            FenceOpening::OtherCode(border) => self.release_code_block(border, c),
            // A mark directly after a single backtick is only text.
            FenceOpening::Nothing if matches!(c, '<' | '[') => {
                self.held.push(c);
                self.release();
                CallReaderState::Text(AnswerPosition::Middle)
            }
            FenceOpening::Nothing => self.release_as_text(c),
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
                let unknown = unknown_tool_policy(candidate.form());
                let (items, certainty) = candidate.into_items();
                self.decide_calls(items, certainty, unknown);
                CallReaderState::Text(AnswerPosition::Middle)
            }
            ParseProgress::Invalid => match candidate.form() {
                CallSyntax::CodeBlock(border) => self.release_code_block(border, c),
                CallSyntax::Tag | CallSyntax::Function | CallSyntax::Bracket | CallSyntax::Bare => {
                    self.release_as_text(c)
                }
            },
        }
    }

    /// Passes on the held text, which is not a call, and parses the character after it.
    fn release_as_text(&mut self, c: char) -> CallReaderState {
        self.release();
        self.text_char(AnswerPosition::Middle, c)
    }

    /// Passes on the held code block, which is not a call, and parses its next character.
    fn release_code_block(&mut self, border: CodeFence, c: char) -> CallReaderState {
        let listing = CodeBlock::after_text(border, self.held.trim_start());
        self.release();
        self.listing(listing, c)
    }

    fn listing(&mut self, mut listing: CodeBlock, c: char) -> CallReaderState {
        self.buffer.push(c);
        if listing.push(c) {
            CallReaderState::Text(AnswerPosition::Middle)
        } else {
            CallReaderState::OtherCode(listing)
        }
    }

    fn thought(&mut self, mut thought: ThoughtReader, c: char) -> CallReaderState {
        if thought.push(c, &mut self.buffer) {
            CallReaderState::Text(AnswerPosition::AfterThought)
        } else {
            CallReaderState::Thought(thought)
        }
    }

    /// Passes the held text on.
    fn release(&mut self) {
        self.buffer.push_text(&self.held);
        self.held.clear();
    }

    /// Decides whether the held text is calls.
    fn decide_calls(&mut self, items: Vec<ParsedItem>, certainty: CallCertainty, unknown: UnknownToolPolicy) {
        match call::read_calls(items, certainty, unknown, &self.tools) {
            Some(calls) => self.buffer.push_calls(std::mem::take(&mut self.held), calls),
            None => self.release(),
        }
    }

    /// Handles a delta that is not text: undecided text is not a call.
    fn interrupt(&mut self) {
        self.state = match std::mem::replace(&mut self.state, CallReaderState::PassThrough) {
            CallReaderState::Thought(mut thought) => {
                thought.pass_on(&mut self.buffer);
                CallReaderState::Thought(thought)
            }
            CallReaderState::Mark(..) | CallReaderState::FirstLine(_) | CallReaderState::Candidate(_) => {
                CallReaderState::Text(AnswerPosition::Middle)
            }
            same @ (CallReaderState::Text(_)
            | CallReaderState::OtherCode(_)
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
                let unknown = unknown_tool_policy(candidate.form());
                if let Some((items, certainty)) = candidate.finish() {
                    self.decide_calls(items, certainty, unknown);
                }
            }
            CallReaderState::Thought(mut thought) => thought.pass_on(&mut self.buffer),
            CallReaderState::Text(_)
            | CallReaderState::Mark(..)
            | CallReaderState::FirstLine(_)
            | CallReaderState::OtherCode(_)
            | CallReaderState::AfterResponse
            | CallReaderState::PassThrough => {}
        }
        self.release();
        self.buffer.finish(stop, self.turn)
    }
}

/// Whether this syntax accepts calls of tools that were not offered.
fn unknown_tool_policy(form: CallSyntax) -> UnknownToolPolicy {
    match form {
        CallSyntax::CodeBlock(_) | CallSyntax::Tag | CallSyntax::Function | CallSyntax::Bracket => {
            UnknownToolPolicy::Accepted
        }
        CallSyntax::Bare => UnknownToolPolicy::BesideKnown,
    }
}

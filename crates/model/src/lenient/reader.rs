//! Finds calls in an answer while it arrives.

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

/// Most bytes that are held back; an answer that would need more is passed on as it is.
const MAX_HELD: usize = 1 << 20;

/// An answer under way.
#[derive(Debug)]
pub(super) struct CallReader {
    tools: Arc<[ToolSpec]>,
    turn: u32,
    state: CallReaderState,
    /// What is not decided: white space, and what may be a mark or a call.
    held: String,
    buffer: DeltaBuffer,
    /// Bytes that came.
    taken: usize,
}

#[derive(Debug)]
enum CallReaderState {
    Text(AnswerPosition),
    /// In what may be a mark, from this byte of what is held.
    Mark(usize, AnswerPosition),
    /// In what may be the first line of a listing.
    FirstLine(FenceLine),
    Candidate(Box<CallCandidate>),
    /// In one that is not a call.
    Listing(CodeBlock),
    Thought(ThoughtReader),
    /// Behind an answer that the model made up: what follows from it counts for nothing.
    AfterResponse,
    /// Everything is passed on as it comes.
    PassThrough,
}

impl CallReader {
    /// Reads the answer that is this turn; only calls of these tools count.
    pub(super) fn new(tools: Arc<[ToolSpec]>, turn: u32) -> CallReader {
        let (state, flow) = (CallReaderState::Text(AnswerPosition::Start), DeltaBuffer::default());
        CallReader { tools, turn, state, held: String::new(), buffer: flow, taken: 0 }
    }

    /// Takes one piece; what can be passed on.
    pub(super) fn read(&mut self, delta: Delta) -> Vec<Delta> {
        self.taken = self.taken.saturating_add(delta.bytes());
        if self.taken > ModelReply::MAX_BYTES {
            // Whoever collects the answer ends it, since from here on nothing is left out.
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
            CallReaderState::Text(position) => self.words(position, c),
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

    fn words(&mut self, position: AnswerPosition, c: char) -> CallReaderState {
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
                self.candidate(Box::new(CallCandidate::new(CallSyntax::Listing(border), sign)), c)
            }
            FenceOpening::Listing(border) => self.show(border, c),
            // A mark right behind a single backtick is only shown.
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
                self.settle(items, sign, unknown);
                CallReaderState::Text(AnswerPosition::Middle)
            }
            ParseProgress::Invalid => match candidate.form() {
                CallSyntax::Listing(border) => self.show(border, c),
                CallSyntax::Tag | CallSyntax::Function | CallSyntax::Bracket | CallSyntax::Bare => self.no_mark(c),
            },
        }
    }

    /// What is held is text, and the character comes after it.
    fn no_mark(&mut self, c: char) -> CallReaderState {
        self.release();
        self.words(AnswerPosition::Middle, c)
    }

    /// The listing that is held is not a call; the character is its next.
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

    /// What is held is text.
    fn release(&mut self) {
        self.buffer.text(&self.held);
        self.held.clear();
    }

    /// What is held is the whole of this: calls, or text.
    fn settle(&mut self, items: Vec<ParsedItem>, sign: CallCertainty, unknown: UnknownToolPolicy) {
        match call::read(items, sign, unknown, &self.tools) {
            Some(calls) => self.buffer.calls(std::mem::take(&mut self.held), calls),
            None => self.release(),
        }
    }

    /// Something else than text comes in between: what is not decided is not a call.
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

    /// Passes on what is held back and whatever comes.
    fn give_up(&mut self) {
        self.interrupt();
        self.buffer.release_as_text();
        self.state = CallReaderState::PassThrough;
    }

    /// Decides what is left; why the model stopped.
    fn finish(&mut self, stop: StopReason) -> StopReason {
        match std::mem::replace(&mut self.state, CallReaderState::PassThrough) {
            CallReaderState::Candidate(candidate) => {
                let unknown = unknown(candidate.form());
                if let Some((items, sign)) = candidate.finish() {
                    self.settle(items, sign, unknown);
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

/// Whether a call of a tool that was not offered is a call where this stands.
fn unknown(form: CallSyntax) -> UnknownToolPolicy {
    match form {
        CallSyntax::Listing(_) | CallSyntax::Tag | CallSyntax::Function | CallSyntax::Bracket => {
            UnknownToolPolicy::Accepted
        }
        CallSyntax::Bare => UnknownToolPolicy::BesideKnown,
    }
}

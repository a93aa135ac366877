//! Finds calls in an answer while it arrives.

use std::sync::Arc;

use protocol::StopReason;

use super::call::{self, Item, Sign, Unknown};
use super::candidate::{Candidate, Form};
use super::flow::Flow;
use super::listing::{Border, FirstLine, Listing, Opened};
use super::mark::{Opening, Position};
use super::parser::Progress;
use super::thought::Thought;
use crate::{Delta, Reply, ToolSpec};

/// Most bytes that are held back; an answer that would need more is passed on as it is.
const MAX_HELD: usize = 1 << 20;

/// An answer under way.
#[derive(Debug)]
pub(super) struct Reader {
    tools: Arc<[ToolSpec]>,
    turn: u32,
    state: State,
    /// What is not decided: white space, and what may be a mark or a call.
    held: String,
    flow: Flow,
    /// Bytes that came.
    taken: usize,
}

#[derive(Debug)]
enum State {
    Words(Position),
    /// In what may be a mark, from this byte of what is held.
    Mark(usize, Position),
    /// In what may be the first line of a listing.
    FirstLine(FirstLine),
    Candidate(Box<Candidate>),
    /// In one that is no call.
    Listing(Listing),
    Thought(Thought),
    /// Behind an answer that the model made up: what follows from it counts for nothing.
    Rest,
    /// Everything is passed on as it comes.
    Through,
}

impl Reader {
    /// Reads the answer that is this turn; only calls of these tools count.
    pub(super) fn new(tools: Arc<[ToolSpec]>, turn: u32) -> Reader {
        let (state, flow) = (State::Words(Position::Start), Flow::default());
        Reader { tools, turn, state, held: String::new(), flow, taken: 0 }
    }

    /// Takes one piece; what can be passed on.
    pub(super) fn read(&mut self, delta: Delta) -> Vec<Delta> {
        self.taken = self.taken.saturating_add(delta.bytes());
        if self.taken > Reply::MAX_BYTES {
            // Whoever collects the answer ends it, since from here on nothing is left out.
            self.give_up();
        }
        match delta {
            delta if matches!(self.state, State::Through) => self.flow.delta(delta),
            Delta::Text(text) => text.chars().for_each(|c| self.push(c)),
            Delta::Call(_) => {
                self.give_up();
                self.flow.delta(delta);
            }
            Delta::Thinking(_) | Delta::Opaque { .. } => {
                self.interrupt();
                self.flow.delta(delta);
            }
            Delta::Done { stop, usage, model } => {
                let stop = self.finish(stop);
                self.flow.delta(Delta::Done { stop, usage, model });
            }
        }
        self.flow.take()
    }

    fn push(&mut self, c: char) {
        self.state = match std::mem::replace(&mut self.state, State::Through) {
            State::Words(position) => self.words(position, c),
            State::Mark(from, position) => self.mark(from, position, c),
            State::FirstLine(line) => self.first_line(line, c),
            State::Candidate(candidate) => self.candidate(candidate, c),
            State::Listing(listing) => self.listing(listing, c),
            State::Thought(thought) => self.thought(thought, c),
            same @ (State::Rest | State::Through) => {
                self.flow.push(c);
                same
            }
        };
        if self.held.len() + self.flow.waiting() > MAX_HELD {
            self.give_up();
        }
    }

    fn words(&mut self, position: Position, c: char) -> State {
        if c.is_whitespace() && position == Position::Thought {
            return State::Words(position);
        }
        let from = self.held.len();
        self.held.push(c);
        match c {
            c if c.is_whitespace() => State::Words(position),
            '`' | '~' => State::FirstLine(FirstLine::new(c)),
            '<' | '[' => State::Mark(from, position),
            '{' if position != Position::Middle => State::Candidate(Box::new(Candidate::bare(c))),
            _word => {
                self.release();
                State::Words(Position::Middle)
            }
        }
    }

    fn mark(&mut self, from: usize, position: Position, c: char) -> State {
        self.held.push(c);
        let text = &self.held[from..];
        match Opening::of(text, position) {
            Opening::Partial => State::Mark(from, position),
            Opening::Call(form) => State::Candidate(Box::new(Candidate::new(form, Sign::Marked))),
            Opening::Thought => {
                self.held.clear();
                State::Thought(Thought::default())
            }
            Opening::ThoughtEnd => {
                self.release();
                self.flow.leave();
                State::Words(Position::Unmarked)
            }
            Opening::Response => {
                self.release();
                if self.flow.has_calls() { State::Rest } else { State::Words(Position::Middle) }
            }
            Opening::Stray => {
                if self.flow.stray(&self.held) {
                    self.held.clear();
                }
                self.release();
                State::Words(Position::Middle)
            }
            Opening::Nothing => {
                let is_list = text.starts_with('[') && text.chars().count() == 2 && position != Position::Middle;
                self.held.pop();
                if is_list { self.candidate(Box::new(Candidate::bare('[')), c) } else { self.no_mark(c) }
            }
        }
    }

    fn first_line(&mut self, mut line: FirstLine, c: char) -> State {
        match line.push(c) {
            Opened::Partly => {
                self.held.push(c);
                State::FirstLine(line)
            }
            Opened::Calls(border, sign) => self.candidate(Box::new(Candidate::new(Form::Listing(border), sign)), c),
            Opened::Listing(border) => self.show(border, c),
            // A mark right behind a single backtick is only shown.
            Opened::Nothing if matches!(c, '<' | '[') => {
                self.held.push(c);
                self.release();
                State::Words(Position::Middle)
            }
            Opened::Nothing => self.no_mark(c),
        }
    }

    fn candidate(&mut self, mut candidate: Box<Candidate>, c: char) -> State {
        match candidate.push(c) {
            Progress::More => {
                self.held.push(c);
                State::Candidate(candidate)
            }
            Progress::Whole(()) => {
                self.held.push(c);
                let unknown = unknown(candidate.form());
                let (items, sign) = candidate.into_items();
                self.settle(items, sign, unknown);
                State::Words(Position::Middle)
            }
            Progress::Broken => match candidate.form() {
                Form::Listing(border) => self.show(border, c),
                Form::Tag | Form::Function | Form::Bracket | Form::Bare => self.no_mark(c),
            },
        }
    }

    /// What is held is text, and the character comes after it.
    fn no_mark(&mut self, c: char) -> State {
        self.release();
        self.words(Position::Middle, c)
    }

    /// The listing that is held is no call; the character is its next.
    fn show(&mut self, border: Border, c: char) -> State {
        let listing = Listing::after(border, self.held.trim_start());
        self.release();
        self.listing(listing, c)
    }

    fn listing(&mut self, mut listing: Listing, c: char) -> State {
        self.flow.push(c);
        if listing.push(c) { State::Words(Position::Middle) } else { State::Listing(listing) }
    }

    fn thought(&mut self, mut thought: Thought, c: char) -> State {
        if thought.push(c, &mut self.flow) { State::Words(Position::Thought) } else { State::Thought(thought) }
    }

    /// What is held is text.
    fn release(&mut self) {
        self.flow.text(&self.held);
        self.held.clear();
    }

    /// What is held is the whole of this: calls, or text.
    fn settle(&mut self, items: Vec<Item>, sign: Sign, unknown: Unknown) {
        match call::read(items, sign, unknown, &self.tools) {
            Some(calls) => self.flow.calls(std::mem::take(&mut self.held), calls),
            None => self.release(),
        }
    }

    /// Something else than text comes in between: what is not decided is no call.
    fn interrupt(&mut self) {
        self.state = match std::mem::replace(&mut self.state, State::Through) {
            State::Thought(mut thought) => {
                thought.pass(&mut self.flow);
                State::Thought(thought)
            }
            State::Mark(..) | State::FirstLine(_) | State::Candidate(_) => State::Words(Position::Middle),
            same @ (State::Words(_) | State::Listing(_) | State::Rest | State::Through) => same,
        };
        self.release();
    }

    /// Passes on what is held back and whatever comes.
    fn give_up(&mut self) {
        self.interrupt();
        self.flow.leave();
        self.state = State::Through;
    }

    /// Decides what is left; why the model stopped.
    fn finish(&mut self, stop: StopReason) -> StopReason {
        match std::mem::replace(&mut self.state, State::Through) {
            State::Candidate(candidate) => {
                let unknown = unknown(candidate.form());
                if let Some((items, sign)) = candidate.finish() {
                    self.settle(items, sign, unknown);
                }
            }
            State::Thought(mut thought) => thought.pass(&mut self.flow),
            State::Words(_)
            | State::Mark(..)
            | State::FirstLine(_)
            | State::Listing(_)
            | State::Rest
            | State::Through => {}
        }
        self.release();
        self.flow.finish(stop, self.turn)
    }
}

/// Whether a call of a tool that was not offered is a call where this stands.
fn unknown(form: Form) -> Unknown {
    match form {
        Form::Listing(_) | Form::Tag | Form::Function | Form::Bracket => Unknown::Called,
        Form::Bare => Unknown::Beside,
    }
}

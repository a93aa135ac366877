//! Finds calls in an answer while it arrives.

use std::sync::Arc;

use protocol::StopReason;

use super::body::{Body, Form};
use super::call::{self, Item, Sign};
use super::fence::{Code, Fence, FirstLine, Opened};
use super::mark::{Opening, Place};
use super::output::Output;
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
    output: Output,
    /// Bytes that came.
    taken: usize,
}

#[derive(Debug)]
enum State {
    Words(Place),
    /// In what may be a mark, from this byte of what is held.
    Mark(usize, Place),
    /// In what may be the first line of a block.
    FirstLine(FirstLine),
    Body(Box<Body>),
    /// In a block that is no call.
    Code(Code),
    Thought(Thought),
    /// Everything is passed on as it comes.
    Through,
}

impl Reader {
    /// Reads the answer that is this turn; only calls of these tools count.
    pub(super) fn new(tools: Arc<[ToolSpec]>, turn: u32) -> Reader {
        let (state, output) = (State::Words(Place::Start), Output::default());
        Reader { tools, turn, state, held: String::new(), output, taken: 0 }
    }

    /// Takes one piece; what can be passed on.
    pub(super) fn read(&mut self, delta: Delta) -> Vec<Delta> {
        self.taken = self.taken.saturating_add(delta.bytes());
        if self.taken > Reply::MAX_BYTES {
            // Whoever collects the answer ends it, since from here on nothing is left out.
            self.give_up();
        }
        match delta {
            delta if matches!(self.state, State::Through) => self.output.delta(delta),
            Delta::Text(text) => text.chars().for_each(|c| self.push(c)),
            Delta::Call(_) => {
                self.give_up();
                self.output.delta(delta);
            }
            Delta::Thinking(_) | Delta::Opaque { .. } => {
                self.interrupt();
                self.output.delta(delta);
            }
            Delta::Done { stop, usage, model } => {
                let stop = self.finish(stop);
                self.output.delta(Delta::Done { stop, usage, model });
            }
        }
        self.output.take()
    }

    fn push(&mut self, c: char) {
        self.state = match std::mem::replace(&mut self.state, State::Through) {
            State::Words(place) => self.words(place, c),
            State::Mark(from, place) => self.mark(from, place, c),
            State::FirstLine(line) => self.first_line(line, c),
            State::Body(body) => self.body(body, c),
            State::Code(code) => self.code(code, c),
            State::Thought(thought) => self.thought(thought, c),
            State::Through => {
                self.output.push(c);
                State::Through
            }
        };
        if self.held.len() + self.output.waiting() > MAX_HELD {
            self.give_up();
        }
    }

    fn words(&mut self, place: Place, c: char) -> State {
        if c.is_whitespace() && place == Place::Thought {
            return State::Words(place);
        }
        let from = self.held.len();
        self.held.push(c);
        match c {
            c if c.is_whitespace() => State::Words(place),
            '`' | '~' => State::FirstLine(FirstLine::new(c)),
            '<' | '[' => State::Mark(from, place),
            '{' if place != Place::Middle => State::Body(Box::new(Body::bare(c))),
            _word => {
                self.release();
                State::Words(Place::Middle)
            }
        }
    }

    fn mark(&mut self, from: usize, place: Place, c: char) -> State {
        self.held.push(c);
        let text = &self.held[from..];
        match Opening::of(text, place) {
            Opening::Partial => State::Mark(from, place),
            Opening::Call(form) => State::Body(Box::new(Body::new(form, Sign::Marked))),
            Opening::Thought => {
                self.held.clear();
                State::Thought(Thought::default())
            }
            Opening::Stray => {
                if self.output.stray(&self.held) {
                    self.held.clear();
                }
                self.release();
                State::Words(Place::Middle)
            }
            Opening::Nothing => {
                let is_list = text.starts_with('[') && text.chars().count() == 2 && place != Place::Middle;
                self.held.pop();
                if is_list { self.body(Box::new(Body::bare('[')), c) } else { self.no_mark(c) }
            }
        }
    }

    fn first_line(&mut self, mut line: FirstLine, c: char) -> State {
        match line.push(c) {
            Opened::Partly => {
                self.held.push(c);
                State::FirstLine(line)
            }
            Opened::Calls(fence, sign) => self.body(Box::new(Body::new(Form::Fence(fence), sign)), c),
            Opened::Code(fence) => self.show(fence, c),
            // A mark right behind a single backtick is only shown.
            Opened::Nothing if matches!(c, '<' | '[') => {
                self.held.push(c);
                self.release();
                State::Words(Place::Middle)
            }
            Opened::Nothing => self.no_mark(c),
        }
    }

    fn body(&mut self, mut body: Box<Body>, c: char) -> State {
        match body.push(c) {
            Progress::More => {
                self.held.push(c);
                State::Body(body)
            }
            Progress::Whole(()) => {
                self.held.push(c);
                let (items, sign) = body.into_items();
                self.settle(items, sign);
                State::Words(Place::Middle)
            }
            Progress::Broken => match body.form() {
                Form::Fence(fence) => self.show(fence, c),
                Form::Tag | Form::Function | Form::Bracket | Form::Bare => self.no_mark(c),
            },
        }
    }

    /// What is held is text, and the character comes after it.
    fn no_mark(&mut self, c: char) -> State {
        self.release();
        self.words(Place::Middle, c)
    }

    /// The block that is held is no call; the character is its next.
    fn show(&mut self, fence: Fence, c: char) -> State {
        let code = Code::after(fence, self.held.trim_start());
        self.release();
        self.code(code, c)
    }

    fn code(&mut self, mut code: Code, c: char) -> State {
        self.output.push(c);
        if code.push(c) { State::Words(Place::Middle) } else { State::Code(code) }
    }

    fn thought(&mut self, mut thought: Thought, c: char) -> State {
        if thought.push(c, &mut self.output) { State::Words(Place::Thought) } else { State::Thought(thought) }
    }

    /// What is held is text.
    fn release(&mut self) {
        self.output.text(&self.held);
        self.held.clear();
    }

    /// What is held is the whole of this: calls, or text.
    fn settle(&mut self, items: Vec<Item>, sign: Sign) {
        match call::read(items, sign, &self.tools) {
            Some(calls) => self.output.calls(std::mem::take(&mut self.held), calls),
            None => self.release(),
        }
    }

    /// Something else than text comes in between: what is not decided is no call.
    fn interrupt(&mut self) {
        self.state = match std::mem::replace(&mut self.state, State::Through) {
            State::Thought(mut thought) => {
                thought.pass(&mut self.output);
                State::Thought(thought)
            }
            State::Mark(..) | State::FirstLine(_) | State::Body(_) => State::Words(Place::Middle),
            same @ (State::Words(_) | State::Code(_) | State::Through) => same,
        };
        self.release();
    }

    /// Passes on what is held back and whatever comes.
    fn give_up(&mut self) {
        self.interrupt();
        self.output.leave();
        self.state = State::Through;
    }

    /// Decides what is left; why the model stopped.
    fn finish(&mut self, stop: StopReason) -> StopReason {
        match std::mem::replace(&mut self.state, State::Through) {
            State::Body(body) => {
                if let Some((items, sign)) = body.finish() {
                    self.settle(items, sign);
                }
            }
            State::Thought(mut thought) => thought.pass(&mut self.output),
            State::Words(_) | State::Mark(..) | State::FirstLine(_) | State::Code(_) | State::Through => {}
        }
        self.release();
        self.output.finish(stop, self.turn)
    }
}

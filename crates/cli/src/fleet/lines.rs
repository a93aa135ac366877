//! What a person sees while a fleet works: the fleet's own view, and besides it what the main agent does and what goes
//! wrong.

use std::path::PathBuf;
use std::sync::Arc;

use config::Env;
use protocol::{Event, FleetEnd, TaskId};
use runtime::{FleetMemory, Live, Session};
use store::{Reader, StoreError};

use crate::args::Format;
use crate::failure::Failure;
use crate::live::{Board, View};
use crate::run::{Show, Signal, show};
use crate::setup::Setup;
use crate::talk::{Prompter, Shown, Surface, Typed};

/// What a person sees of a fleet.
#[derive(Debug)]
pub(super) struct Lines<'a> {
    view: View,
    root: TaskId,
    /// What was done before, and why it is done again.
    memory: Option<Arc<FleetMemory>>,
    /// Whoever can be asked at this terminal.
    prompter: Option<Prompter<'a>>,
}

impl<'a> Lines<'a> {
    /// What is seen of a fleet in this session, from the events on that this process brings.
    pub(super) fn new(session: &Session, env: &Env, format: Format, quiet: bool) -> Result<Lines<'a>, StoreError> {
        let show = match (format, quiet) {
            (Format::Jsonl, _) => Show::Events,
            (Format::Text | Format::Json, true) => Show::Nothing,
            (Format::Text | Format::Json, false) => Show::Lines,
        };
        let board = Board::read_until(&Reader::open(session.home(), session.id())?, session.first_seq())?;
        Ok(Lines { view: View::new(board, show, env), root: session.root(), memory: None, prompter: None })
    }

    /// The same for a fleet that knows what was done before.
    pub(super) fn remembering(self, memory: Option<Arc<FleetMemory>>) -> Lines<'a> {
        Lines { memory, ..self }
    }

    /// The same, and asks somebody below the picture, if there is a picture and somebody.
    pub(super) fn asking(mut self, session: &Session, setup: Option<(&'a Setup, PathBuf)>) -> Lines<'a> {
        if let Some((setup, cwd)) = setup.filter(|_| self.view.is_picture()) {
            self.prompter = Prompter::meet(setup, session, cwd, Surface::Picture);
            self.draw_asked();
        }
        self
    }

    /// What the person does next who is asked; nothing while nobody is.
    pub(super) async fn typed(&mut self) -> Typed {
        match &mut self.prompter {
            Some(prompter) => prompter.next().await,
            None => std::future::pending().await,
        }
    }

    /// Acts on it; gives what the whole fleet is asked for.
    pub(super) async fn take(&mut self, typed: Typed, session: &Session) -> Result<Option<Signal>, Failure> {
        let Some(prompter) = &mut self.prompter else { return Ok(None) };
        let signal = prompter.take(typed, session).await;
        self.draw_asked();
        signal
    }

    fn draw_asked(&mut self) {
        let Some(prompter) = &mut self.prompter else { return };
        let (above, foot) = prompter.below();
        self.view.draw_with(above, foot);
    }

    /// Whether what happened is a question that is asked here.
    fn asks(&mut self, live: &Live, task: TaskId) -> bool {
        let Some(prompter) = &mut self.prompter else { return false };
        let shown = prompter.live(live, self.view.todo_of(task));
        if prompter.has_changed() {
            self.draw_asked();
        }
        shown == Shown::Here
    }

    /// Tells what happened.
    pub(super) fn live(&mut self, live: &Live) {
        self.view.live(live);
        let Live::Event(envelope) = live else { return };
        let task = envelope.entry.task;
        if self.asks(live, task) {
            return;
        }
        match &envelope.entry.event {
            // What each worker does would be too much; what the main agent does is the plan.
            Event::TurnAnswered { .. } | Event::CallAnswered { .. } if task != self.root => {}
            Event::TodoClaimed { todo, .. } => {
                let why = self.memory.as_ref().and_then(|memory| memory.why(todo));
                why.into_iter().for_each(|why| self.view.say(task, &format!("again: {why}")));
            }
            event => show::lines(event).iter().for_each(|line| self.view.say(task, line)),
        }
    }

    /// Time goes on.
    pub(super) fn tick(&mut self) {
        self.view.tick();
    }

    /// Nothing comes any more: the terminal is given back.
    pub(super) fn end(&mut self) {
        if self.prompter.take().is_some() {
            self.view.draw_with(Vec::new(), None);
        }
        self.view.end();
    }
}

/// How a fleet ended, in words.
pub(super) fn ended(end: FleetEnd) -> &'static str {
    match end {
        FleetEnd::Done => "everything is done",
        FleetEnd::Blocked => "some todos are blocked",
        FleetEnd::Stopped => "stopped",
    }
}

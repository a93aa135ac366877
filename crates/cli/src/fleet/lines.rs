//! What a person sees while a fleet works: the fleet's own view, and besides it what the main agent does and what goes
//! wrong.

use std::sync::Arc;

use config::Env;
use protocol::{Event, FleetEnd, TaskId};
use runtime::{FleetMemory, Live, Session};
use store::{Reader, StoreError};

use crate::args::Format;
use crate::live::{Board, View};
use crate::run::{Show, show};

/// What a person sees of a fleet.
#[derive(Debug)]
pub(super) struct Lines {
    view: View,
    root: TaskId,
    /// What was done before, and why it is done again.
    memory: Option<Arc<FleetMemory>>,
}

impl Lines {
    /// What is seen of a fleet in this session, from the events on that this process brings.
    pub(super) fn new(session: &Session, env: &Env, format: Format, quiet: bool) -> Result<Lines, StoreError> {
        let show = match (format, quiet) {
            (Format::Jsonl, _) => Show::Events,
            (Format::Text | Format::Json, true) => Show::Nothing,
            (Format::Text | Format::Json, false) => Show::Lines,
        };
        let board = Board::read_until(&Reader::open(session.home(), session.id())?, session.first_seq())?;
        Ok(Lines { view: View::new(board, show, env), root: session.root(), memory: None })
    }

    /// The same for a fleet that knows what was done before.
    pub(super) fn remembering(self, memory: Option<Arc<FleetMemory>>) -> Lines {
        Lines { memory, ..self }
    }

    /// Tells what happened.
    pub(super) fn live(&mut self, live: &Live) {
        self.view.live(live);
        let Live::Event(envelope) = live else { return };
        let task = envelope.entry.task;
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

    /// Nothing comes any more.
    pub(super) fn end(&mut self) {
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

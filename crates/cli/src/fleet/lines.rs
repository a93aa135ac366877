//! What a person sees while a fleet works, where there is no live view: one line for each thing that moves.

use std::collections::BTreeMap;

use protocol::{Event, FleetEnd, TaskId, TodoId};
use runtime::{Live, Session};

use crate::args::Format;
use crate::print;
use crate::run::{Show, show};

/// Most letters of a title, and of a reason.
const TITLE: usize = 60;
const REASON: usize = 160;

/// The lines of a fleet.
pub(super) struct Lines {
    show: Show,
    root: TaskId,
    titles: BTreeMap<TodoId, String>,
}

impl Lines {
    pub(super) fn new(session: &Session, format: Format, quiet: bool) -> Lines {
        let show = match (format, quiet) {
            (Format::Jsonl, _) => Show::Events,
            (Format::Text | Format::Json, true) => Show::Nothing,
            (Format::Text | Format::Json, false) => Show::Lines,
        };
        let known = store::Reader::open(session.home(), session.id()).and_then(|reader| reader.todos());
        let titles = known.unwrap_or_default().into_iter().map(|row| (row.todo.id, row.todo.title)).collect();
        Lines { show, root: session.root(), titles }
    }

    /// Tells what happened.
    pub(super) fn live(&mut self, live: &Live) {
        let Live::Event(envelope) = live else { return };
        match self.show {
            Show::Nothing => {}
            Show::Events => print::json(&**envelope),
            Show::Lines => {
                self.lines(envelope.entry.task, &envelope.entry.event).iter().for_each(print::note);
            }
        }
    }

    fn lines(&mut self, task: TaskId, event: &Event) -> Vec<String> {
        match event {
            Event::TodosChanged { changed, .. } => {
                self.titles.extend(changed.iter().map(|todo| (todo.id.clone(), todo.title.clone())));
                Vec::new()
            }
            Event::FleetBegan(terms) => vec![format!("fleet: {}", short(&terms.goal, REASON))],
            Event::TodoClaimed { todo, .. } => vec![format!("> {}: {}", self.name(todo), self.title(todo))],
            Event::TodoDone { todo, fence: Some(_) } => vec![format!("+ {} is done", self.name(todo))],
            Event::TodoDone { todo, fence: None } => vec![format!("+ {} was done before", self.name(todo))],
            Event::TodoReturned { todo, failure: Some(failure), .. } => {
                vec![format!("~ {} is tried again: {}", self.name(todo), short(failure, REASON))]
            }
            Event::TodoReturned { todo, failure: None, .. } => vec![format!("~ {} is given back", self.name(todo))],
            Event::TodoBlocked { todo, why } => {
                vec![format!("! {} is blocked: {}", self.name(todo), short(&why.to_string(), REASON))]
            }
            Event::TodoFreed { todo } => vec![format!("~ {} is open again", self.name(todo))],
            Event::WorkMerged { todo, .. } => vec![format!("= {} is merged", self.name(todo))],
            Event::FleetEnded { end } => vec![format!("fleet: {}", ended(*end))],
            // What each worker does would be too much; what the main agent does is the plan.
            Event::TurnAnswered { .. } if task != self.root => Vec::new(),
            event => show::lines(event),
        }
    }

    fn name(&self, todo: &TodoId) -> String {
        short(&todo.0, TITLE)
    }

    fn title(&self, todo: &TodoId) -> String {
        short(self.titles.get(todo).map_or("", String::as_str), TITLE)
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

fn short(text: &str, max: usize) -> String {
    print::plain(&print::one_line(text, max))
}

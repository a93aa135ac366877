//! What a person sees while a fleet works: the fleet's own view, and besides it what the main agent does and what goes
//! wrong.

use std::path::PathBuf;
use std::sync::Arc;

use config::Env;
use protocol::{Event, FleetEnd, TaskId};
use runtime::{BusMessage, FleetResultCache, Session};
use store::{SessionReader, StoreError};

use crate::args::OutputFormat;
use crate::chat::{PromptPlacement, PromptSurface, Prompter, PrompterInput};
use crate::error::CliError;
use crate::live::{FleetBoard, FleetView};
use crate::run::{ProgressMode, RunSignal, event_text};
use crate::setup::Setup;

/// What a person sees of a fleet.
#[derive(Debug)]
pub(super) struct FleetDisplay<'a> {
    view: FleetView,
    root: TaskId,
    /// What was done before, and why it is done again.
    memory: Option<Arc<FleetResultCache>>,
    /// Whoever can be asked at this terminal.
    prompter: Option<Prompter<'a>>,
}

impl<'a> FleetDisplay<'a> {
    /// What is seen of a fleet in this session, from the events on that this process brings.
    pub(super) fn new(
        session: &Session,
        env: &Env,
        format: OutputFormat,
        quiet: bool,
    ) -> Result<FleetDisplay<'a>, StoreError> {
        let show = match (format, quiet) {
            (OutputFormat::Jsonl, _) => ProgressMode::Events,
            (OutputFormat::Text | OutputFormat::Json, true) => ProgressMode::Nothing,
            (OutputFormat::Text | OutputFormat::Json, false) => ProgressMode::Lines,
        };
        let board = FleetBoard::read_until(&SessionReader::open(session.home(), session.id())?, session.first_seq())?;
        Ok(FleetDisplay { view: FleetView::new(board, show, env), root: session.root(), memory: None, prompter: None })
    }

    /// The same for a fleet that knows what was done before.
    pub(super) fn with_memory(self, memory: Option<Arc<FleetResultCache>>) -> FleetDisplay<'a> {
        FleetDisplay { memory, ..self }
    }

    /// The same, and asks somebody below the picture, if there is a picture and somebody.
    pub(super) fn with_prompter(mut self, session: &Session, setup: Option<(&'a Setup, PathBuf)>) -> FleetDisplay<'a> {
        if let Some((setup, cwd)) = setup.filter(|_| self.view.is_picture()) {
            self.prompter = Prompter::open(setup, session, cwd, PromptSurface::Picture);
            self.draw_prompt();
        }
        self
    }

    /// What the person does next who is asked; nothing while nobody is.
    pub(super) async fn next_input(&mut self) -> PrompterInput {
        match &mut self.prompter {
            Some(prompter) => prompter.next_input().await,
            None => std::future::pending().await,
        }
    }

    /// Acts on it; gives what the whole fleet is asked for.
    pub(super) async fn handle_input(
        &mut self,
        typed: PrompterInput,
        session: &Session,
    ) -> Result<Option<RunSignal>, CliError> {
        let Some(prompter) = &mut self.prompter else { return Ok(None) };
        let signal = prompter.handle_input(typed, session).await;
        self.draw_prompt();
        signal
    }

    fn draw_prompt(&mut self) {
        let Some(prompter) = &mut self.prompter else { return };
        let (above, foot) = prompter.take_footer();
        self.view.draw_with(above, foot);
    }

    /// Whether what happened is a question that is asked here.
    fn is_prompted_here(&mut self, live: &BusMessage, task: TaskId) -> bool {
        let Some(prompter) = &mut self.prompter else { return false };
        let shown = prompter.handle_live(live, self.view.todo_of(task));
        if prompter.has_changed() {
            self.draw_prompt();
        }
        shown == PromptPlacement::Here
    }

    /// Tells what happened.
    pub(super) fn show_live(&mut self, live: &BusMessage) {
        self.view.handle_live(live);
        let BusMessage::Event(envelope) = live else { return };
        let task = envelope.entry.task;
        if self.is_prompted_here(live, task) {
            return;
        }
        match &envelope.entry.event {
            // What each worker does would be too much; what the main agent does is the plan.
            Event::TurnAnswered { .. } | Event::CallAnswered { .. } if task != self.root => {}
            Event::TodoClaimed { todo, .. } => {
                let why = self.memory.as_ref().and_then(|memory| memory.miss_reason(todo));
                why.into_iter().for_each(|why| self.view.add_line(task, &format!("again: {why}")));
            }
            event => event_text::event_lines(event).iter().for_each(|line| self.view.add_line(task, line)),
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
        self.view.finish();
    }
}

/// How a fleet ended, in words.
pub(super) fn describe_end(end: FleetEnd) -> &'static str {
    match end {
        FleetEnd::Done => "everything is done",
        FleetEnd::Blocked => "some todos are blocked",
        FleetEnd::Stopped => "stopped",
    }
}

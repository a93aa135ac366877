//! The terminal output of a running fleet: the fleet view, the main agent's actions, and errors.

use std::path::PathBuf;

use client::{SessionHandle, SessionMessage, StoreError};
use config::Env;
use protocol::{Event, FleetEnd, TaskId};
use tui::chat::{CallFailure, PromptSurface, Prompter, PrompterInput, PrompterResult};
use tui::event_text;
use tui::event_text::ProgressMode;
use tui::live::{FleetBoard, FleetView};
use tui::signals::RunSignal;

use crate::args::OutputFormat;
use crate::error::CliError;
use crate::foreground_session::ForegroundSession;
use crate::setup::{Setup, terminal_settings};

/// The terminal output of a fleet.
#[derive(Debug)]
pub(super) struct FleetDisplay<'a> {
    view: FleetView,
    root: TaskId,
    /// Asks the user at this terminal.
    prompter: Option<Prompter<'a>>,
}

impl<'a> FleetDisplay<'a> {
    /// A display of the session's fleet, starting with the events of this process.
    pub(super) fn new(
        session: &ForegroundSession,
        env: &Env,
        format: OutputFormat,
        quiet: bool,
    ) -> Result<FleetDisplay<'a>, StoreError> {
        let mode = match (format, quiet) {
            (OutputFormat::Jsonl, _) => ProgressMode::Events,
            (OutputFormat::Text | OutputFormat::Json, true) => ProgressMode::Nothing,
            (OutputFormat::Text | OutputFormat::Json, false) => ProgressMode::Lines,
        };
        let board = match session.first_seq() {
            0 => FleetBoard::default(),
            last => FleetBoard::read_until(session.handle(), last)?,
        };
        Ok(FleetDisplay {
            view: FleetView::new(board, mode, terminal_settings(env)),
            root: session.root(),
            prompter: None,
        })
    }

    /// Adds a prompter below the live view, if there is a live view and a terminal to read from.
    pub(super) fn with_prompter(
        mut self,
        session: &ForegroundSession,
        setup: Option<(&'a Setup, PathBuf)>,
    ) -> FleetDisplay<'a> {
        if let Some((setup, cwd)) = setup.filter(|_| self.view.is_screen()) {
            self.prompter = Prompter::open(
                setup,
                setup.terminal_settings(),
                session.handle(),
                session.first_seq(),
                cwd,
                PromptSurface::LiveView,
            );
            self.draw_prompt();
        }
        self
    }

    /// The user's next input; pending while there is no prompter.
    pub(super) async fn next_input(&mut self) -> PrompterInput {
        match &mut self.prompter {
            Some(prompter) => prompter.next_input().await,
            None => std::future::pending().await,
        }
    }

    /// Handles the user's input; returns a signal that is meant for the whole fleet.
    pub(super) async fn handle_input(
        &mut self,
        input: PrompterInput,
        session: &SessionHandle,
    ) -> Result<Option<RunSignal>, CliError> {
        let Some(prompter) = &mut self.prompter else { return Ok(None) };
        let signal = prompter.handle_input(input, session).await;
        self.draw_prompt();
        signal.map_err(|error| CallFailure::Fatal(error).into())
    }

    fn draw_prompt(&mut self) {
        let Some(prompter) = &mut self.prompter else { return };
        let (above, footer) = prompter.take_footer();
        self.view.draw_with(above, footer);
    }

    /// Passes a message to the prompter; returns whether the prompter shows it.
    fn show_in_prompter(&mut self, message: &SessionMessage, task: TaskId) -> bool {
        let Some(prompter) = &mut self.prompter else { return false };
        let placement = prompter.handle_message(message, self.view.todo_of(task));
        if prompter.has_changed() {
            self.draw_prompt();
        }
        placement == PrompterResult::Shown
    }

    /// Shows a message.
    pub(super) fn show_message(&mut self, message: &SessionMessage) {
        let SessionMessage::Event(envelope) = message else { return };
        self.view.handle_event(envelope);
        let task = envelope.entry.task;
        if self.show_in_prompter(message, task) {
            return;
        }
        match &envelope.entry.event {
            // The actions of every worker would be too much; the main agent's actions are the plan.
            Event::TurnAnswered { .. } | Event::CallAnswered { .. } if task != self.root => {}
            Event::TodoClaimed { redo_reason, .. } => {
                redo_reason.iter().for_each(|reason| self.view.add_line(task, &format!("again: {reason}")));
            }
            event => event_text::event_lines(event).iter().for_each(|line| self.view.add_line(task, line)),
        }
    }

    /// Updates the view as time passes.
    pub(super) fn tick(&mut self) {
        self.view.tick();
    }

    /// Ends the display and restores the terminal. The last view stays.
    pub(super) fn end(&mut self) {
        self.close_prompter();
        self.view.finish();
    }

    /// Ends the display, restores the terminal and removes the view.
    pub(super) fn discard(&mut self) {
        self.close_prompter();
        self.view.discard();
    }

    fn close_prompter(&mut self) {
        if self.prompter.take().is_some() {
            self.view.draw_with(Vec::new(), None);
        }
    }
}

/// A short description of how a fleet ended.
pub(super) fn describe_end(end: FleetEnd) -> &'static str {
    match end {
        FleetEnd::Done => "all todos are done",
        FleetEnd::Blocked => "some todos are blocked",
        FleetEnd::Stopped => "stopped",
    }
}

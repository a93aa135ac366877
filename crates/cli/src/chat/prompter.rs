//! A person is asked in the middle of a command that is not a conversation: below what it shows, one question after the
//! other.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;

use protocol::{Ask, AskId, SessionId, TaskId};
use runtime::{BusMessage, Session};
use store::SessionReader;
use tokio::signal::unix::{Signal as Listener, SignalKind, signal};

use super::ask_queue::{AskDetail, AskInputResult, AskQueue};
use super::ask_updates::{AskChange, DecisionNotice, FrontAsk, apply_event, send_decision};
use super::editor::{EditorAction, LineEditor};
use super::history::InputHistory;
use super::key::KeyPress;
use super::panel::{Panel, PanelLayout};
use super::prompt_surface::{PromptState, PromptSurface};
use super::screen::PanelScreen;
use super::terminal::SIGCONT;
use super::text::{LinePrefix, StyledRow, StyledSpan, role_pieces, wrap};
use crate::approvals;
use crate::error::CliError;
use crate::live::FleetFooter;
use crate::run::RunSignal;
use crate::setup::Setup;
use crate::style::TextRole;

/// Asks a person at the terminal while a command goes on.
pub(crate) struct Prompter<'a> {
    setup: &'a Setup,
    session: SessionId,
    cwd: PathBuf,
    surface: PromptSurface,
    asks: AskQueue,
    /// Those that were asked here.
    asked: BTreeSet<AskId>,
    editor: LineEditor,
    state: PromptState,
    /// Rows that wait to be drawn above the picture.
    above: Vec<StyledRow>,
    /// Whether what is asked has changed since somebody asked for that.
    changed: bool,
    resized: Listener,
    continued: Listener,
}

/// What the person or the terminal did.
#[derive(Debug)]
pub(crate) struct PrompterInput(PrompterEvent);

#[derive(Debug)]
enum PrompterEvent {
    Key(KeyPress),
    Closed,
    Resized,
    Continued,
}

/// Whether a question is asked here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PromptPlacement {
    /// It is, or it is over.
    Here,
    /// It has to be told in another way.
    Elsewhere,
}

impl<'a> Prompter<'a> {
    /// Somebody to ask: a person who reads this surface and types on stdin; none without a terminal.
    pub(crate) fn open(
        setup: &'a Setup,
        session: &Session,
        cwd: PathBuf,
        surface: PromptSurface,
    ) -> Option<Prompter<'a>> {
        if !surface.is_attended(setup) {
            return None;
        }
        let mut prompter = Prompter {
            setup,
            session: session.id(),
            cwd,
            surface,
            asks: AskQueue::default(),
            asked: BTreeSet::new(),
            editor: LineEditor::new(InputHistory::disabled()),
            state: PromptState::Quiet,
            above: Vec::new(),
            changed: false,
            resized: signal(SignalKind::window_change()).ok()?,
            continued: signal(SignalKind::from_raw(SIGCONT)).ok()?,
        };
        if session.first_seq() > 0 {
            prompter.restore_asks(session);
        }
        Some(prompter)
    }

    /// Asks what waits since before this process.
    fn restore_asks(&mut self, session: &Session) {
        let waiting = SessionReader::open(session.home(), session.id()).and_then(|reader| reader.asks(false));
        for view in waiting.unwrap_or_default() {
            let whose = view.path.trim_start_matches("/root").trim_start_matches('/').to_owned();
            self.ask(view.task, &whose, Some(view.number), view.ask);
        }
    }

    /// Takes in what happened, of the agent with this name.
    pub(crate) fn handle_live(&mut self, live: &BusMessage, whose: &str) -> PromptPlacement {
        let BusMessage::Event(envelope) = live else { return PromptPlacement::Elsewhere };
        let entry = &envelope.entry;
        let shown = match apply_event(&mut self.asks, entry.task, &entry.event) {
            AskChange::Asked(ask) if ask.until_at.is_some_and(|until| until <= entry.at) => PromptPlacement::Elsewhere,
            AskChange::Asked(ask) => {
                let number = approvals::ask_number(&self.setup.home, self.session, &ask.id);
                self.ask(entry.task, whose, number, ask)
            }
            AskChange::Decided { ask, words, next } => {
                if let Some(words) = words {
                    self.show_note(&words);
                    self.show_next_ask(next);
                }
                if self.asked.remove(&ask) { PromptPlacement::Here } else { PromptPlacement::Elsewhere }
            }
            AskChange::Withdrawn(next) => {
                self.show_next_ask(next);
                PromptPlacement::Elsewhere
            }
            AskChange::None => PromptPlacement::Elsewhere,
        };
        self.draw();
        shown
    }

    /// Whether a question is on the screen.
    pub(crate) fn is_asking(&self) -> bool {
        self.state.is_open()
    }

    /// Shows a line above the question, if there is one.
    pub(crate) fn note(&mut self, line: &str) -> PromptPlacement {
        if self.state.screen().is_none() {
            return PromptPlacement::Elsewhere;
        }
        let rows = wrap(&[StyledSpan::plain(line.trim_start())], self.state.columns(), &margin(line));
        self.show(rows);
        self.draw();
        PromptPlacement::Here
    }

    /// What the person does next; nothing while nothing is asked. Nothing is lost when the wait for it is given up.
    pub(crate) async fn next_input(&mut self) -> PrompterInput {
        let PromptState::Open(keyboard, _) = &mut self.state else { return std::future::pending().await };
        tokio::select! {
            biased;
            Some(()) = self.resized.recv() => PrompterInput(PrompterEvent::Resized),
            Some(()) = self.continued.recv() => PrompterInput(PrompterEvent::Continued),
            key = keyboard.next() => PrompterInput(key.map_or(PrompterEvent::Closed, PrompterEvent::Key)),
        }
    }

    /// Acts on it; gives what the whole command is asked for.
    pub(crate) async fn handle_input(
        &mut self,
        typed: PrompterInput,
        session: &Session,
    ) -> Result<Option<RunSignal>, CliError> {
        match typed.0 {
            PrompterEvent::Key(key) => match self.editor.press(key) {
                EditorAction::Submitted(line) => self.answer(&line, session).await?,
                EditorAction::Interrupt => return Ok(Some(RunSignal::Interrupt)),
                EditorAction::Leave => self.close(),
                EditorAction::Edited
                | EditorAction::Complete
                | EditorAction::Expand
                | EditorAction::Redraw
                | EditorAction::TooLong => {}
            },
            PrompterEvent::Closed => self.close(),
            PrompterEvent::Resized => self.state.screen().into_iter().for_each(PanelScreen::resize),
            PrompterEvent::Continued => self.state.retake_terminal(),
        }
        self.draw();
        Ok(None)
    }

    /// Whether the picture is to be drawn again, since what is asked has changed.
    pub(crate) fn has_changed(&mut self) -> bool {
        std::mem::take(&mut self.changed)
    }

    /// What is to be drawn with the picture: rows that stay above it, and the question below.
    pub(crate) fn take_footer(&mut self) -> (Vec<Vec<(TextRole, String)>>, Option<FleetFooter>) {
        let above = std::mem::take(&mut self.above).into_iter().map(role_pieces).collect();
        let laid = if self.state.is_open() { self.panel_layout() } else { None };
        let foot = laid.map(|(laid, _)| FleetFooter {
            rows: laid.rows.into_iter().map(role_pieces).collect(),
            cursor: laid.cursor,
        });
        (above, foot)
    }

    fn ask(&mut self, task: TaskId, whose: &str, number: Option<u64>, ask: Ask) -> PromptPlacement {
        match self.state {
            PromptState::Closed => return PromptPlacement::Elsewhere,
            PromptState::Quiet => match PromptState::open(self.setup, self.surface) {
                Some(open) => self.state = open,
                None => return PromptPlacement::Elsewhere,
            },
            PromptState::Open(..) => {}
        }
        self.asked.insert(ask.id.clone());
        if self.asks.add(task, whose, number, ask) {
            self.show_next_ask(FrontAsk::Changed);
        }
        self.draw();
        PromptPlacement::Here
    }

    /// Gives the terminal back: nothing is asked here from now on.
    fn close(&mut self) {
        let titles = self.asks.titles();
        self.show_note("nothing is asked here any more; decide in another terminal with: bosun approvals");
        titles.iter().for_each(|title| self.show_note(title));
        self.asks = AskQueue::default();
        self.asked.clear();
        self.draw();
        self.state = PromptState::Closed;
    }

    /// Shows the ask that has come to the front, or gives the terminal back.
    fn show_next_ask(&mut self, next: FrontAsk) {
        self.changed = true;
        if self.asks.is_empty() {
            self.draw();
            self.editor.replace("");
            self.state = PromptState::Quiet;
        } else if next == FrontAsk::Changed {
            self.editor.replace("");
            // What was typed before a question is shown is not an answer to it.
            self.state.discard_typed();
            self.show_ask(AskDetail::Most);
        }
    }

    fn show_ask(&mut self, whole: AskDetail) {
        let columns = self.state.columns();
        self.show(self.asks.rows(whole, columns));
        // A dumb terminal has no panel that would say what can be typed.
        if self.state.screen().is_some_and(|screen| screen.is_dumb()) {
            self.show(self.asks.hint(columns));
        }
    }

    /// Decides on the ask that is shown.
    async fn answer(&mut self, line: &str, session: &Session) -> Result<(), CliError> {
        self.state.screen().into_iter().for_each(PanelScreen::line_ended);
        let prompt = self.asks.prompt().unwrap_or_default();
        let echo = wrap(
            &[StyledSpan::plain(line)],
            self.state.columns(),
            &LinePrefix::hanging(StyledSpan::new(TextRole::Accent, &prompt)),
        );
        if !self.setup.env.has_dumb_terminal() {
            self.show(echo);
        }
        match self.asks.answer(line) {
            AskInputResult::More => {}
            AskInputResult::Explain => self.show_ask(AskDetail::All),
            AskInputResult::Unclear(words) => self.show_note(words),
            AskInputResult::Decided(params) => {
                for told in send_decision(session, self.setup, &self.cwd, params).await? {
                    match told {
                        DecisionNotice::Note(words) | DecisionNotice::Error(words) => self.show_note(&words),
                    }
                }
                self.show_next_ask(FrontAsk::Changed);
            }
        }
        Ok(())
    }

    fn show_note(&mut self, words: &str) {
        let lead = LinePrefix::hanging(StyledSpan::plain("  "));
        self.show(wrap(&[StyledSpan::new(TextRole::Dim, words)], self.state.columns(), &lead));
    }

    fn show(&mut self, rows: Vec<StyledRow>) {
        self.changed = true;
        let left = self.state.show(rows);
        match self.surface {
            PromptSurface::Picture => self.above.extend(left),
            PromptSurface::Lines => {}
        }
    }

    /// What can be typed, and the line that is being written.
    fn panel_layout(&self) -> Option<(PanelLayout, String)> {
        let prompt = self.asks.prompt()?;
        let notes = self.asks.hint(self.state.columns());
        let panel = Panel { tail: Vec::new(), notes, prompt: &prompt, draft: self.editor.draft() };
        let laid = panel.layout(self.state.size());
        Some((laid, prompt))
    }

    fn draw(&mut self) {
        let laid = self.panel_layout();
        self.state.draw(laid);
    }
}

impl fmt::Debug for Prompter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prompter").field("session", &self.session).field("asks", &self.asks).finish_non_exhaustive()
    }
}

/// As far to the right as a line begins.
fn margin(line: &str) -> LinePrefix {
    LinePrefix::same(StyledSpan::plain(&" ".repeat(line.len() - line.trim_start().len())))
}

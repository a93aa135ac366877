//! Asks the user during a command that is not a conversation: below its output, one ask at a time.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;

use client::{ClientError, SessionHandle, SessionMessage};
use protocol::{Ask, AskId, TaskId};
use tokio::signal::unix::{Signal as Listener, SignalKind, signal};

use super::ask_queue::{AskDetail, AskInputResult, AskQueue};
use super::ask_updates::{AskChange, CurrentAsk, DecisionNotice, apply_event, ask_number, send_decision};
use super::editor::{EditorAction, LineEditor};
use super::history::InputHistory;
use super::key::KeyPress;
use super::owner::AllowRules;
use super::panel::{Panel, PanelLayout};
use super::prompt_surface::{PromptState, PromptSurface};
use super::screen::PanelScreen;
use super::terminal::SIGCONT;
use super::text::{LinePrefix, StyledRow, StyledSpan, role_pieces, wrap};
use crate::live::FleetFooter;
use crate::signals::RunSignal;
use crate::style::TextRole;
use crate::terminal_settings::TerminalSettings;

/// Asks the user at the terminal while a command runs.
pub struct Prompter<'a> {
    rules: &'a dyn AllowRules,
    settings: TerminalSettings,
    session: SessionHandle,
    cwd: PathBuf,
    surface: PromptSurface,
    asks: AskQueue,
    /// Asks that were shown here.
    shown_asks: BTreeSet<AskId>,
    editor: LineEditor,
    state: PromptState,
    /// Rows to draw above the live view.
    rows_above: Vec<StyledRow>,
    /// Whether the ask has changed since the last call of `has_changed`.
    changed: bool,
    resized: Listener,
    continued: Listener,
}

/// An input of the user or the terminal.
#[derive(Debug)]
pub struct PrompterInput(PrompterEvent);

#[derive(Debug)]
enum PrompterEvent {
    Key(KeyPress),
    Closed,
    Resized,
    Continued,
}

/// Whether the prompter showed an event or a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrompterResult {
    /// The prompter showed it, so the caller need not.
    Shown,
    /// The caller must show it in another way.
    NotShown,
}

impl<'a> Prompter<'a> {
    /// Opens a prompter for a user who reads this surface and types on stdin; none without a terminal. `first_seq` is the
    /// last event before this process opened the session.
    pub fn open(
        rules: &'a dyn AllowRules,
        settings: TerminalSettings,
        session: &SessionHandle,
        first_seq: u64,
        cwd: PathBuf,
        surface: PromptSurface,
    ) -> Option<Prompter<'a>> {
        if !surface.is_attended(settings) {
            return None;
        }
        let mut prompter = Prompter {
            rules,
            settings,
            session: session.clone(),
            cwd,
            surface,
            asks: AskQueue::default(),
            shown_asks: BTreeSet::new(),
            editor: LineEditor::new(InputHistory::disabled()),
            state: PromptState::Idle,
            rows_above: Vec::new(),
            changed: false,
            resized: signal(SignalKind::window_change()).ok()?,
            continued: signal(SignalKind::from_raw(SIGCONT)).ok()?,
        };
        if first_seq > 0 {
            prompter.restore_asks(session);
        }
        Some(prompter)
    }

    /// Shows asks that were opened before this process started.
    fn restore_asks(&mut self, session: &SessionHandle) {
        let open_asks = session.open_asks();
        for view in open_asks.unwrap_or_default() {
            let task_name = view.path.trim_start_matches("/root").trim_start_matches('/').to_owned();
            self.enqueue_ask(view.task, &task_name, Some(view.number), view.ask);
        }
    }

    /// Handles an event of the task with this name.
    pub fn handle_message(&mut self, message: &SessionMessage, task_name: &str) -> PrompterResult {
        let SessionMessage::Event(envelope) = message else { return PrompterResult::NotShown };
        let entry = &envelope.entry;
        let placement = match apply_event(&mut self.asks, entry.task, &entry.event) {
            AskChange::Opened(ask) if ask.until_at.is_some_and(|until| until <= entry.at) => PrompterResult::NotShown,
            AskChange::Opened(ask) => {
                let number = ask_number(&self.session, &ask.id);
                self.enqueue_ask(entry.task, task_name, number, ask)
            }
            AskChange::Decided { ask, words, next: change } => {
                if let Some(text) = words {
                    self.show_note(&text);
                    self.refresh_ask(change);
                }
                if self.shown_asks.remove(&ask) { PrompterResult::Shown } else { PrompterResult::NotShown }
            }
            AskChange::Withdrawn(change) => {
                self.refresh_ask(change);
                PrompterResult::NotShown
            }
            AskChange::None => PrompterResult::NotShown,
        };
        self.draw();
        placement
    }

    /// Whether a question is on the screen.
    pub fn is_asking(&self) -> bool {
        self.state.is_open()
    }

    /// Shows a line above the question, if there is one.
    pub fn show_line(&mut self, line: &str) -> PrompterResult {
        if self.state.screen().is_none() {
            return PrompterResult::NotShown;
        }
        let rows = wrap(&[StyledSpan::plain(line.trim_start())], self.state.columns(), &margin(line));
        self.show(rows);
        self.draw();
        PrompterResult::Shown
    }

    /// Waits for the next input; pending while no ask is open. Cancel-safe.
    pub async fn next_input(&mut self) -> PrompterInput {
        let PromptState::Open(keyboard, _) = &mut self.state else { return std::future::pending().await };
        tokio::select! {
            biased;
            Some(()) = self.resized.recv() => PrompterInput(PrompterEvent::Resized),
            Some(()) = self.continued.recv() => PrompterInput(PrompterEvent::Continued),
            key = keyboard.next() => PrompterInput(key.map_or(PrompterEvent::Closed, PrompterEvent::Key)),
        }
    }

    /// Handles an input; returns a signal for the whole command, if any.
    pub async fn handle_input(
        &mut self,
        input: PrompterInput,
        session: &SessionHandle,
    ) -> Result<Option<RunSignal>, ClientError> {
        match input.0 {
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

    /// Whether the live view must be drawn again because the ask has changed.
    pub fn has_changed(&mut self) -> bool {
        std::mem::take(&mut self.changed)
    }

    /// Takes the rows to draw with the live view: those that stay above it, and the ask below.
    pub fn take_footer(&mut self) -> (Vec<Vec<(TextRole, String)>>, Option<FleetFooter>) {
        let above = std::mem::take(&mut self.rows_above).into_iter().map(role_pieces).collect();
        let layout = if self.state.is_open() { self.panel_layout() } else { None };
        let footer = layout.map(|(layout, _)| FleetFooter {
            rows: layout.rows.into_iter().map(role_pieces).collect(),
            cursor: layout.cursor,
        });
        (above, footer)
    }

    fn enqueue_ask(&mut self, task: TaskId, task_name: &str, number: Option<u64>, ask: Ask) -> PrompterResult {
        match self.state {
            PromptState::Closed => return PrompterResult::NotShown,
            PromptState::Idle => match PromptState::open(self.settings, self.surface) {
                Some(open) => self.state = open,
                None => return PrompterResult::NotShown,
            },
            PromptState::Open(..) => {}
        }
        self.shown_asks.insert(ask.id.clone());
        if self.asks.add(task, task_name, number, ask) {
            self.refresh_ask(CurrentAsk::Changed);
        }
        // The prompt shows how many asks there are.
        self.changed = true;
        self.draw();
        PrompterResult::Shown
    }

    /// Releases the terminal and stops asking here.
    fn close(&mut self) {
        let titles = self.asks.titles();
        self.show_note("no longer asking here; decide in another terminal with: bosun approvals");
        titles.iter().for_each(|title| self.show_note(title));
        self.asks = AskQueue::default();
        self.shown_asks.clear();
        self.draw();
        self.state = PromptState::Closed;
    }

    /// Shows the current ask if it has changed; without open asks, releases the terminal.
    fn refresh_ask(&mut self, change: CurrentAsk) {
        self.changed = true;
        if self.asks.is_empty() {
            self.draw();
            self.editor.replace("");
            self.state = PromptState::Idle;
        } else if change == CurrentAsk::Changed {
            self.editor.replace("");
            // Input typed before an ask is shown does not answer it.
            self.state.discard_input();
            self.show_ask(AskDetail::Clipped);
        }
    }

    fn show_ask(&mut self, detail: AskDetail) {
        let columns = self.state.columns();
        self.show(self.asks.current_rows(detail, columns));
        // A dumb terminal has no panel for the hint.
        if self.state.screen().is_some_and(|screen| screen.is_dumb()) {
            self.show(self.asks.input_hint_rows(columns));
        }
    }

    /// Answers the current ask.
    async fn answer(&mut self, line: &str, session: &SessionHandle) -> Result<(), ClientError> {
        self.state.screen().into_iter().for_each(PanelScreen::note_line_end);
        let prompt = self.asks.prompt().unwrap_or_default();
        let echo = wrap(
            &[StyledSpan::plain(line)],
            self.state.columns(),
            &LinePrefix::hanging(StyledSpan::new(TextRole::Accent, &prompt)),
        );
        if !self.settings.is_dumb {
            self.show(echo);
        }
        match self.asks.answer(line) {
            AskInputResult::NeedsReason => {}
            AskInputResult::Explain => self.show_ask(AskDetail::Full),
            AskInputResult::Unclear(text) => self.show_note(text),
            AskInputResult::Decided(params) => {
                for notice in send_decision(session, self.rules, &self.cwd, params).await? {
                    match notice {
                        DecisionNotice::Note(text) | DecisionNotice::Error(text) => self.show_note(&text),
                    }
                }
                self.refresh_ask(CurrentAsk::Changed);
            }
        }
        Ok(())
    }

    fn show_note(&mut self, text: &str) {
        let lead = LinePrefix::hanging(StyledSpan::plain("  "));
        self.show(wrap(&[StyledSpan::new(TextRole::Dim, text)], self.state.columns(), &lead));
    }

    fn show(&mut self, rows: Vec<StyledRow>) {
        self.changed = true;
        let remaining = self.state.show(rows);
        match self.surface {
            PromptSurface::LiveView => self.rows_above.extend(remaining),
            PromptSurface::Lines => {}
        }
    }

    /// The hint and the input line.
    fn panel_layout(&self) -> Option<(PanelLayout, String)> {
        let prompt = self.asks.prompt()?;
        let notes = self.asks.input_hint_rows(self.state.columns());
        let panel = Panel { tail: Vec::new(), notes, prompt: &prompt, draft: self.editor.draft() };
        let layout = panel.layout(self.state.size());
        Some((layout, prompt))
    }

    fn draw(&mut self) {
        let layout = self.panel_layout();
        self.state.draw(layout);
    }
}

impl fmt::Debug for Prompter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prompter")
            .field("session", &self.session.id())
            .field("asks", &self.asks)
            .finish_non_exhaustive()
    }
}

/// The indent of a line.
fn margin(line: &str) -> LinePrefix {
    LinePrefix::repeated(StyledSpan::plain(&" ".repeat(line.len() - line.trim_start().len())))
}

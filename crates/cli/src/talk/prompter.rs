//! A person is asked in the middle of a command that is no conversation: below what it shows, one question after the
//! other.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;

use protocol::{Ask, AskId, SessionId, TaskId};
use runtime::{Live, Session};
use store::Reader;
use tokio::signal::unix::{Signal as Listener, SignalKind, signal};

use super::asks::{Asks, Said, Whole};
use super::editor::{Editor, Pressed};
use super::face::{State, Surface};
use super::history::History;
use super::key::Key;
use super::panel::{Laid, Panel};
use super::person::CONTINUED;
use super::screen::Screen;
use super::settle::{Change, Next, Told, decide, hear};
use super::text::{Lead, Row, Span, pieces, wrap};
use crate::approvals;
use crate::failure::Failure;
use crate::live::Foot;
use crate::run::Signal;
use crate::setup::Setup;
use crate::style::Role;

/// Asks a person at the terminal while a command goes on.
pub(crate) struct Prompter<'a> {
    setup: &'a Setup,
    session: SessionId,
    cwd: PathBuf,
    surface: Surface,
    asks: Asks,
    /// Those that were asked here.
    asked: BTreeSet<AskId>,
    editor: Editor,
    state: State,
    /// Rows that wait to be drawn above the picture.
    above: Vec<Row>,
    /// Whether what is asked has changed since somebody asked for that.
    changed: bool,
    resized: Listener,
    continued: Listener,
}

/// What the person or the terminal did.
#[derive(Debug)]
pub(crate) struct Typed(Input);

#[derive(Debug)]
enum Input {
    Key(Key),
    Gone,
    Resized,
    Continued,
}

/// Whether a question is asked here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown {
    /// It is, or it is over.
    Here,
    /// It has to be told in another way.
    Elsewhere,
}

impl<'a> Prompter<'a> {
    /// Somebody to ask: a person who reads this surface and types on stdin; none without a terminal.
    pub(crate) fn meet(setup: &'a Setup, session: &Session, cwd: PathBuf, surface: Surface) -> Option<Prompter<'a>> {
        if !surface.is_attended(setup) {
            return None;
        }
        let mut prompter = Prompter {
            setup,
            session: session.id(),
            cwd,
            surface,
            asks: Asks::default(),
            asked: BTreeSet::new(),
            editor: Editor::new(History::none()),
            state: State::Quiet,
            above: Vec::new(),
            changed: false,
            resized: signal(SignalKind::window_change()).ok()?,
            continued: signal(SignalKind::from_raw(CONTINUED)).ok()?,
        };
        if session.first_seq() > 0 {
            prompter.recall(session);
        }
        Some(prompter)
    }

    /// Asks what waits since before this process.
    fn recall(&mut self, session: &Session) {
        let waiting = Reader::open(session.home(), session.id()).and_then(|reader| reader.asks(false));
        for view in waiting.unwrap_or_default() {
            let whose = view.path.trim_start_matches("/root").trim_start_matches('/').to_owned();
            self.ask(view.task, &whose, Some(view.number), view.ask);
        }
    }

    /// Takes in what happened, of the agent with this name.
    pub(crate) fn live(&mut self, live: &Live, whose: &str) -> Shown {
        let Live::Event(envelope) = live else { return Shown::Elsewhere };
        let entry = &envelope.entry;
        let shown = match hear(&mut self.asks, entry.task, &entry.event) {
            Change::Asked(ask) if ask.until_at.is_some_and(|until| until <= entry.at) => Shown::Elsewhere,
            Change::Asked(ask) => {
                let number = approvals::number(&self.setup.home, self.session, &ask.id);
                self.ask(entry.task, whose, number, ask)
            }
            Change::Decided { ask, words, next } => {
                if let Some(words) = words {
                    self.tell(&words);
                    self.turn_to(next);
                }
                if self.asked.remove(&ask) { Shown::Here } else { Shown::Elsewhere }
            }
            Change::Withdrawn(next) => {
                self.turn_to(next);
                Shown::Elsewhere
            }
            Change::None => Shown::Elsewhere,
        };
        self.draw();
        shown
    }

    /// Whether a question is on the screen.
    pub(crate) fn is_asking(&self) -> bool {
        self.state.is_open()
    }

    /// Shows a line above the question, if there is one.
    pub(crate) fn note(&mut self, line: &str) -> Shown {
        if self.state.screen().is_none() {
            return Shown::Elsewhere;
        }
        let rows = wrap(&[Span::plain(line.trim_start())], self.state.columns(), &margin(line));
        self.show(rows);
        self.draw();
        Shown::Here
    }

    /// What the person does next; nothing while nothing is asked. Nothing is lost when the wait for it is given up.
    pub(crate) async fn next(&mut self) -> Typed {
        let State::Open(keyboard, _) = &mut self.state else { return std::future::pending().await };
        tokio::select! {
            biased;
            Some(()) = self.resized.recv() => Typed(Input::Resized),
            Some(()) = self.continued.recv() => Typed(Input::Continued),
            key = keyboard.next() => Typed(key.map_or(Input::Gone, Input::Key)),
        }
    }

    /// Acts on it; gives what the whole command is asked for.
    pub(crate) async fn take(&mut self, typed: Typed, session: &Session) -> Result<Option<Signal>, Failure> {
        match typed.0 {
            Input::Key(key) => match self.editor.press(key) {
                Pressed::Sent(line) => self.answer(&line, session).await?,
                Pressed::Interrupt => return Ok(Some(Signal::Interrupt)),
                Pressed::Leave => self.close(),
                Pressed::Edited | Pressed::Complete | Pressed::Expand | Pressed::Redraw | Pressed::TooLong => {}
            },
            Input::Gone => self.close(),
            Input::Resized => self.state.screen().into_iter().for_each(Screen::resize),
            Input::Continued => self.state.take_again(),
        }
        self.draw();
        Ok(None)
    }

    /// Whether the picture is to be drawn again, since what is asked has changed.
    pub(crate) fn has_changed(&mut self) -> bool {
        std::mem::take(&mut self.changed)
    }

    /// What is to be drawn with the picture: rows that stay above it, and the question below.
    pub(crate) fn below(&mut self) -> (Vec<Vec<(Role, String)>>, Option<Foot>) {
        let above = std::mem::take(&mut self.above).into_iter().map(pieces).collect();
        let laid = if self.state.is_open() { self.laid() } else { None };
        let foot =
            laid.map(|(laid, _)| Foot { rows: laid.rows.into_iter().map(pieces).collect(), cursor: laid.cursor });
        (above, foot)
    }

    fn ask(&mut self, task: TaskId, whose: &str, number: Option<u64>, ask: Ask) -> Shown {
        match self.state {
            State::Closed => return Shown::Elsewhere,
            State::Quiet => match State::open(self.setup, self.surface) {
                Some(open) => self.state = open,
                None => return Shown::Elsewhere,
            },
            State::Open(..) => {}
        }
        self.asked.insert(ask.id.clone());
        if self.asks.add(task, whose, number, ask) {
            self.turn_to(Next::Other);
        }
        self.draw();
        Shown::Here
    }

    /// Gives the terminal back: nothing is asked here from now on.
    fn close(&mut self) {
        let titles = self.asks.titles();
        self.tell("nothing is asked here any more; decide in another terminal with: bosun approvals");
        titles.iter().for_each(|title| self.tell(title));
        self.asks = Asks::default();
        self.asked.clear();
        self.draw();
        self.state = State::Closed;
    }

    /// Shows the ask that has come to the front, or gives the terminal back.
    fn turn_to(&mut self, next: Next) {
        self.changed = true;
        if self.asks.is_empty() {
            self.draw();
            self.editor.replace("");
            self.state = State::Quiet;
        } else if next == Next::Other {
            self.editor.replace("");
            // What was typed before a question is shown is no answer to it.
            self.state.forget_typed();
            self.show_ask(Whole::Most);
        }
    }

    fn show_ask(&mut self, whole: Whole) {
        let columns = self.state.columns();
        self.show(self.asks.rows(whole, columns));
        // A dumb terminal has no panel that would say what can be typed.
        if self.state.screen().is_some_and(|screen| screen.is_dumb()) {
            self.show(self.asks.hint(columns));
        }
    }

    /// Decides on the ask that is shown.
    async fn answer(&mut self, line: &str, session: &Session) -> Result<(), Failure> {
        self.state.screen().into_iter().for_each(Screen::line_ended);
        let prompt = self.asks.prompt().unwrap_or_default();
        let echo = wrap(&[Span::plain(line)], self.state.columns(), &Lead::hanging(Span::new(Role::Accent, &prompt)));
        if !self.setup.env.has_dumb_terminal() {
            self.show(echo);
        }
        match self.asks.answer(line) {
            Said::More => {}
            Said::Explain => self.show_ask(Whole::All),
            Said::Unclear(words) => self.tell(words),
            Said::Decided(params) => {
                for told in decide(session, self.setup, &self.cwd, params).await? {
                    match told {
                        Told::Note(words) | Told::Complaint(words) => self.tell(&words),
                    }
                }
                self.turn_to(Next::Other);
            }
        }
        Ok(())
    }

    fn tell(&mut self, words: &str) {
        let lead = Lead::hanging(Span::plain("  "));
        self.show(wrap(&[Span::new(Role::Dim, words)], self.state.columns(), &lead));
    }

    fn show(&mut self, rows: Vec<Row>) {
        self.changed = true;
        let left = self.state.show(rows);
        match self.surface {
            Surface::Picture => self.above.extend(left),
            Surface::Lines => {}
        }
    }

    /// What can be typed, and the line that is being written.
    fn laid(&self) -> Option<(Laid, String)> {
        let prompt = self.asks.prompt()?;
        let notes = self.asks.hint(self.state.columns());
        let panel = Panel { tail: Vec::new(), notes, prompt: &prompt, draft: self.editor.draft() };
        let laid = panel.lay(self.state.size());
        Some((laid, prompt))
    }

    fn draw(&mut self) {
        let laid = self.laid();
        self.state.draw(laid);
    }
}

impl fmt::Debug for Prompter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prompter").field("session", &self.session).field("asks", &self.asks).finish_non_exhaustive()
    }
}

/// As far to the right as a line begins.
fn margin(line: &str) -> Lead {
    Lead::same(Span::plain(&" ".repeat(line.len() - line.trim_start().len())))
}

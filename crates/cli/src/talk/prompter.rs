//! A person is asked in the middle of a command that is no conversation: below what it shows, one question after the
//! other.

use std::collections::BTreeSet;
use std::fmt;
use std::io::{IsTerminal, stderr, stdin, stdout};
use std::path::PathBuf;

use host::{Keys, Size};
use protocol::{Ask, AskId, DecidedBy, Decision, Event, SessionId, TaskId};
use runtime::{Live, Rejected, Session};
use store::Reader;
use tokio::signal::unix::{Signal as Listener, SignalKind, signal};

use super::asks::{Asks, Said, Whole};
use super::editor::{Editor, Pressed};
use super::history::History;
use super::key::{Key, Sender};
use super::keyboard::Keyboard;
use super::panel::{Laid, Panel};
use super::person::CONTINUED;
use super::screen::{Screen, Stream};
use super::text::{Lead, Row, Span, pieces, wrap};
use crate::approvals;
use crate::args::Place;
use crate::failure::Failure;
use crate::live::Foot;
use crate::run::Signal;
use crate::setup::Setup;
use crate::style::{Role, Style};

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

/// What the questions stand below.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Surface {
    /// Lines on stderr.
    Lines,
    /// A picture on stdout, which somebody else draws with what is asked.
    Picture,
}

#[derive(Debug)]
enum State {
    /// Nothing is asked.
    Quiet,
    /// A question is shown.
    Open(Box<Keyboard>, Face),
    /// The person does not answer here any more.
    Closed,
}

/// Where a question is drawn.
#[derive(Debug)]
enum Face {
    Lines(Screen),
    /// The picture's; the terminal gives single keys.
    Picture(Keys),
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
        let is_read = match surface {
            Surface::Lines => stderr().is_terminal(),
            Surface::Picture => stdout().is_terminal() && !setup.env.has_dumb_terminal(),
        };
        if !is_read || !stdin().is_terminal() {
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
        let shown = match &entry.event {
            Event::Asked(ask) if ask.until_at.is_some_and(|until| until <= entry.at) => Shown::Elsewhere,
            Event::Asked(ask) => {
                let number = approvals::number(&self.setup.home, self.session, &ask.id);
                self.ask(entry.task, whose, number, ask.clone())
            }
            Event::AskDecided { ask, decision, by, .. } => {
                let was_first = self.asks.current() == Some(ask);
                if let Some(title) = self.asks.decided(ask) {
                    self.tell(&match by {
                        DecidedBy::User => format!("{} elsewhere: {title}", decision.word()),
                        DecidedBy::Deadline => format!("not decided in time: {title}"),
                    });
                    self.turn_to_next(was_first);
                }
                if self.asked.remove(ask) { Shown::Here } else { Shown::Elsewhere }
            }
            Event::CallAnswered { call, .. } => {
                let before = self.asks.current().cloned();
                if self.asks.withdrawn(entry.task, call) {
                    self.turn_to_next(before.as_ref() != self.asks.current());
                }
                Shown::Elsewhere
            }
            _other => Shown::Elsewhere,
        };
        self.draw();
        shown
    }

    /// Whether a question is on the screen.
    pub(crate) fn is_asking(&self) -> bool {
        matches!(self.state, State::Open(..))
    }

    /// Shows a line above the question, if there is one.
    pub(crate) fn note(&mut self, line: &str) -> Shown {
        match &self.state {
            State::Open(_, Face::Lines(_)) => {
                let rows = wrap(&[Span::plain(line.trim_start())], self.columns(), &margin(line));
                self.show(rows);
                self.draw();
                Shown::Here
            }
            State::Open(_, Face::Picture(_)) | State::Quiet | State::Closed => Shown::Elsewhere,
        }
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
        match (typed.0, &mut self.state) {
            (Input::Key(key), _) => match self.editor.press(key) {
                Pressed::Sent(line) => self.answer(&line, session).await?,
                Pressed::Interrupt => return Ok(Some(Signal::Interrupt)),
                Pressed::Leave => self.close(),
                Pressed::Edited | Pressed::Complete | Pressed::Expand | Pressed::Redraw | Pressed::TooLong => {}
            },
            (Input::Gone, _) => self.close(),
            (Input::Resized, State::Open(_, Face::Lines(screen))) => screen.resize(),
            (Input::Continued, State::Open(_, Face::Lines(screen))) => screen.take(),
            (Input::Continued, State::Open(_, Face::Picture(keys))) => {
                // A terminal that is gone is found out by the next key.
                let _gone = keys.ask_again();
            }
            (Input::Resized | Input::Continued, State::Open(..) | State::Quiet | State::Closed) => {}
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
        let laid = match self.state {
            State::Open(..) => self.laid(),
            State::Quiet | State::Closed => None,
        };
        let foot =
            laid.map(|(laid, _)| Foot { rows: laid.rows.into_iter().map(pieces).collect(), cursor: laid.cursor });
        (above, foot)
    }

    fn ask(&mut self, task: TaskId, whose: &str, number: Option<u64>, ask: Ask) -> Shown {
        match self.state {
            State::Closed => return Shown::Elsewhere,
            State::Quiet => match self.open() {
                Some((keyboard, face)) => self.state = State::Open(keyboard, face),
                None => return Shown::Elsewhere,
            },
            State::Open(..) => {}
        }
        self.asked.insert(ask.id.clone());
        if self.asks.add(task, whose, number, ask) {
            self.turn_to_next(true);
        }
        self.draw();
        Shown::Here
    }

    /// Takes the terminal over. A process in the background leaves it alone.
    fn open(&self) -> Option<(Box<Keyboard>, Face)> {
        if !host::terminal::is_foreground() {
            return None;
        }
        let dumb = self.setup.env.has_dumb_terminal();
        let keyboard = Keyboard::listen(if dumb { Sender::Lines } else { Sender::Keys }).ok()?;
        let style = Style::of(&stderr(), &self.setup.env);
        let face = match self.surface {
            Surface::Lines => Face::Lines(Screen::open(Stream::Stderr, style, dumb).ok()?),
            Surface::Picture => Face::Picture(Keys::ask().ok()?),
        };
        Some((Box::new(keyboard), face))
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
    fn turn_to_next(&mut self, changed: bool) {
        self.changed = true;
        if self.asks.is_empty() {
            self.draw();
            self.editor.replace("");
            self.state = State::Quiet;
        } else if changed {
            self.editor.replace("");
            // What was typed before a question is shown is no answer to it.
            if let State::Open(keyboard, _) = &mut self.state {
                keyboard.forget();
            }
            self.show_ask(Whole::Most);
        }
    }

    fn show_ask(&mut self, whole: Whole) {
        let columns = self.columns();
        self.show(self.asks.rows(whole, columns));
        // A dumb terminal has no panel that would say what can be typed.
        if matches!(&self.state, State::Open(_, Face::Lines(screen)) if screen.is_dumb()) {
            self.show(self.asks.hint(columns));
        }
    }

    /// Decides on the ask that is shown.
    async fn answer(&mut self, line: &str, session: &Session) -> Result<(), Failure> {
        if let State::Open(_, Face::Lines(screen)) = &mut self.state {
            screen.line_ended();
        }
        let prompt = self.asks.prompt().unwrap_or_default();
        let echo = wrap(&[Span::plain(line)], self.columns(), &Lead::hanging(Span::new(Role::Accent, &prompt)));
        if !self.setup.env.has_dumb_terminal() {
            self.show(echo);
        }
        match self.asks.answer(line) {
            Said::More => {}
            Said::Explain => self.show_ask(Whole::All),
            Said::Unclear(words) => self.tell(words),
            Said::Decided(params) => {
                let rules = match &params.decision {
                    Decision::Allow { rules, .. } => rules.clone(),
                    Decision::Deny { .. } | Decision::Reply { .. } | Decision::Proceed { .. } => Vec::new(),
                };
                match session.decide(params).await {
                    Ok(()) => rules.iter().for_each(|rule| self.remember(rule)),
                    Err(refused @ (Rejected::Refused(_) | Rejected::Rule(_) | Rejected::Hook(_))) => {
                        self.tell(&refused.to_string());
                    }
                    Err(worse @ (Rejected::Paused(_) | Rejected::Gone)) => return Err(worse.into()),
                }
                self.turn_to_next(true);
            }
        }
        Ok(())
    }

    /// Keeps a rule for this project. The session follows it already.
    fn remember(&mut self, rule: &str) {
        let words = match approvals::remember(self.setup, &self.cwd, rule, Place::Local) {
            Ok(path) => format!("`{rule}` is allowed from now on; it stands in {}", path.display()),
            Err(failure) => format!("`{rule}` is allowed for this session only: {failure}"),
        };
        self.tell(&words);
    }

    fn tell(&mut self, words: &str) {
        let rows = wrap(&[Span::new(Role::Dim, words)], self.columns(), &Lead::hanging(Span::plain("  ")));
        self.show(rows);
    }

    fn show(&mut self, rows: Vec<Row>) {
        self.changed = true;
        match (&mut self.state, self.surface) {
            (State::Open(_, Face::Lines(screen)), _) => screen.show(rows),
            (State::Open(..) | State::Quiet | State::Closed, Surface::Picture) => self.above.extend(rows),
            (State::Open(..) | State::Quiet | State::Closed, Surface::Lines) => {}
        }
    }

    /// What can be typed, and the line that is being written.
    fn laid(&self) -> Option<(Laid, String)> {
        let prompt = self.asks.prompt()?;
        let notes = self.asks.hint(self.columns());
        let panel = Panel { tail: Vec::new(), notes, prompt: &prompt, draft: self.editor.draft() };
        let laid = panel.lay(self.size());
        Some((laid, prompt))
    }

    fn draw(&mut self) {
        let laid = self.laid();
        let State::Open(_, Face::Lines(screen)) = &mut self.state else { return };
        match laid {
            Some((laid, prompt)) => screen.draw(&laid, Some(&prompt)),
            None => screen.draw(&Laid { rows: Vec::new(), cursor: (0, 0) }, None),
        }
    }

    fn size(&self) -> Size {
        match &self.state {
            State::Open(_, Face::Lines(screen)) => screen.size(),
            State::Open(_, Face::Picture(_)) | State::Quiet | State::Closed => Size::read(),
        }
    }

    fn columns(&self) -> usize {
        self.size().columns.saturating_sub(1).max(10)
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

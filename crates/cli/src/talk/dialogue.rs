//! One session and the person who talks to it: a loop that takes one thing at a time.

use std::time::{Duration, Instant};

use protocol::api::SendParams;
use protocol::{CancelBy, Delivery};
use runtime::slash::Looked;
use runtime::{Live, Rejected, Status, Subscription};
use tokio::sync::watch;

use super::asks::Asks;
use super::editor::Pressed;
use super::feed::Feed;
use super::open::{Opened, Prepared};
use super::person::{Deed, Person};
use super::view::LINE;
use crate::args::RunArgs;
use crate::exact::exact;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::run::{AtWork, Signal};
use crate::setup::Setup;

/// Two interrupts within this time end the session.
const TWICE: Duration = Duration::from_secs(2);

/// How long what happens may wait to be drawn, together with what happens next.
const FRAME: Duration = Duration::from_millis(16);

/// How often what goes on is told again.
const TICK: Duration = Duration::from_secs(1);

/// A person and one session.
pub(super) struct Dialogue<'a> {
    pub(super) setup: &'a Setup,
    pub(super) args: &'a RunArgs,
    pub(super) person: &'a mut Person,
    pub(super) opened: Opened,
    pub(super) feed: Feed,
    pub(super) asks: Asks,
    pub(super) events: Subscription,
    pub(super) status: watch::Receiver<Status>,
    /// When the person last asked to stop, and what.
    pub(super) interrupted: Option<(Instant, Interrupted)>,
    /// What is told in passing, until the next key.
    pub(super) hint: Option<&'static str>,
    /// When the screen is to be drawn.
    pub(super) draw_at: Option<Instant>,
}

/// What an interrupt found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Interrupted {
    /// A turn, which it stopped.
    Turn,
    /// The line, which it cleared.
    Line,
    /// Work that goes on, of which the person was told instead of leaving.
    Work,
}

/// How a dialogue ends.
#[derive(Debug)]
pub(super) enum End {
    /// The person leaves.
    Over(Exit),
    /// Another session takes its place.
    Switch(Box<Prepared>),
}

/// What the loop takes.
enum Input {
    Deed(Deed),
    Live(Live),
    Status,
    /// The session has ended by itself.
    Gone,
    Draw,
    Tick,
}

impl Dialogue<'_> {
    /// Talks until the dialogue ends, beginning with what the person said before, if anything.
    pub(super) async fn hold(&mut self, opening: Option<String>) -> Result<End, Failure> {
        if let Some(line) = opening
            && let Some(end) = self.said(line).await?
        {
            return Ok(end);
        }
        loop {
            let input = self.next().await?;
            let at_once = matches!(input, Input::Draw | Input::Deed(_));
            if let Some(end) = self.handle(input).await? {
                return Ok(end);
            }
            if self.person.screen.is_gone() {
                return Ok(End::Over(Exit::Cancelled));
            }
            if (at_once && !self.person.has_typed()) || self.person.screen.is_full() {
                self.draw();
            } else {
                self.draw_at.get_or_insert_with(|| Instant::now() + FRAME);
            }
        }
    }

    async fn next(&mut self) -> Result<Input, Failure> {
        let busy = self.is_busy();
        let draw_at = self.draw_at;
        Ok(tokio::select! {
            biased;
            deed = self.person.next() => Input::Deed(deed),
            () = at(draw_at) => Input::Draw,
            live = self.events.next() => live?.map_or(Input::Gone, Input::Live),
            changed = self.status.changed() => changed.map_or(Input::Gone, |()| Input::Status),
            () = tokio::time::sleep(TICK), if busy => Input::Tick,
        })
    }

    async fn handle(&mut self, input: Input) -> Result<Option<End>, Failure> {
        match input {
            Input::Deed(deed) => return self.deed(deed).await,
            Input::Live(live) => self.live(&live),
            Input::Gone => {
                self.complain("the session has ended; nothing that was finished is lost");
                return Ok(Some(End::Over(Exit::Failed)));
            }
            Input::Status => {
                let paused = self.status.borrow_and_update().paused.clone();
                if let Some(reason) = paused {
                    self.complain(&format!("{reason}; nothing that was finished is lost"));
                    return Ok(Some(End::Over(Exit::Failed)));
                }
            }
            Input::Draw | Input::Tick => {}
        }
        Ok(None)
    }

    async fn deed(&mut self, deed: Deed) -> Result<Option<End>, Failure> {
        match deed {
            Deed::Key(key) => {
                self.hint = None;
                let pressed = self.person.editor.press(key);
                if !matches!(pressed, Pressed::Interrupt | Pressed::Leave) {
                    self.interrupted = None;
                }
                return self.pressed(pressed).await;
            }
            Deed::Signal(Signal::Interrupt) => return self.interrupt().await,
            Deed::Signal(Signal::End) => return Ok(Some(End::Over(Exit::Cancelled))),
            Deed::Gone => return Ok(Some(End::Over(Exit::Success))),
            Deed::Resized => self.person.screen.resize(),
            Deed::Continued => self.person.screen.take(),
        }
        Ok(None)
    }

    async fn pressed(&mut self, pressed: Pressed) -> Result<Option<End>, Failure> {
        match pressed {
            Pressed::Edited => {}
            Pressed::Sent(line) => return self.said(line).await,
            Pressed::Complete => self.complete(),
            Pressed::Interrupt => return self.interrupt().await,
            Pressed::Leave => return self.leave_or_warn(),
            Pressed::Expand => self.expand(1),
            Pressed::Redraw => self.person.screen.clear(),
            Pressed::TooLong => {
                self.complain("that is more than a prompt may have; put it into a file and name the file")
            }
        }
        Ok(None)
    }

    /// Leaves, but for the first time while others are at work: then it says who, and what becomes of them.
    fn leave_or_warn(&mut self) -> Result<Option<End>, Failure> {
        let AtWork { agents, commands, .. } = AtWork::read(&self.opened.session)?;
        let warned = matches!(self.interrupted, Some((_, Interrupted::Work)));
        if warned || agents.is_empty() && commands.is_empty() {
            return Ok(Some(End::Over(Exit::Success)));
        }
        self.interrupted = Some((Instant::now(), Interrupted::Work));
        if !agents.is_empty() {
            let (who, id) = (agents.join(", "), self.opened.session.id());
            self.tell(&exact(&format!("at work: {who}; leaving interrupts them until bosun --resume {id}")));
        }
        if !commands.is_empty() {
            self.tell(&exact(&format!("running: {}; leaving stops them for good", commands.join(", "))));
        }
        self.hint = Some("Ctrl-D again leaves");
        Ok(None)
    }

    /// The first stops the turn, or clears the line; the second within two seconds ends the session.
    async fn interrupt(&mut self) -> Result<Option<End>, Failure> {
        let what = if self.is_busy() { Interrupted::Turn } else { Interrupted::Line };
        let before = self.interrupted.replace((Instant::now(), what));
        let before = before.filter(|(at, what)| at.elapsed() < TWICE && *what != Interrupted::Work);
        let before = before.map(|(_, what)| what);
        let session = &self.opened.session;
        match (before, what) {
            (Some(Interrupted::Turn), _) | (Some(_), Interrupted::Turn) => {
                let stopped = session.stop(CancelBy::User).await;
                self.accepted(stopped)?;
                return Ok(Some(End::Over(Exit::Cancelled)));
            }
            (Some(Interrupted::Line | Interrupted::Work), Interrupted::Line | Interrupted::Work) => {
                return Ok(Some(End::Over(Exit::Success)));
            }
            (None, Interrupted::Turn) => {
                let stopped = session.interrupt().await;
                self.accepted(stopped)?;
                self.hint = Some("stopping; Ctrl-C again ends the session");
            }
            (None, Interrupted::Line | Interrupted::Work) => {
                self.person.editor.replace("");
                self.person.screen.line_ended();
                self.hint = Some("Ctrl-C again leaves");
            }
        }
        Ok(None)
    }

    /// Sends what is meant for the model, and does what is meant for Bosun.
    async fn said(&mut self, line: String) -> Result<Option<End>, Failure> {
        self.person.screen.line_ended();
        if !matches!(self.opened.slashes.look(&line), Looked::NotACommand) {
            return self.command(&line).await;
        }
        if !self.asks.is_empty() {
            self.answer(&line).await?;
        } else if !line.trim().is_empty() {
            self.person.editor.history().add(&line);
            self.send(&line).await?;
        }
        Ok(None)
    }

    async fn send(&mut self, line: &str) -> Result<(), Failure> {
        self.echo(LINE, line);
        let (text, images, delivery) = (line.trim().to_owned(), Vec::new(), Delivery::FollowUp);
        self.post(SendParams { task: None, text, images, delivery, display: None }).await
    }

    /// Sends a message, to be read soon.
    pub(super) async fn post(&mut self, message: SendParams) -> Result<(), Failure> {
        let busy = self.is_busy();
        let delivery = if busy { Delivery::Steer } else { Delivery::FollowUp };
        let sent = self.opened.session.post(SendParams { delivery, ..message }).await;
        if let Some(receipt) = self.accepted(sent)? {
            self.feed.sent(receipt.mail);
            if busy {
                self.tell("it reads this before its next step");
            }
        }
        Ok(())
    }

    /// Tells what the session refused; anything worse ends the dialogue.
    pub(super) fn accepted<T>(&mut self, given: Result<T, Rejected>) -> Result<Option<T>, Failure> {
        match given {
            Ok(given) => Ok(Some(given)),
            Err(rejected @ (Rejected::Refused(_) | Rejected::Rule(_) | Rejected::Hook(_))) => {
                self.complain(&rejected.to_string());
                Ok(None)
            }
            Err(worse @ (Rejected::Paused(_) | Rejected::Gone)) => Err(worse.into()),
        }
    }

    pub(super) fn is_busy(&self) -> bool {
        let status = self.status.borrow();
        status.continuation_due || status.root.is_some() && !status.root_is_at_rest()
    }

    pub(super) fn background(&self) -> usize {
        self.status.borrow().background
    }
}

async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment.into()).await,
        None => std::future::pending().await,
    }
}

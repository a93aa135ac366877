//! How a dialogue begins and ends.

use std::time::Instant;

use protocol::SessionId;
use runtime::Start;
use store::Reader;

use super::asks::Asks;
use super::calls::Calls;
use super::dialogue::{Dialogue, End};
use super::feed::Feed;
use super::open::{self, Opened};
use super::person::Person;
use super::text::{Lead, Row, Span, wrap};
use super::view::LINE;
use crate::args::RunArgs;
use crate::failure::Failure;
use crate::run::Figures;
use crate::sessions;
use crate::setup::Setup;
use crate::style::Role;

/// What stays of a dialogue for the one that follows it.
#[derive(Debug)]
pub(super) struct Before {
    session: SessionId,
    /// The calls that `/show` can show again.
    calls: Calls,
}

impl<'a> Dialogue<'a> {
    /// Says what the session is, and lets what was interrupted go on. What was said before is known to a person who
    /// has just talked to the same session.
    pub(super) async fn begin(
        setup: &'a Setup,
        args: &'a RunArgs,
        person: &'a mut Person,
        opened: Opened,
        before: Option<Before>,
    ) -> Result<Dialogue<'a>, Failure> {
        let session = &opened.session;
        let mut feed = Feed::new(session.root(), person.screen.style());
        let known = before.filter(|before| before.session == session.id());
        let is_known = known.is_some();
        if let Some(before) = known {
            feed.keep(before.calls);
        }
        session.tasks()?.iter().for_each(|task| feed.started_before(task.id, task.kind, &task.name));
        let (events, status) = (session.subscribe(session.first_seq()), session.status());
        person.editor.history().hide(opened.secrets.clone());
        let (interrupted, hint, draw_at, asks) = (None, None, Some(Instant::now()), Asks::default());
        let mut dialogue =
            Dialogue { setup, args, person, opened, feed, asks, events, status, interrupted, hint, draw_at };
        dialogue.show(open::greeting(&dialogue.opened, dialogue.columns()));
        if !is_known {
            dialogue.recall()?;
        }
        if let Start::Resume(_) = dialogue.opened.start {
            dialogue.opened.session.resume().await?;
        }
        Ok(dialogue)
    }

    /// Shows what was said last, and what waits for a decision.
    fn recall(&mut self) -> Result<(), Failure> {
        let session = &self.opened.session;
        let (asked, answered) = open::last_exchange(session.home(), session.id(), session.root())?;
        let waiting = Reader::open(session.home(), session.id())?.asks(false)?;
        if !asked.is_empty() {
            self.quote(LINE, &asked);
        }
        let rows = self.feed.again(&answered, self.columns());
        self.show(rows);
        for view in waiting {
            let whose = view.path.trim_start_matches("/root").trim_start_matches('/').to_owned();
            self.feed.asked_before(view.task, &view.ask);
            self.ask(view.task, &whose, view.ask);
        }
        Ok(())
    }

    /// Leaves the session, and says how to come back unless that happens now. One in which nothing was said is not
    /// kept.
    pub(super) async fn leave(mut self, end: &End) -> Result<Before, Failure> {
        let columns = self.columns();
        let (home, id) = (self.setup.home.clone(), self.opened.session.id());
        let unfinished = self.feed.rest(columns);
        self.show(unfinished);
        let empty = self.opened.session.view()?.title.is_empty();
        self.opened.session.leave().await?;
        match end {
            End::Switch(next) if next.start == Start::Resume(id) => self.person.screen.show([Row::new()]),
            End::Switch(_) | End::Over(_) if empty => sessions::remove(&home, id)?,
            End::Switch(_) | End::Over(_) => {
                let figures = Figures::read(&Reader::open(&home, id)?)?;
                let dim = |words: String| wrap(&[Span::new(Role::Dim, &words)], columns, &Lead::default());
                let rows = figures.line().into_iter().chain([format!("go on with: bosun --resume {id}")]);
                self.person.screen.show([Row::new()].into_iter().chain(rows.flat_map(dim)));
                if let End::Switch(_) = end {
                    self.person.screen.show([Row::new()]);
                }
            }
        }
        Ok(Before { session: id, calls: self.feed.into_calls() })
    }
}

//! What the session asks of the person, and what they decide.

use std::path::Path;
use std::time::Instant;

use protocol::{Ask, Event, TaskId};
use runtime::Live;

use super::asks::{Said, Whole};
use super::dialogue::Dialogue;
use super::settle::{Change, Next, Told, decide, hear};
use crate::approvals;
use crate::failure::Failure;

impl Dialogue<'_> {
    /// Shows what happened, and takes in what it asks of the person.
    pub(super) fn live(&mut self, live: &Live) {
        let rows = self.feed.live(live, Instant::now(), self.columns());
        self.show(rows);
        let Live::Event(envelope) = live else { return };
        let task = envelope.entry.task;
        match hear(&mut self.asks, task, &envelope.entry.event) {
            Change::None => {}
            Change::Asked(ask) => {
                let whose = self.feed.whose(task).to_owned();
                self.ask(task, &whose, ask);
            }
            Change::Decided { words: Some(words), next, .. } => {
                self.tell(&words);
                self.turn_to(next);
            }
            Change::Decided { words: None, .. } => {}
            Change::Withdrawn(next) => self.turn_to(next),
        }
        let is_own = task == self.opened.session.root();
        if is_own && matches!(envelope.entry.event, Event::ActivationEnded { .. }) {
            self.hint = None;
        }
    }

    /// Lines up something that waits for the person.
    pub(super) fn ask(&mut self, task: TaskId, whose: &str, ask: Ask) {
        let session = &self.opened.session;
        let number = approvals::number(session.home(), session.id(), &ask.id);
        if self.asks.add(task, whose, number, ask) {
            self.turn_to(Next::Other);
        }
    }

    /// Shows the ask that has come to the front, or lets the person go on writing.
    fn turn_to(&mut self, next: Next) {
        if self.asks.is_empty() {
            self.person.editor.replace("");
            self.person.editor.take_up();
        } else if next == Next::Other {
            self.person.editor.put_aside();
            self.person.editor.replace("");
            self.show_ask(Whole::Most);
        }
    }

    /// Shows the ask that is at the front. A dumb terminal has no panel that would say what can be typed.
    fn show_ask(&mut self, whole: Whole) {
        let columns = self.columns();
        self.show(self.asks.rows(whole, columns));
        if self.person.screen.is_dumb() {
            self.show(self.asks.hint(columns));
        }
    }

    /// Decides on the ask that is shown.
    pub(super) async fn answer(&mut self, line: &str) -> Result<(), Failure> {
        let prompt = self.asks.prompt().unwrap_or_default();
        self.echo(&prompt, line);
        match self.asks.answer(line) {
            Said::More => {}
            Said::Explain => self.show_ask(Whole::All),
            Said::Unclear(words) => self.tell(words),
            Said::Decided(params) => {
                let cwd = Path::new(&self.opened.cwd);
                for told in decide(&self.opened.session, self.setup, cwd, params).await? {
                    match told {
                        Told::Note(words) => self.tell(&words),
                        Told::Complaint(words) => self.complain(&words),
                    }
                }
                self.turn_to(Next::Other);
            }
        }
        Ok(())
    }
}

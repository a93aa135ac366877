//! What the session asks of the person, and what they decide.

use std::path::Path;
use std::time::Instant;

use protocol::{Ask, Event, TaskId};
use runtime::BusMessage;

use super::ask_queue::{AskDetail, AskInputResult};
use super::ask_updates::{AskChange, DecisionNotice, FrontAsk, apply_event, send_decision};
use super::dialogue::Dialogue;
use crate::approvals;
use crate::error::CliError;

impl Dialogue<'_> {
    /// Shows what happened, and takes in what it asks of the person.
    pub(super) fn handle_live(&mut self, live: &BusMessage) {
        let rows = self.feed.handle_live(live, Instant::now(), self.columns());
        self.show(rows);
        let BusMessage::Event(envelope) = live else { return };
        let task = envelope.entry.task;
        match apply_event(&mut self.asks, task, &envelope.entry.event) {
            AskChange::None => {}
            AskChange::Asked(ask) => {
                let whose = self.feed.task_name(task).to_owned();
                self.ask(task, &whose, ask);
            }
            AskChange::Decided { words: Some(words), next, .. } => {
                self.show_note(&words);
                self.show_next_ask(next);
            }
            AskChange::Decided { words: None, .. } => {}
            AskChange::Withdrawn(next) => self.show_next_ask(next),
        }
        let is_own = task == self.chat.session.root();
        if is_own && matches!(envelope.entry.event, Event::ActivationEnded { .. }) {
            self.hint = None;
        }
    }

    /// Lines up something that waits for the person.
    pub(super) fn ask(&mut self, task: TaskId, whose: &str, ask: Ask) {
        let session = &self.chat.session;
        let number = approvals::ask_number(session.home(), session.id(), &ask.id);
        if self.asks.add(task, whose, number, ask) {
            self.show_next_ask(FrontAsk::Changed);
        }
    }

    /// Shows the ask that has come to the front, or lets the person go on writing.
    fn show_next_ask(&mut self, next: FrontAsk) {
        if self.asks.is_empty() {
            self.terminal.editor.replace("");
            self.terminal.editor.restore_draft();
        } else if next == FrontAsk::Changed {
            self.terminal.editor.save_draft();
            self.terminal.editor.replace("");
            self.show_ask(AskDetail::Most);
        }
    }

    /// Shows the ask that is at the front. A dumb terminal has no panel that would say what can be typed.
    fn show_ask(&mut self, whole: AskDetail) {
        let columns = self.columns();
        self.show(self.asks.rows(whole, columns));
        if self.terminal.screen.is_dumb() {
            self.show(self.asks.hint(columns));
        }
    }

    /// Decides on the ask that is shown.
    pub(super) async fn answer(&mut self, line: &str) -> Result<(), CliError> {
        let prompt = self.asks.prompt().unwrap_or_default();
        self.echo(&prompt, line);
        match self.asks.answer(line) {
            AskInputResult::More => {}
            AskInputResult::Explain => self.show_ask(AskDetail::All),
            AskInputResult::Unclear(words) => self.show_note(words),
            AskInputResult::Decided(params) => {
                let cwd = Path::new(&self.chat.cwd);
                for told in send_decision(&self.chat.session, self.setup, cwd, params).await? {
                    match told {
                        DecisionNotice::Note(words) => self.show_note(&words),
                        DecisionNotice::Error(words) => self.show_error(&words),
                    }
                }
                self.show_next_ask(FrontAsk::Changed);
            }
        }
        Ok(())
    }
}

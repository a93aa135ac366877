//! Asks of the session, and decisions of the user.

use std::path::Path;
use std::time::Instant;

use client::SessionMessage;
use protocol::{Ask, Event, TaskId};

use super::ask_queue::{AskDetail, AskInputResult};
use super::ask_updates::{AskChange, CurrentAsk, DecisionNotice, apply_event, ask_number, send_decision};
use super::dialogue::Dialogue;
use super::owner::{ConversationError, ConversationOwner};

impl<O: ConversationOwner> Dialogue<'_, O> {
    /// Shows an event, and updates the asks.
    pub(super) fn handle_message(&mut self, message: &SessionMessage) {
        let rows = self.feed.handle_message(message, Instant::now(), self.columns());
        self.show(rows);
        let SessionMessage::Event(envelope) = message else { return };
        let task = envelope.entry.task;
        match apply_event(&mut self.asks, task, &envelope.entry.event) {
            AskChange::None => {}
            AskChange::Opened(ask) => {
                let task_name = self.feed.task_name(task).to_owned();
                self.enqueue_ask(task, &task_name, ask);
            }
            AskChange::Decided { words: Some(text), next, .. } => {
                self.show_note(&text);
                self.refresh_ask(next);
            }
            AskChange::Decided { words: None, .. } => {}
            AskChange::Withdrawn(next) => self.refresh_ask(next),
        }
        let is_root = task == self.chat.root;
        if is_root && matches!(envelope.entry.event, Event::ActivationEnded { .. }) {
            self.hint = None;
        }
    }

    /// Adds an ask to the queue.
    pub(super) fn enqueue_ask(&mut self, task: TaskId, task_name: &str, ask: Ask) {
        let number = ask_number(&self.chat.session, &ask.id);
        if self.asks.add(task, task_name, number, ask) {
            self.refresh_ask(CurrentAsk::Changed);
        }
    }

    /// Shows the current ask if it has changed; without open asks, restores the user's draft.
    fn refresh_ask(&mut self, change: CurrentAsk) {
        if self.asks.is_empty() {
            self.terminal.editor.replace("");
            self.terminal.editor.restore_draft();
        } else if change == CurrentAsk::Changed {
            self.terminal.editor.save_draft();
            self.terminal.editor.replace("");
            self.show_ask(AskDetail::Clipped);
        }
    }

    /// Shows the current ask. A dumb terminal has no panel for the hint.
    fn show_ask(&mut self, detail: AskDetail) {
        let columns = self.columns();
        self.show(self.asks.current_rows(detail, columns));
        if self.terminal.screen.is_dumb() {
            self.show(self.asks.input_hint_rows(columns));
        }
    }

    /// Answers the current ask.
    pub(super) async fn answer(&mut self, line: &str) -> Result<(), ConversationError> {
        let prompt = self.asks.prompt().unwrap_or_default();
        self.echo(&prompt, line);
        match self.asks.answer(line) {
            AskInputResult::NeedsReason => {}
            AskInputResult::Explain => self.show_ask(AskDetail::Full),
            AskInputResult::Unclear(text) => self.show_note(text),
            AskInputResult::Decided(params) => {
                let cwd = Path::new(&self.chat.cwd);
                for notice in send_decision(&self.chat.session, self.owner, cwd, params).await? {
                    match notice {
                        DecisionNotice::Note(text) => self.show_note(&text),
                        DecisionNotice::Error(text) => self.show_error(&text),
                    }
                }
                self.refresh_ask(CurrentAsk::Changed);
            }
        }
        Ok(())
    }
}

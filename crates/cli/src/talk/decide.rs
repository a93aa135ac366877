//! What the session asks of the person, and what they decide.

use std::path::Path;
use std::time::Instant;

use protocol::{Ask, Decision, Event, TaskId};
use runtime::Live;

use super::asks::{Said, Whole};
use super::dialogue::Dialogue;
use crate::approvals;
use crate::args::Place;
use crate::failure::Failure;

impl Dialogue<'_> {
    /// Shows what happened, and takes in what it asks of the person.
    pub(super) fn live(&mut self, live: &Live) {
        let rows = self.feed.live(live, Instant::now(), self.columns());
        self.show(rows);
        let Live::Event(envelope) = live else { return };
        let task = envelope.entry.task;
        match &envelope.entry.event {
            Event::Asked(ask) => {
                let whose = self.feed.whose(task).to_owned();
                self.ask(task, &whose, ask.clone());
            }
            Event::AskDecided { ask, decision, .. } => {
                let shown = self.asks.current() == Some(ask);
                if let Some(title) = self.asks.decided(ask) {
                    self.tell(&format!("{} elsewhere: {title}", decision.word()));
                    self.turn_to_next(shown);
                }
            }
            Event::CallAnswered { call, .. } => {
                let before = self.asks.current().cloned();
                if self.asks.withdrawn(task, call) {
                    self.turn_to_next(before.as_ref() != self.asks.current());
                }
            }
            Event::ActivationEnded { .. } if task == self.opened.session.root() => self.hint = None,
            _other => {}
        }
    }

    /// Lines up something that waits for the person.
    pub(super) fn ask(&mut self, task: TaskId, whose: &str, ask: Ask) {
        let session = &self.opened.session;
        let number = approvals::number(session.home(), session.id(), &ask.id);
        if self.asks.add(task, whose, number, ask) {
            self.turn_to_next(true);
        }
    }

    /// Shows the ask that has come to the front, or lets the person go on writing.
    fn turn_to_next(&mut self, changed: bool) {
        if self.asks.is_empty() {
            self.person.editor.replace("");
            self.person.editor.take_up();
        } else if changed {
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
                let rules = match &params.decision {
                    Decision::Allow { rules, .. } => rules.clone(),
                    Decision::Deny { .. } | Decision::Reply { .. } | Decision::Proceed { .. } => Vec::new(),
                };
                let decided = self.opened.session.decide(params).await;
                if self.accepted(decided)?.is_some() {
                    rules.iter().for_each(|rule| self.remember(rule));
                }
                self.turn_to_next(true);
            }
        }
        Ok(())
    }

    /// Keeps a rule for this project. The session follows it already.
    fn remember(&mut self, rule: &str) {
        let cwd = Path::new(&self.opened.cwd);
        match approvals::remember(self.setup, cwd, rule, Place::Local) {
            Ok(path) => self.tell(&format!("`{rule}` is allowed from now on; it stands in {}", path.display())),
            Err(failure) => self.complain(&format!("`{rule}` is allowed for this session only: {failure}")),
        }
    }
}

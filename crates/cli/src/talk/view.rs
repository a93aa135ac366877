//! What the person sees of a dialogue.

use std::time::Instant;

use super::dialogue::Dialogue;
use super::panel::Panel;
use super::text::{Lead, Row, Span, wrap};
use crate::style::Role;

/// What a line for the model begins with.
pub(super) const LINE: &str = "> ";

/// Most rows that are shown of what the person wrote.
const ECHO: usize = 12;

impl Dialogue<'_> {
    pub(super) fn columns(&self) -> usize {
        self.person.screen.columns()
    }

    pub(super) fn show(&mut self, rows: impl IntoIterator<Item = Row>) {
        self.person.screen.show(rows);
    }

    /// Tells something in passing.
    pub(super) fn tell(&mut self, words: &str) {
        let rows = wrap(&[Span::new(Role::Dim, words)], self.columns(), &Lead::hanging(Span::plain("  ")));
        self.show(rows);
    }

    /// Tells what went wrong.
    pub(super) fn complain(&mut self, words: &str) {
        let lead = Lead::hanging(Span::new(Role::Bad, "! "));
        let rows = wrap(&[Span::new(Role::Bad, words)], self.columns(), &lead);
        self.show(rows);
    }

    /// Keeps what was typed on the screen. A dumb terminal has done that by itself.
    pub(super) fn echo(&mut self, prompt: &str, text: &str) {
        if !self.person.screen.is_dumb() {
            self.quote(prompt, text);
        }
    }

    /// Shows what a person wrote.
    pub(super) fn quote(&mut self, prompt: &str, text: &str) {
        if prompt == LINE {
            self.show([Row::new()]);
        }
        let lead = Lead::hanging(Span::new(Role::Accent, prompt));
        let rest = Lead::same(Span::plain(&" ".repeat(prompt.len())));
        let lines = text.trim_end().split('\n').enumerate();
        let mut rows: Vec<Row> = lines
            .take(ECHO + 1)
            .flat_map(|(at, line)| wrap(&[Span::plain(line)], self.columns(), if at == 0 { &lead } else { &rest }))
            .collect();
        if rows.len() > ECHO {
            rows.truncate(ECHO);
            let more = text.trim_end().split('\n').count();
            rows.push(vec![Span::new(Role::Dim, &format!("  … {more} lines in all"))]);
        }
        self.show(rows);
    }

    /// Draws the screen.
    pub(super) fn draw(&mut self) {
        self.draw_at = None;
        let columns = self.columns();
        let prompt = self.asks.prompt();
        let ready = prompt.is_some() || !self.is_busy();
        let prompt = prompt.as_deref().unwrap_or(LINE);
        let notes = self.notes(columns);
        let draft = self.person.editor.draft();
        let panel = Panel { tail: self.feed.tail(columns), notes, prompt, draft };
        let laid = panel.lay(self.person.screen.size());
        self.person.screen.draw(&laid, ready.then_some(prompt));
    }

    fn notes(&self, columns: usize) -> Vec<Row> {
        let dim = |words: &str| wrap(&[Span::new(Role::Dim, words)], columns, &Lead::default());
        if !self.asks.is_empty() {
            return self.asks.hint(columns);
        }
        match (self.hint, self.is_busy(), self.background()) {
            (Some(hint), ..) => dim(hint),
            (None, true, _) => {
                let stops = " (Ctrl-C stops)";
                let status = self.feed.status(Instant::now(), columns.saturating_sub(stops.len() + 2));
                dim(&format!("… {status}{stops}"))
            }
            (None, false, 0) => Vec::new(),
            (None, false, 1) => dim("1 task runs in the background"),
            (None, false, count) => dim(&format!("{count} tasks run in the background")),
        }
    }
}

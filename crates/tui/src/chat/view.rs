//! Draws a dialogue.

use std::time::Instant;

use super::dialogue::Dialogue;
use super::owner::ConversationOwner;
use super::panel::Panel;
use super::text::{LinePrefix, StyledRow, StyledSpan, wrap, wrap_entry};
use crate::style::TextRole;

/// The prompt of a message to the model.
pub(super) const MESSAGE_PROMPT: &str = "> ";

/// Maximum rows shown of the user's message.
const MAX_ECHO_ROWS: usize = 12;

impl<O: ConversationOwner> Dialogue<'_, O> {
    pub(super) fn columns(&self) -> usize {
        self.terminal.screen.columns()
    }

    pub(super) fn show(&mut self, rows: impl IntoIterator<Item = StyledRow>) {
        self.terminal.screen.show(rows);
    }

    /// Shows a note.
    pub(super) fn show_note(&mut self, text: &str) {
        let rows = wrap(
            &[StyledSpan::new(TextRole::Dim, text)],
            self.columns(),
            &LinePrefix::hanging(StyledSpan::plain("  ")),
        );
        self.show(rows);
    }

    /// Shows a line of a list: a name and its description, with at least two spaces between them.
    pub(super) fn show_entry(&mut self, line: &str) {
        let rows = wrap_entry(line, TextRole::Dim, self.columns());
        self.show(rows);
    }

    /// Shows an error.
    pub(super) fn show_error(&mut self, text: &str) {
        let lead = LinePrefix::hanging(StyledSpan::new(TextRole::Bad, "! "));
        let rows = wrap(&[StyledSpan::new(TextRole::Bad, text)], self.columns(), &lead);
        self.show(rows);
    }

    /// Keeps the typed line on the screen. A dumb terminal does that by itself.
    pub(super) fn echo(&mut self, prompt: &str, text: &str) {
        if !self.terminal.screen.is_dumb() {
            self.show_user_text(prompt, text);
        }
    }

    /// Shows a line of the user.
    pub(super) fn show_user_text(&mut self, prompt: &str, text: &str) {
        if prompt == MESSAGE_PROMPT {
            self.show([StyledRow::new()]);
        }
        let lead = LinePrefix::hanging(StyledSpan::new(TextRole::Accent, prompt));
        let rest = LinePrefix::repeated(StyledSpan::plain(&" ".repeat(prompt.len())));
        let lines = text.trim_end().split('\n').enumerate();
        let mut rows: Vec<StyledRow> = lines
            .take(MAX_ECHO_ROWS + 1)
            .flat_map(|(index, line)| {
                wrap(&[StyledSpan::plain(line)], self.columns(), if index == 0 { &lead } else { &rest })
            })
            .collect();
        if rows.len() > MAX_ECHO_ROWS {
            rows.truncate(MAX_ECHO_ROWS);
            let total = text.trim_end().split('\n').count();
            rows.push(vec![StyledSpan::new(TextRole::Dim, &format!("  … {total} lines in total"))]);
        }
        self.show(rows);
    }

    /// Draws the screen.
    pub(super) fn draw(&mut self) {
        self.draw_at = None;
        let columns = self.columns();
        let prompt = self.asks.prompt();
        let ready = prompt.is_some() || !self.is_busy();
        let prompt = prompt.as_deref().unwrap_or(MESSAGE_PROMPT);
        let notes = self.status_rows(columns);
        let draft = self.terminal.editor.draft();
        let panel = Panel { tail: self.feed.incomplete_rows(columns), notes, prompt, draft };
        let layout = panel.layout(self.terminal.screen.size());
        self.terminal.screen.draw(&layout, ready.then_some(prompt));
    }

    fn status_rows(&self, columns: usize) -> Vec<StyledRow> {
        let dim = |text: &str| wrap(&[StyledSpan::new(TextRole::Dim, text)], columns, &LinePrefix::default());
        if !self.asks.is_empty() {
            return self.asks.input_hint_rows(columns);
        }
        match (self.hint, self.is_busy(), self.background_count()) {
            (Some(hint), ..) => dim(hint),
            (None, true, _) => {
                let suffix = " (Ctrl-C stops)";
                let status = self.feed.status(Instant::now(), columns.saturating_sub(suffix.len() + 2));
                dim(&format!("… {status}{suffix}"))
            }
            (None, false, 0) => Vec::new(),
            (None, false, 1) => dim("1 task runs in the background"),
            (None, false, count) => dim(&format!("{count} tasks run in the background")),
        }
    }
}

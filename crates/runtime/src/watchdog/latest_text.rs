//! The latest text of a run, kept for when the kernel ends the run.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use protocol::Turn;

/// Maximum bytes of text to keep; the log has the full text of complete answers.
const MAX_BYTES: usize = 16 * 1024;

/// The latest text of a run. Clones share the text.
#[derive(Debug, Clone, Default)]
pub(crate) struct LatestText(Arc<Mutex<TurnText>>);

#[derive(Debug, Default)]
struct TurnText {
    /// The turn that the text is from.
    turn: Option<Turn>,
    text: String,
}

impl LatestText {
    /// Sets the text that the task had before this run.
    pub(crate) fn set_initial(&self, text: &str) {
        *self.lock() = TurnText { turn: None, text: prefix_within(text, MAX_BYTES).to_owned() };
    }

    /// Adds a piece of an answer; the first piece of a turn replaces the text of earlier turns.
    pub(crate) fn push(&self, turn: Turn, piece: &str) {
        let mut latest = self.lock();
        if latest.turn != Some(turn) {
            *latest = TurnText { turn: Some(turn), text: String::new() };
        }
        let room = MAX_BYTES - latest.text.len();
        latest.text.push_str(prefix_within(piece, room));
    }

    /// A copy of the text.
    pub(crate) fn text(&self) -> String {
        self.lock().text.clone()
    }

    fn lock(&self) -> MutexGuard<'_, TurnText> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn prefix_within(text: &str, max_bytes: usize) -> &str {
    &text[..text.floor_char_boundary(max_bytes)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_a_new_turn_replaces_earlier_text() {
        let latest = LatestText::default();
        latest.set_initial("before");
        assert_eq!(latest.text(), "before");
        for (turn, piece) in [(1, "a"), (1, "b"), (2, "c"), (2, "d")] {
            latest.push(Turn(turn), piece);
        }
        assert_eq!(latest.text(), "cd");
    }

    #[test]
    fn kept_text_is_bounded() {
        let latest = LatestText::default();
        for _ in 0..100 {
            latest.push(Turn(1), &"é".repeat(1000));
        }
        assert_eq!(latest.text().len(), MAX_BYTES);
        latest.set_initial(&"é".repeat(MAX_BYTES));
        assert_eq!(latest.text().len(), MAX_BYTES);
    }
}

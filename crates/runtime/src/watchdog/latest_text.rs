//! The latest words of a run, for when it is ended by somebody who does not know them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use protocol::Turn;

/// Most bytes that are kept; the log has the rest of what was said to its end.
const MOST: usize = 16 * 1024;

/// The latest words of a run. Copies are of the same run.
#[derive(Debug, Clone, Default)]
pub(crate) struct LatestText(Arc<Mutex<TurnText>>);

#[derive(Debug, Default)]
struct TurnText {
    /// The turn that says it.
    turn: Option<Turn>,
    text: String,
}

impl LatestText {
    /// Begins with what was said before the run had the floor.
    pub(crate) fn begin(&self, text: &str) {
        *self.lock() = TurnText { turn: None, text: clip_start(text, MOST).to_owned() };
    }

    /// Takes a piece of an answer; the first of a turn takes the place of what the turns before it said.
    pub(crate) fn push(&self, turn: Turn, piece: &str) {
        let mut said = self.lock();
        if said.turn != Some(turn) {
            *said = TurnText { turn: Some(turn), text: String::new() };
        }
        let room = MOST - said.text.len();
        said.text.push_str(clip_start(piece, room));
    }

    /// The words.
    pub(crate) fn text(&self) -> String {
        self.lock().text.clone()
    }

    fn lock(&self) -> MutexGuard<'_, TurnText> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn clip_start(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_turn_that_said_anything_has_the_last_word() {
        let words = LatestText::default();
        words.begin("before");
        assert_eq!(words.text(), "before");
        for (turn, piece) in [(1, "a"), (1, "b"), (2, "c"), (2, "d")] {
            words.push(Turn(turn), piece);
        }
        assert_eq!(words.text(), "cd");
    }

    #[test]
    fn words_without_end_take_bounded_room() {
        let words = LatestText::default();
        for _ in 0..100 {
            words.push(Turn(1), &"é".repeat(1000));
        }
        assert_eq!(words.text().len(), MOST);
        words.begin(&"é".repeat(MOST));
        assert_eq!(words.text().len(), MOST);
    }
}

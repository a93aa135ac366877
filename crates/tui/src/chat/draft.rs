//! The text of the input line, and its cursor.

use unicode_segmentation::UnicodeSegmentation;

use crate::print;

/// A text with a cursor, which is never inside a grapheme.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct InputDraft {
    text: String,
    /// Byte offset in the text.
    cursor: usize,
}

impl InputDraft {
    /// Creates a draft with the cursor at its end.
    pub(super) fn new(text: &str) -> InputDraft {
        let mut draft = InputDraft::default();
        draft.insert(text);
        draft
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    pub(super) fn before_cursor(&self) -> &str {
        &self.text[..self.cursor]
    }

    pub(super) fn after_cursor(&self) -> &str {
        &self.text[self.cursor..]
    }

    pub(super) fn insert(&mut self, text: &str) {
        let text = print::sanitize(text);
        self.text.insert_str(self.cursor, &text);
        self.cursor += text.len();
    }

    pub(super) fn backspace(&mut self) {
        let from = self.cursor - self.last_grapheme_len(self.before_cursor());
        self.remove(from, self.cursor);
    }

    pub(super) fn delete(&mut self) {
        let to = self.cursor + self.first_grapheme_len(self.after_cursor());
        self.remove(self.cursor, to);
    }

    pub(super) fn left(&mut self) {
        self.cursor -= self.last_grapheme_len(self.before_cursor());
    }

    pub(super) fn right(&mut self) {
        self.cursor += self.first_grapheme_len(self.after_cursor());
    }

    /// Moves to the beginning of the line.
    pub(super) fn move_to_line_start(&mut self) {
        self.cursor = self.line_start();
    }

    /// Moves to the end of the line.
    pub(super) fn move_to_line_end(&mut self) {
        self.cursor = self.line_end();
    }

    pub(super) fn word_left(&mut self) {
        self.cursor = self.word_start();
    }

    pub(super) fn word_right(&mut self) {
        let after = self.after_cursor();
        let words = after.trim_start();
        let end = words.find(char::is_whitespace).unwrap_or(words.len());
        self.cursor += after.len() - words.len() + end;
    }

    /// Removes the word before the cursor.
    pub(super) fn erase_word(&mut self) -> String {
        self.remove(self.word_start(), self.cursor)
    }

    /// Removes the line up to the cursor.
    pub(super) fn erase_to_start(&mut self) -> String {
        self.remove(self.line_start(), self.cursor)
    }

    /// Removes the line from the cursor on.
    pub(super) fn erase_to_end(&mut self) -> String {
        self.remove(self.cursor, self.line_end())
    }

    /// Moves one line up; returns whether there is one.
    pub(super) fn up(&mut self) -> bool {
        let start = self.line_start();
        if start == 0 {
            return false;
        }
        let column = self.text[start..self.cursor].graphemes(true).count();
        let line_above = self.text[..start - 1].rfind('\n').map_or(0, |at| at + 1);
        self.cursor = self.offset_at_column(line_above, start - 1, column);
        true
    }

    /// Moves one line down; returns whether there is one.
    pub(super) fn down(&mut self) -> bool {
        let (start, end) = (self.line_start(), self.line_end());
        if end == self.text.len() {
            return false;
        }
        let column = self.text[start..self.cursor].graphemes(true).count();
        let end_below = self.text[end + 1..].find('\n').map_or(self.text.len(), |at| end + 1 + at);
        self.cursor = self.offset_at_column(end + 1, end_below, column);
        true
    }

    fn offset_at_column(&self, start: usize, end: usize, column: usize) -> usize {
        start + self.text[start..end].graphemes(true).take(column).map(str::len).sum::<usize>()
    }

    fn line_start(&self) -> usize {
        self.before_cursor().rfind('\n').map_or(0, |at| at + 1)
    }

    fn line_end(&self) -> usize {
        self.after_cursor().find('\n').map_or(self.text.len(), |at| self.cursor + at)
    }

    fn word_start(&self) -> usize {
        let before = self.before_cursor().trim_end();
        before.char_indices().rfind(|(_, c)| c.is_whitespace()).map_or(0, |(at, c)| at + c.len_utf8())
    }

    fn last_grapheme_len(&self, text: &str) -> usize {
        text.graphemes(true).next_back().map_or(0, str::len)
    }

    fn first_grapheme_len(&self, text: &str) -> usize {
        text.graphemes(true).next().map_or(0, str::len)
    }

    fn remove(&mut self, from: usize, to: usize) -> String {
        self.cursor = from;
        self.text.drain(from..to).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursor_moves_by_graphemes() {
        let mut draft = InputDraft::new("a👩‍👩‍👧é");
        draft.backspace();
        draft.left();
        assert_eq!(draft.before_cursor(), "a");
        draft.delete();
        assert_eq!(draft.text(), "a");
        draft.right();
        draft.delete();
        draft.left();
        draft.backspace();
        assert_eq!(draft.text(), "a");
    }

    #[test]
    fn cursor_moves_over_lines_and_words() {
        let mut draft = InputDraft::new("first line\nsecond  one");
        draft.word_left();
        assert_eq!(draft.after_cursor(), "one");
        assert!(draft.up());
        assert_eq!(draft.before_cursor(), "first li");
        assert!(!draft.up());
        assert!(draft.down() && !draft.down());
        assert_eq!(draft.erase_word(), "second  ");
        draft.move_to_line_start();
        draft.word_right();
        assert_eq!(draft.after_cursor(), "");
        assert_eq!(draft.erase_to_start(), "one");
        assert!(draft.up());
        assert_eq!(draft.erase_to_end(), "first line");
    }

    #[test]
    fn control_characters_are_removed_from_a_paste() {
        assert_eq!(InputDraft::new("a\u{1b}]0;x\u{7}b\nc").text(), "a]0;xb\nc");
    }
}

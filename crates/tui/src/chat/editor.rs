//! The line editor: applies keys to the input line.

use super::draft::InputDraft;
use super::history::InputHistory;
use super::key::{KeyPress, MAX_PASTE_BYTES};

/// What the dialogue must do after a key.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum EditorAction {
    /// Nothing; only the line changed.
    Edited,
    /// Handle the submitted line.
    Submitted(String),
    /// Complete the command name.
    Complete,
    /// Stop the turn or clear the line.
    Interrupt,
    /// End of input on an empty line.
    Leave,
    /// Show the last call.
    Expand,
    /// Draw everything again.
    Redraw,
    /// The text exceeds the limit of a prompt.
    TooLong,
}

/// The input line and its history.
#[derive(Debug)]
pub(super) struct LineEditor {
    draft: InputDraft,
    history: InputHistory,
    /// The position in the history, and the unsent draft.
    history_position: Option<(usize, InputDraft)>,
    /// The text erased last.
    erased: String,
    /// The draft put aside while an ask is answered.
    saved_draft: Option<InputDraft>,
}

impl LineEditor {
    pub(super) fn new(history: InputHistory) -> LineEditor {
        LineEditor {
            draft: InputDraft::default(),
            history,
            history_position: None,
            erased: String::new(),
            saved_draft: None,
        }
    }

    pub(super) fn draft(&self) -> &InputDraft {
        &self.draft
    }

    pub(super) fn history(&mut self) -> &mut InputHistory {
        &mut self.history
    }

    /// Replaces the line.
    pub(super) fn replace(&mut self, text: &str) {
        (self.draft, self.history_position) = (InputDraft::new(text), None);
    }

    /// Puts the draft aside, so that an ask can be answered.
    pub(super) fn save_draft(&mut self) {
        if self.saved_draft.is_none() {
            self.saved_draft = Some(std::mem::take(&mut self.draft));
            self.history_position = None;
        }
    }

    /// Restores the draft.
    pub(super) fn restore_draft(&mut self) {
        if let Some(draft) = self.saved_draft.take() {
            self.draft = draft;
        }
    }

    pub(super) fn press(&mut self, key: KeyPress) -> EditorAction {
        let draft = &mut self.draft;
        match key {
            KeyPress::Char(c) => return self.insert(c.encode_utf8(&mut [0; 4])),
            KeyPress::Paste(text) => return self.insert(&text),
            KeyPress::PasteTooLong => return EditorAction::TooLong,
            KeyPress::NewLine => return self.insert("\n"),
            KeyPress::Enter => return self.enter(),
            KeyPress::Tab => return EditorAction::Complete,
            KeyPress::Interrupt => return EditorAction::Interrupt,
            KeyPress::EndOfInput if draft.is_empty() => return EditorAction::Leave,
            KeyPress::Expand => return EditorAction::Expand,
            KeyPress::Redraw => return EditorAction::Redraw,
            KeyPress::Backspace => draft.backspace(),
            KeyPress::Delete | KeyPress::EndOfInput => draft.delete(),
            KeyPress::Left => draft.left(),
            KeyPress::Right => draft.right(),
            KeyPress::Home => draft.move_to_line_start(),
            KeyPress::End => draft.move_to_line_end(),
            KeyPress::WordLeft => draft.word_left(),
            KeyPress::WordRight => draft.word_right(),
            KeyPress::EraseWord => self.erased = draft.erase_word(),
            KeyPress::EraseToStart => self.erased = draft.erase_to_start(),
            KeyPress::EraseToEnd => self.erased = draft.erase_to_end(),
            KeyPress::Yank => draft.insert(&self.erased),
            KeyPress::Up => self.up(),
            KeyPress::Down => self.down(),
            KeyPress::Escape => {}
        }
        EditorAction::Edited
    }

    fn insert(&mut self, text: &str) -> EditorAction {
        if self.draft.text().len() + text.len() > MAX_PASTE_BYTES {
            return EditorAction::TooLong;
        }
        self.draft.insert(text);
        EditorAction::Edited
    }

    /// Submits the line, or continues it after a backslash.
    fn enter(&mut self) -> EditorAction {
        if self.draft.after_cursor().is_empty() && self.draft.before_cursor().ends_with('\\') {
            self.draft.backspace();
            return self.insert("\n");
        }
        self.history_position = None;
        EditorAction::Submitted(std::mem::take(&mut self.draft).text().to_owned())
    }

    fn up(&mut self) {
        if self.draft.up() {
            return;
        }
        let next = self.history_position.as_ref().map_or(0, |(ago, _)| ago + 1);
        let Some(text) = self.history.nth_newest(next) else { return };
        let older = InputDraft::new(text);
        let newer = std::mem::replace(&mut self.draft, older);
        let unsent = self.history_position.take().map_or(newer, |(_, unsent)| unsent);
        self.history_position = Some((next, unsent));
    }

    fn down(&mut self) {
        if self.draft.down() {
            return;
        }
        match self.history_position.take() {
            None => {}
            Some((0, unsent)) => self.draft = unsent,
            Some((ago, unsent)) => {
                self.draft = InputDraft::new(self.history.nth_newest(ago - 1).unwrap_or_default());
                self.history_position = Some((ago - 1, unsent));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn editor(history: &[&str]) -> (tempfile::TempDir, LineEditor) {
        let home = tempfile::tempdir().unwrap();
        let mut stored = InputHistory::open(home.path(), |text| text);
        history.iter().for_each(|text| stored.add(text));
        (home, LineEditor::new(stored))
    }

    fn write(editor: &mut LineEditor, text: &str) {
        text.chars().for_each(|c| assert_eq!(editor.press(KeyPress::Char(c)), EditorAction::Edited));
    }

    #[test]
    fn line_continues_after_a_backslash_and_in_a_paste() {
        let (_home, mut editor) = editor(&[]);
        write(&mut editor, "one\\");
        assert_eq!(editor.press(KeyPress::Enter), EditorAction::Edited);
        editor.press(KeyPress::Paste("two\nthree".into()));
        editor.press(KeyPress::NewLine);
        write(&mut editor, "four");
        assert_eq!(editor.press(KeyPress::Enter), EditorAction::Submitted("one\ntwo\nthree\nfour".into()));
        assert!(editor.draft().is_empty());
    }

    #[test]
    fn history_navigation_restores_the_draft() {
        let (_home, mut editor) = editor(&["old", "newer\ntext"]);
        write(&mut editor, "begun");
        let mut press = |key: &KeyPress, times: usize| {
            (0..times).for_each(|_| assert_eq!(editor.press(key.clone()), EditorAction::Edited));
            editor.draft().text().to_owned()
        };
        assert_eq!(press(&KeyPress::Up, 1), "newer\ntext");
        assert_eq!(press(&KeyPress::Up, 2), "old");
        assert_eq!(press(&KeyPress::Up, 1), "old");
        assert_eq!(press(&KeyPress::Down, 1), "newer\ntext");
        assert_eq!(press(&KeyPress::Down, 1), "begun");
        assert_eq!(press(&KeyPress::Down, 1), "begun");
    }

    #[test]
    fn erased_text_can_be_yanked() {
        let (_home, mut editor) = editor(&[]);
        write(&mut editor, "one two");
        editor.press(KeyPress::EraseWord);
        editor.press(KeyPress::Home);
        editor.press(KeyPress::Yank);
        assert_eq!(editor.draft().text(), "twoone ");
    }

    #[test]
    fn end_of_input_leaves_only_from_an_empty_line() {
        let (_home, mut editor) = editor(&[]);
        write(&mut editor, "a");
        assert_eq!(editor.press(KeyPress::EndOfInput), EditorAction::Edited);
        editor.press(KeyPress::Backspace);
        assert_eq!(editor.press(KeyPress::EndOfInput), EditorAction::Leave);
    }

    #[test]
    fn saved_draft_is_restored() {
        let (_home, mut editor) = editor(&[]);
        write(&mut editor, "half a");
        editor.save_draft();
        write(&mut editor, "y");
        editor.save_draft();
        assert_eq!(editor.press(KeyPress::Enter), EditorAction::Submitted("y".into()));
        editor.restore_draft();
        assert_eq!(editor.draft().text(), "half a");
    }
}

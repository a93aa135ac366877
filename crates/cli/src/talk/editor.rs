//! What keys do to the line that is being written.

use super::draft::Draft;
use super::history::History;
use super::key::{Key, PASTE_MAX};

/// What a key led to, for the dialogue to act on.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Pressed {
    /// Nothing beyond the line itself.
    Edited,
    /// The line is complete.
    Sent(String),
    /// The line is to be completed.
    Complete,
    /// Stop.
    Interrupt,
    /// There will be no more: on an empty line.
    Leave,
    /// Show the last call.
    Expand,
    /// Draw everything again.
    Redraw,
    /// It is more than a prompt may have.
    TooLong,
}

/// The line that is being written, and those that were.
#[derive(Debug)]
pub(super) struct Editor {
    draft: Draft,
    history: History,
    /// How far back in the history the line is, and what was being written before.
    back: Option<(usize, Draft)>,
    /// What was erased last.
    erased: String,
    /// What was being written when something more urgent came.
    aside: Option<Draft>,
}

impl Editor {
    pub(super) fn new(history: History) -> Editor {
        Editor { draft: Draft::default(), history, back: None, erased: String::new(), aside: None }
    }

    pub(super) fn draft(&self) -> &Draft {
        &self.draft
    }

    pub(super) fn history(&mut self) -> &mut History {
        &mut self.history
    }

    /// Writes another line.
    pub(super) fn replace(&mut self, text: &str) {
        (self.draft, self.back) = (Draft::new(text), None);
    }

    /// Puts the line aside, so that a question can be answered.
    pub(super) fn put_aside(&mut self) {
        if self.aside.is_none() {
            self.aside = Some(std::mem::take(&mut self.draft));
            self.back = None;
        }
    }

    /// Takes the line up again.
    pub(super) fn take_up(&mut self) {
        if let Some(draft) = self.aside.take() {
            self.draft = draft;
        }
    }

    pub(super) fn press(&mut self, key: Key) -> Pressed {
        let draft = &mut self.draft;
        match key {
            Key::Char(c) => return self.insert(c.encode_utf8(&mut [0; 4])),
            Key::Paste(text) => return self.insert(&text),
            Key::PasteTooLong => return Pressed::TooLong,
            Key::NewLine => return self.insert("\n"),
            Key::Enter => return self.enter(),
            Key::Tab => return Pressed::Complete,
            Key::Interrupt => return Pressed::Interrupt,
            Key::EndOfInput if draft.is_empty() => return Pressed::Leave,
            Key::Expand => return Pressed::Expand,
            Key::Redraw => return Pressed::Redraw,
            Key::Backspace => draft.backspace(),
            Key::Delete | Key::EndOfInput => draft.delete(),
            Key::Left => draft.left(),
            Key::Right => draft.right(),
            Key::Home => draft.home(),
            Key::End => draft.end(),
            Key::WordLeft => draft.word_left(),
            Key::WordRight => draft.word_right(),
            Key::EraseWord => self.erased = draft.erase_word(),
            Key::EraseToStart => self.erased = draft.erase_to_start(),
            Key::EraseToEnd => self.erased = draft.erase_to_end(),
            Key::Yank => draft.insert(&self.erased),
            Key::Up => self.up(),
            Key::Down => self.down(),
            Key::Escape => {}
        }
        Pressed::Edited
    }

    fn insert(&mut self, text: &str) -> Pressed {
        if self.draft.text().len() + text.len() > PASTE_MAX {
            return Pressed::TooLong;
        }
        self.draft.insert(text);
        Pressed::Edited
    }

    /// A line that ends with a backslash goes on.
    fn enter(&mut self) -> Pressed {
        if self.draft.after().is_empty() && self.draft.before().ends_with('\\') {
            self.draft.backspace();
            return self.insert("\n");
        }
        self.back = None;
        Pressed::Sent(std::mem::take(&mut self.draft).text().to_owned())
    }

    fn up(&mut self) {
        if self.draft.up() {
            return;
        }
        let next = self.back.as_ref().map_or(0, |(ago, _)| ago + 1);
        let Some(text) = self.history.ago(next) else { return };
        let older = Draft::new(text);
        let newer = std::mem::replace(&mut self.draft, older);
        let written = self.back.take().map_or(newer, |(_, written)| written);
        self.back = Some((next, written));
    }

    fn down(&mut self) {
        if self.draft.down() {
            return;
        }
        match self.back.take() {
            None => {}
            Some((0, written)) => self.draft = written,
            Some((ago, written)) => {
                self.draft = Draft::new(self.history.ago(ago - 1).unwrap_or_default());
                self.back = Some((ago - 1, written));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn editor(history: &[&str]) -> (tempfile::TempDir, Editor) {
        let home = tempfile::tempdir().unwrap();
        let mut kept = History::open(home.path());
        history.iter().for_each(|text| kept.add(text));
        (home, Editor::new(kept))
    }

    fn write(editor: &mut Editor, text: &str) {
        text.chars().for_each(|c| assert_eq!(editor.press(Key::Char(c)), Pressed::Edited));
    }

    #[test]
    fn a_line_goes_on_after_a_backslash_and_in_a_paste() {
        let (_home, mut editor) = editor(&[]);
        write(&mut editor, "one\\");
        assert_eq!(editor.press(Key::Enter), Pressed::Edited);
        editor.press(Key::Paste("two\nthree".into()));
        editor.press(Key::NewLine);
        write(&mut editor, "four");
        assert_eq!(editor.press(Key::Enter), Pressed::Sent("one\ntwo\nthree\nfour".into()));
        assert!(editor.draft().is_empty());
    }

    #[test]
    fn the_history_is_walked_and_what_was_begun_comes_back() {
        let (_home, mut editor) = editor(&["old", "newer\ntext"]);
        write(&mut editor, "begun");
        let mut walk = |key: &Key, times: usize| {
            (0..times).for_each(|_| assert_eq!(editor.press(key.clone()), Pressed::Edited));
            editor.draft().text().to_owned()
        };
        assert_eq!(walk(&Key::Up, 1), "newer\ntext");
        assert_eq!(walk(&Key::Up, 2), "old");
        assert_eq!(walk(&Key::Up, 1), "old");
        assert_eq!(walk(&Key::Down, 1), "newer\ntext");
        assert_eq!(walk(&Key::Down, 1), "begun");
        assert_eq!(walk(&Key::Down, 1), "begun");
    }

    #[test]
    fn what_was_erased_can_be_put_back() {
        let (_home, mut editor) = editor(&[]);
        write(&mut editor, "one two");
        editor.press(Key::EraseWord);
        editor.press(Key::Home);
        editor.press(Key::Yank);
        assert_eq!(editor.draft().text(), "twoone ");
    }

    #[test]
    fn the_end_of_input_leaves_only_from_an_empty_line() {
        let (_home, mut editor) = editor(&[]);
        write(&mut editor, "a");
        assert_eq!(editor.press(Key::EndOfInput), Pressed::Edited);
        editor.press(Key::Backspace);
        assert_eq!(editor.press(Key::EndOfInput), Pressed::Leave);
    }

    #[test]
    fn a_line_that_was_put_aside_comes_back() {
        let (_home, mut editor) = editor(&[]);
        write(&mut editor, "half a");
        editor.put_aside();
        write(&mut editor, "y");
        editor.put_aside();
        assert_eq!(editor.press(Key::Enter), Pressed::Sent("y".into()));
        editor.take_up();
        assert_eq!(editor.draft().text(), "half a");
    }
}

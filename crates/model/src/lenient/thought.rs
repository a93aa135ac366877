//! Parses a model's thoughts between `<think>` and `</think>`.

use super::delta_buffer::DeltaBuffer;

const END: &str = "</think>";
/// Maximum white space held back before a word.
const MAX_SPACE_BYTES: usize = 4096;

/// A thought while it is parsed, from after its mark. White space at its ends is dropped.
#[derive(Debug, Default)]
pub(super) struct ThoughtReader {
    /// White space, and a possible end mark.
    held: String,
    /// The byte of `held` where the end mark may start.
    possible_end: Option<usize>,
    /// Whether there was a word.
    has_text: bool,
}

impl ThoughtReader {
    /// Parses one character; returns whether the thought ends with it.
    pub(super) fn push(&mut self, c: char, buffer: &mut DeltaBuffer) -> bool {
        if c == '<' {
            if self.possible_end.is_some() {
                self.pass_on(buffer);
            }
            self.possible_end = Some(self.held.len());
        }
        self.held.push(c);
        match self.possible_end.map(|at| &self.held[at..]) {
            Some(END) => return true,
            Some(text) if END.starts_with(text) => {}
            None if c.is_whitespace() && self.held.len() < MAX_SPACE_BYTES => {}
            Some(_) | None => self.pass_on(buffer),
        }
        false
    }

    /// Passes on the held text.
    pub(super) fn pass_on(&mut self, buffer: &mut DeltaBuffer) {
        let text = if self.has_text { &self.held } else { self.held.trim_start() };
        self.has_text |= !text.is_empty();
        buffer.push_thinking(text);
        self.held.clear();
        self.possible_end = None;
    }
}

//! Parses a model's thoughts between `<think>` and `</think>`.

use super::delta_buffer::DeltaBuffer;

const END: &str = "</think>";
/// Maximum white space held back before a word.
const MAX_SPACE: usize = 4096;

/// A thought while it is parsed, from after its mark. White space at its ends is dropped.
#[derive(Debug, Default)]
pub(super) struct ThoughtReader {
    /// White space, and a possible end mark.
    held: String,
    /// The byte of `held` where the end mark may start.
    end: Option<usize>,
    /// Whether there was a word.
    begun: bool,
}

impl ThoughtReader {
    /// Parses one character; returns whether the thought ends with it.
    pub(super) fn push(&mut self, c: char, buffer: &mut DeltaBuffer) -> bool {
        if c == '<' {
            if self.end.is_some() {
                self.pass(buffer);
            }
            self.end = Some(self.held.len());
        }
        self.held.push(c);
        match self.end.map(|at| &self.held[at..]) {
            Some(END) => return true,
            Some(text) if END.starts_with(text) => {}
            None if c.is_whitespace() && self.held.len() < MAX_SPACE => {}
            Some(_) | None => self.pass(buffer),
        }
        false
    }

    /// Passes on the held text.
    pub(super) fn pass(&mut self, buffer: &mut DeltaBuffer) {
        let text = if self.begun { &self.held } else { self.held.trim_start() };
        self.begun |= !text.is_empty();
        buffer.thinking(text);
        self.held.clear();
        self.end = None;
    }
}

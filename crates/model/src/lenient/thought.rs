//! What a model thinks between `<think>` and `</think>`.

use super::delta_buffer::DeltaBuffer;

const END: &str = "</think>";
/// Most white space that waits for a word.
const MAX_SPACE: usize = 4096;

/// A thought under way, from behind its mark. White space at its ends is left out.
#[derive(Debug, Default)]
pub(super) struct ThoughtReader {
    /// White space, and what may be the end.
    held: String,
    /// The byte of what is held where the end may begin.
    end: Option<usize>,
    /// Whether a word came.
    begun: bool,
}

impl ThoughtReader {
    /// Takes one character; whether the thought ends with it.
    pub(super) fn push(&mut self, c: char, flow: &mut DeltaBuffer) -> bool {
        if c == '<' {
            if self.end.is_some() {
                self.pass(flow);
            }
            self.end = Some(self.held.len());
        }
        self.held.push(c);
        match self.end.map(|at| &self.held[at..]) {
            Some(END) => return true,
            Some(text) if END.starts_with(text) => {}
            None if c.is_whitespace() && self.held.len() < MAX_SPACE => {}
            Some(_) | None => self.pass(flow),
        }
        false
    }

    /// Passes on what is held.
    pub(super) fn pass(&mut self, flow: &mut DeltaBuffer) {
        let text = if self.begun { &self.held } else { self.held.trim_start() };
        self.begun |= !text.is_empty();
        flow.thinking(text);
        self.held.clear();
        self.end = None;
    }
}

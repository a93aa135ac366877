//! Text that has been cut to a maximum size. What a model sees is made of clips.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Text of a known maximum size. A separate type, so that a raw `String` cannot be passed instead.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Clip(String);

impl Clip {
    /// Cuts `text` to at most `max` bytes, keeping its head and tail with a note of how much was left out.
    pub fn new(text: &str, max: usize) -> Clip {
        Clip(clip_middle(text, max))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the text.
    pub fn into_string(self) -> String {
        self.0
    }
}

impl fmt::Display for Clip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Bytes reserved for the note of how much was left out.
const NOTE_BYTES: usize = 64;

/// Keeps the first and the last part of `text`, at most `max` bytes with the note between them.
pub fn clip_middle(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    let room = max.saturating_sub(NOTE_BYTES);
    let head = floor_char_boundary(text, room * 2 / 3);
    let tail = ceil_char_boundary(text, text.len() - (room - room * 2 / 3));
    let note = format!("\n[… {} bytes left out …]\n", tail - head);
    let clipped = [&text[..head], &note, &text[tail..]].concat();
    clipped[..floor_char_boundary(&clipped, max)].to_owned()
}

/// The last character boundary at or before `at`.
fn floor_char_boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|&i| text.is_char_boundary(i)).unwrap_or(0)
}

/// The first character boundary at or after `at`.
fn ceil_char_boundary(text: &str, at: usize) -> usize {
    (at..=text.len()).find(|&i| text.is_char_boundary(i)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_text_is_kept_whole() {
        assert_eq!(clip_middle("short", 5), "short");
    }

    #[test]
    fn long_text_keeps_head_and_tail_and_counts_the_rest() {
        let text = format!("{}{}{}", "a".repeat(100), "b".repeat(1000), "c".repeat(100));
        let clipped = clip_middle(&text, 200);
        assert!(clipped.len() <= 200);
        assert!(clipped.starts_with("aaa") && clipped.ends_with("ccc"));
        assert!(clipped.contains("bytes left out"));
    }

    #[test]
    fn no_character_is_split_and_no_maximum_is_exceeded() {
        let text = "é漢🦀".repeat(50);
        for max in 0..text.len() + 2 {
            assert!(clip_middle(&text, max).len() <= max);
        }
    }
}

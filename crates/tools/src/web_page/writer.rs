//! Writes Markdown line by line: white space, line prefixes, and the maximum size.

use super::element::ListNumbering;
use crate::text::is_visible;

/// Maximum bytes of text from one page.
const MAX_TEXT_BYTES: usize = 8 * 1024 * 1024;

/// Maximum depth of quotes and lists; deeper ones are shown at their parent's level.
const MAX_DEPTH: usize = 16;

/// The gap before the next word.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum WordGap {
    #[default]
    None,
    Space,
    Line,
    /// An empty line.
    EmptyLine,
}

/// A block that adds a prefix to its lines.
#[derive(Debug)]
enum BlockFrame {
    Quote,
    List { numbers: ListNumbering, next: u64 },
    Item { mark: String, is_marked: bool },
}

/// The kind of block to close.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockEnd {
    Quote,
    List,
}

/// Markdown under construction.
#[derive(Debug, Default)]
pub(super) struct MarkdownWriter {
    text: String,
    gap: WordGap,
    frames: Vec<BlockFrame>,
    /// The number of open quotes and lists that are too deep.
    ignored_depth: usize,
    /// The prefix of the next line of text.
    lead: &'static str,
    /// Pending line endings of verbatim text, written if more text follows.
    pending_line_ends: usize,
}

impl MarkdownWriter {
    /// The whole text.
    pub(super) fn finish(self) -> String {
        self.text
    }

    /// Whether the maximum size is reached.
    pub(super) fn is_full(&self) -> bool {
        self.text.len() >= MAX_TEXT_BYTES
    }

    /// Requests at least this gap before the next word.
    pub(super) fn gap(&mut self, gap: WordGap) {
        // The first block of an item starts on the item's line.
        let is_first = matches!(self.frames.last(), Some(BlockFrame::Item { is_marked: false, .. }));
        self.gap = self.gap.max(if is_first { gap.min(WordGap::Line) } else { gap });
    }

    /// Sets the prefix of the next line of text.
    pub(super) fn lead(&mut self, lead: &'static str) {
        self.lead = lead;
    }

    /// Writes words with one space between them.
    pub(super) fn write_words(&mut self, text: &str) {
        for (index, word) in text.split(char::is_whitespace).enumerate() {
            if self.is_full() {
                return;
            }
            if index > 0 {
                self.gap(WordGap::Space);
            }
            if word.chars().any(is_visible) {
                self.write_gap();
                self.push(word);
            }
        }
    }

    /// Writes a mark after the gap.
    pub(super) fn write_mark(&mut self, mark: &str) {
        self.write_gap();
        self.push(mark);
    }

    /// Writes a mark directly after the last word.
    pub(super) fn write_attached(&mut self, mark: &str) {
        self.push(mark);
    }

    /// Writes text with its white space, except empty lines at its end.
    pub(super) fn verbatim(&mut self, text: &str) {
        for (index, line) in text.split('\n').enumerate() {
            if self.is_full() {
                return;
            }
            self.pending_line_ends += usize::from(index > 0);
            if line.is_empty() {
                continue;
            }
            self.write_gap();
            for _ in
                0..std::mem::take(&mut self.pending_line_ends).min(MAX_TEXT_BYTES - self.text.len().min(MAX_TEXT_BYTES))
            {
                self.push("\n");
                self.write_prefix();
            }
            self.push(line);
        }
    }

    /// Ends verbatim text.
    pub(super) fn end_verbatim(&mut self) {
        self.pending_line_ends = 0;
    }

    /// Begins a quote.
    pub(super) fn open_quote(&mut self) {
        self.open(BlockFrame::Quote);
    }

    /// Begins a list.
    pub(super) fn open_list(&mut self, numbers: ListNumbering, first: u64) {
        self.open(BlockFrame::List { numbers, next: first });
    }

    /// Begins an item, and ends the one before it.
    pub(super) fn open_item(&mut self) {
        self.close_item();
        self.gap(WordGap::Line);
        let mark = match self.frames.iter_mut().rev().find(|frame| matches!(frame, BlockFrame::List { .. })) {
            Some(BlockFrame::List { numbers: ListNumbering::Numbered, next }) => {
                let mark = format!("{next}. ");
                *next = next.saturating_add(1);
                mark
            }
            Some(_) | None => "- ".to_owned(),
        };
        if self.ignored_depth == 0 && self.frames.len() < MAX_DEPTH {
            self.frames.push(BlockFrame::Item { mark, is_marked: false });
        }
    }

    /// Ends the item that is open in the innermost list.
    pub(super) fn close_item(&mut self) {
        let list = self.frames.iter().rposition(|frame| matches!(frame, BlockFrame::List { .. }));
        let first = list.map_or(0, |list| list + 1);
        let item = self.frames[first..].iter().position(|frame| matches!(frame, BlockFrame::Item { .. }));
        if let (Some(item), 0) = (item, self.ignored_depth) {
            self.frames.truncate(first + item);
        }
    }

    /// Whether the following text belongs to an item.
    pub(super) fn is_in_item(&self) -> bool {
        self.frames.iter().any(|frame| matches!(frame, BlockFrame::Item { .. }))
    }

    /// Ends the innermost quote or list and everything in it.
    pub(super) fn close(&mut self, end: BlockEnd) {
        if self.ignored_depth > 0 {
            self.ignored_depth -= 1;
            return;
        }
        let matches_end = |frame: &BlockFrame| match (frame, end) {
            (BlockFrame::Quote, BlockEnd::Quote) | (BlockFrame::List { .. }, BlockEnd::List) => true,
            (BlockFrame::Quote | BlockFrame::List { .. } | BlockFrame::Item { .. }, _) => false,
        };
        if let Some(frame) = self.frames.iter().rposition(matches_end) {
            self.frames.truncate(frame);
        }
    }

    fn open(&mut self, frame: BlockFrame) {
        if self.ignored_depth > 0 || self.frames.len() >= MAX_DEPTH {
            self.ignored_depth += 1;
        } else {
            self.frames.push(frame);
        }
    }

    /// Writes the gap and the line prefix.
    fn write_gap(&mut self) {
        let gap = std::mem::take(&mut self.gap);
        if self.text.is_empty() {
            self.begin_line();
            return;
        }
        match gap {
            WordGap::None => {}
            WordGap::Space => self.push(" "),
            WordGap::Line => {
                self.push("\n");
                self.begin_line();
            }
            WordGap::EmptyLine => {
                self.push("\n\n");
                self.begin_line();
            }
        }
    }

    fn begin_line(&mut self) {
        self.write_prefix();
        let lead = std::mem::take(&mut self.lead);
        self.push(lead);
    }

    fn write_prefix(&mut self) {
        let mut prefix = String::new();
        for frame in &mut self.frames {
            match frame {
                BlockFrame::Quote => prefix.push_str("> "),
                BlockFrame::List { .. } => {}
                BlockFrame::Item { mark, is_marked: false } => prefix.push_str(mark),
                BlockFrame::Item { mark, is_marked: true } => prefix.extend(mark.chars().map(|_| ' ')),
            }
            if let BlockFrame::Item { is_marked, .. } = frame {
                *is_marked = true;
            }
        }
        self.push(&prefix);
    }

    fn push(&mut self, text: &str) {
        if !self.is_full() {
            self.text.extend(text.chars().filter(|&letter| is_visible(letter)));
        }
    }
}

//! Text as tools read, change and show it. Nothing here touches a file or blocks.

mod kind;
mod lines;
mod nearest;
mod replace;
mod snippet;
mod visible_text;
mod window;

pub(crate) use kind::binary_kind;
pub(crate) use lines::{LineEndings, display_line, split_lines, without_ending};
pub(crate) use nearest::nearest;
pub(crate) use replace::{ReplaceScope, replace};
pub(crate) use snippet::snippet;
pub(crate) use visible_text::{is_visible, visible_text};
pub(crate) use window::{TextWindow, WindowEnd, WindowRequest, read_window};

//! Text as tools read, change and show it. Nothing here touches a file or waits.

mod kind;
mod letters;
mod lines;
mod nearest;
mod plain;
mod replace;
mod snippet;
mod window;

pub(crate) use kind::binary_kind;
pub(crate) use letters::{is_shown, shown as shown_letters};
pub(crate) use lines::{Endings, bare, shown, split};
pub(crate) use nearest::nearest;
pub(crate) use plain::plain;
pub(crate) use replace::{Which, replace};
pub(crate) use snippet::snippet;
pub(crate) use window::{Ask, End, Window, window};

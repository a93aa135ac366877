//! What a person sees while a fleet works: a picture on a terminal that is drawn again and again, plain lines anywhere
//! else, and the events themselves for programs.

mod amounts;
mod board;
mod doing;
mod draw;
mod lines;
mod terminal;
#[cfg(test)]
mod tests;
mod view;

pub(crate) use board::Board;
pub(crate) use view::{Foot, View, watch};

use host::{Clock, SystemClock, TerminalSize};

use crate::print;
use crate::style::Style;

/// Prints how a fleet stands, once.
pub(crate) fn print_board(board: &Board) {
    let size = TerminalSize { columns: print::width().unwrap_or(WIDE), rows: usize::MAX };
    for row in draw::draw(board, SystemClock.now(), size) {
        match print::style() {
            Style::Plain => print::answer(draw::plain(&row)),
            style @ Style::Colour => print::answer(draw::paint(&row, style)),
        }
    }
}

/// How wide lines are that no terminal limits.
const WIDE: usize = 120;

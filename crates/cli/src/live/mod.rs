//! What a person sees while a fleet works: a picture on a terminal that is drawn again and again, plain lines anywhere
//! else, and the events themselves for programs.

mod amounts;
mod board;
mod draw;
mod lines;
mod terminal;
#[cfg(test)]
mod tests;
mod view;

pub(crate) use board::Board;
pub(crate) use view::{View, watch};

use host::{Clock, Size, SystemClock};

use crate::print;

/// Prints how a fleet stands, once.
pub(crate) fn print_board(board: &Board) {
    let size = Size { columns: print::width().unwrap_or(WIDE), rows: usize::MAX };
    for row in draw::draw(board, SystemClock.now(), size) {
        print::answer(draw::plain(&row));
    }
}

/// How wide lines are that no terminal limits.
const WIDE: usize = 120;

//! What a person sees while a fleet works: a picture on a terminal that is drawn again and again, plain lines anywhere
//! else, and the events themselves for programs.

mod activity;
mod amounts;
mod board;
mod draw;
mod lines;
mod terminal;
#[cfg(test)]
mod tests;
mod view;

pub(crate) use board::FleetBoard;
pub(crate) use view::{FleetFooter, FleetView, watch_fleet};

use host::{Clock, SystemClock, TerminalSize};

use crate::print;
use crate::style::Style;

/// Prints how a fleet stands, once.
pub(crate) fn print_board(board: &FleetBoard) {
    let size = TerminalSize { columns: print::width().unwrap_or(WIDE), rows: usize::MAX };
    for row in draw::draw(board, SystemClock.now(), size) {
        match print::style() {
            Style::Plain => print::output(draw::row_text(&row)),
            style @ Style::Colour => print::output(draw::paint(&row, style)),
        }
    }
}

/// How wide lines are that no terminal limits.
const WIDE: usize = 120;

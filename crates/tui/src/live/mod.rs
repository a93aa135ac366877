//! The output of a running fleet: a live view on a terminal, plain lines anywhere else, and events for programs.

mod activity;
mod amounts;
mod board;
mod board_todos;
mod draw;
mod lines;
mod terminal;
#[cfg(test)]
mod tests;
mod view;

pub use board::FleetBoard;
pub use lines::FleetLines;
pub use view::{FleetFooter, FleetView, watch_fleet};

use host::{Clock, SystemClock, TerminalSize};

use crate::print;
use crate::style::Style;

/// Prints the state of a fleet once.
pub fn print_board(board: &FleetBoard) {
    let size = TerminalSize { columns: print::width().unwrap_or(DEFAULT_COLUMNS), rows: usize::MAX };
    for row in draw::draw(board, SystemClock.now(), size) {
        match print::style() {
            Style::Plain => print::output(draw::row_text(&row)),
            style @ Style::Colour => print::output(draw::paint(&row, style)),
        }
    }
}

/// The line width when no terminal limits it.
const DEFAULT_COLUMNS: usize = 120;

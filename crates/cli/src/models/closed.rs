//! Models that are closed because their provider asked to wait.

use protocol::api::ClosedModelView;
use tui::print;

/// Prints the closed models and how to reopen them.
pub(super) fn print_closed(closed: &[ClosedModelView]) {
    for ClosedModelView { model, until } in closed {
        print::note(format_args!("{model} is closed until {until}: its provider asked to wait or did not answer"));
    }
    if !closed.is_empty() {
        print::note("to ask now anyway, run: bosun models --reopen (and resume a parked session as a copy: --fork)");
    }
}

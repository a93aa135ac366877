//! `bosun checkouts`: a table of checkouts.

use protocol::api::{CheckoutView, CheckoutsResult};
use tui::print;

use crate::setup::Setup;

pub(super) fn list(setup: &Setup, json: bool) {
    let CheckoutsResult { checkouts: rows } = setup.sources().checkouts();
    if json {
        return print::json(&rows);
    }
    if rows.is_empty() {
        print::note("no checkouts; agents with `isolation: worktree` create them");
    }
    for CheckoutView { task, state, name, commit, bytes, path, .. } in &rows {
        let commit = commit.as_deref().and_then(|commit| commit.get(..12)).unwrap_or("-");
        let (name, path) = (print::sanitize(&print::one_line(name, 24)), print::sanitize(path));
        let state = state.as_str();
        print::row(format_args!("{task}  {state:<8} {commit:<12} {:>7} kB  {name:<16} {path}", bytes / 1000));
    }
}

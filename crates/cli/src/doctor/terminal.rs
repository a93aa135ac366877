//! Checks the terminal of this command.

use config::Env;
use protocol::api::{DoctorCheckView, DoctorStatus};
use tui::print;

pub(super) fn check(env: &Env) -> DoctorCheckView {
    let in_tmux = if env.text("TMUX").is_some() { " in tmux" } else { "" };
    let (status, text, remedy) = match (print::width(), env.text("TERM").as_deref()) {
        (None, _) => (DoctorStatus::Note, "stdout is not a terminal".to_owned(), None),
        (Some(_), None | Some("dumb")) => {
            (DoctorStatus::Warn, "TERM is unset or dumb".to_owned(), Some("set TERM, for example to xterm-256color"))
        }
        (Some(width), Some(_)) if width < 60 => {
            (DoctorStatus::Warn, format!("{width} columns{in_tmux}"), Some("widen it to 80 columns or more"))
        }
        (Some(width), Some(term)) => {
            let term = print::sanitize(&print::one_line(term, 40));
            (DoctorStatus::Ok, format!("{width} columns{in_tmux}, {term}"), None)
        }
    };
    DoctorCheckView { topic: "terminal".to_owned(), status, text, remedy: remedy.map(str::to_owned) }
}

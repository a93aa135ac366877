//! Every flag and command, as somebody new to it would use it.

mod budgets;
mod costs;
mod explaining;
mod going_on;
mod housekeeping;
mod keys;
mod models;
mod money;
mod pictures;
mod prompts;
mod results;
mod sessions;
mod signals;

use testkit::binary::Stage;

/// A text without what differs from run to run: the stage's folder and the newest session's id.
fn shown(stage: &Stage, text: &str) -> String {
    let base = stage.home().parent().unwrap().display().to_string();
    let id = stage.sessions().first().map_or_else(|| "no session".to_owned(), |row| row["id"].as_str().unwrap().into());
    text.replace(&base, "/stage").replace(&id, "ses-ID")
}

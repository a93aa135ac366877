//! Every flag and command, as a new user would use it.

mod approvals;
mod budgets;
mod catalog;
mod checkouts;
mod colours;
mod costs;
mod doctor;
mod explaining;
mod flags;
mod going_on;
mod housekeeping;
mod import;
mod keys;
mod layers;
mod lists;
mod logins;
mod logs;
mod models;
mod modes;
mod money;
mod nested;
mod panics;
mod people;
mod pictures;
mod plans;
mod prompts;
mod results;
mod secrecy;
mod sessions;
mod signals;
mod slash;
mod trust;

use testkit::binary::BinaryFixture;

/// A text without the parts that differ between runs: the fixture's folder and the newest session's id.
fn normalized(fixture: &BinaryFixture, text: &str) -> String {
    let base = fixture.home().parent().unwrap().display().to_string();
    let id =
        fixture.sessions().first().map_or_else(|| "no session".to_owned(), |row| row["id"].as_str().unwrap().into());
    text.replace(&base, "/stage").replace(&id, "ses-ID")
}

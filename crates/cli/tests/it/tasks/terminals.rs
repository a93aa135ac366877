//! Two terminals: one in which a person talks to a session, and one in which its agents are watched and commanded.

use testkit::binary::{PATIENCE, Tmux, within};

use super::{CREW, let_go};
use crate::stage;

#[test]
fn r8_a_second_terminal_lists_shows_follows_messages_backgrounds_and_stops_agents_of_the_first() {
    let stage = stage();
    let first = Tmux::start(&stage.script(CREW).bosun(["--allow-all"]), 100, 30);
    first.says("go");
    for agent in ["docs", "tests"] {
        let busy = stage.path(&format!("{agent}-busy"));
        within(PATIENCE, "the agent's command runs", || busy.exists());
    }
    let second = |args: &[&str]| Tmux::start(&stage.bosun(["tasks"].iter().chain(args)), 120, 40);
    let list = second(&[]);
    list.shows("  docs").shows("  tests").shows("waiting for a file");
    assert_eq!(list.ends(), 0);
    second(&["show", "docs"]).shows("/root/docs").shows("Read the docs.");
    let tail = second(&["tail", "docs"]);
    tail.shows("I begin.");
    second(&["send", "docs", "message hello"]).shows("/root/docs has the message: mail-");
    second(&["background", "tests"]).shows("/root/tests goes on in the background");
    first.shows("All is under way.");
    let_go(&stage, "docs");
    tail.shows("I was told hello.");
    second(&["stop", "tests", "--now"]).shows("/root/tests is stopped");
    second(&["list", "--state", "cancelled"]).shows("  tests");
    second(&["output", "docs"]).shows("I was told hello.");
    // Whoever stops watching ends nothing.
    tail.press("C-c");
    tail.ends();
    first.says("still there?").shows("All is under way.");
    first.says("/quit");
    assert_eq!(first.ends(), 0);
}

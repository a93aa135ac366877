//! Two terminals: one in which a person talks to a session, and one in which its agents are watched and commanded.

use testkit::binary::{PATIENCE, Tmux, within};

use super::{SUBAGENTS, let_go};
use crate::stage;

#[test]
fn a_second_terminal_lists_shows_follows_messages_backgrounds_and_stops_agents_of_the_first() {
    let stage = stage();
    let first = Tmux::start(&stage.script(SUBAGENTS).bosun(["--allow-all"]), 100, 30);
    first.shows("/help shows what you can type").says("go");
    for agent in ["docs", "tests"] {
        let busy = stage.path(&format!("{agent}-busy"));
        within(PATIENCE, "the agent's command runs", || busy.exists());
    }
    let second = |args: &[&str]| Tmux::start(&stage.bosun(["tasks"].iter().chain(args)), 120, 40);
    let says = |args: &[&str], words: &[&str]| {
        let terminal = second(args);
        assert_eq!(terminal.ends(), 0, "{args:?}: {}", terminal.history());
        // The first line may have scrolled away when the command ended.
        let said = terminal.history();
        words.iter().for_each(|words| assert!(said.contains(words), "{words}: {said}"));
    };
    says(&[], &["  docs", "  tests", "waiting for a file"]);
    says(&["show", "docs"], &["/root/docs", "Read the docs."]);
    let tail = second(&["tail", "docs"]);
    tail.shows("I begin.");
    says(&["send", "docs", "message hello"], &["/root/docs received the message: mail-"]);
    says(&["background", "tests"], &["/root/tests continues in the background"]);
    first.shows("All is under way.");
    let_go(&stage, "docs");
    tail.shows("I was told hello.");
    says(&["stop", "tests", "--now"], &["/root/tests is stopped"]);
    says(&["list", "--state", "cancelled"], &["/root/tests"]);
    says(&["output", "docs"], &["I was told hello."]);
    // Whoever stops watching ends nothing.
    tail.press("C-c").is_over();
    first.says("still there?").shows("All is under way.");
    first.says("/quit");
    assert_eq!(first.ends(), 0);
}

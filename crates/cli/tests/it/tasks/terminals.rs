//! Two terminals: a conversation in one, and commands that watch and control its agents in the other.

use testkit::binary::{PATIENCE, Tmux, within};

use super::{SUBAGENTS, let_go};
use crate::fixture;

#[test]
fn second_terminal_observes_and_controls_agents() {
    let fixture = fixture();
    let first = Tmux::start(&fixture.script(SUBAGENTS).bosun(["--allow-all"]), 100, 30);
    first.shows("/help shows what you can type").says("go");
    for agent in ["docs", "tests"] {
        let busy = fixture.path(&format!("{agent}-busy"));
        within(PATIENCE, "the agent's command runs", || busy.exists());
    }
    let second = |args: &[&str]| Tmux::start(&fixture.bosun(["tasks"].iter().chain(args)), 120, 40);
    let says = |args: &[&str], expected: &[&str]| {
        let terminal = second(args);
        assert_eq!(terminal.ends(), 0, "{args:?}: {}", terminal.history());
        // The first line may have scrolled away when the command ended.
        let output = terminal.history();
        expected.iter().for_each(|expected| assert!(output.contains(expected), "{expected}: {output}"));
    };
    says(&[], &["  docs", "  tests", "waiting for a file"]);
    says(&["show", "docs"], &["/root/docs", "Read the docs."]);
    let tail = second(&["tail", "docs"]);
    tail.shows("I begin.");
    says(&["send", "docs", "message hello"], &["/root/docs received the message: mail-"]);
    says(&["background", "tests"], &["/root/tests continues in the background"]);
    first.shows("All is under way.");
    let_go(&fixture, "docs");
    tail.shows("I was told hello.");
    says(&["stop", "tests", "--now"], &["/root/tests is stopped"]);
    says(&["list", "--state", "cancelled"], &["/root/tests"]);
    says(&["output", "docs"], &["I was told hello."]);
    // Ending the watch does not end the task.
    tail.press("C-c").is_over();
    first.says("still there?").shows("All is under way.");
    first.says("/quit");
    assert_eq!(first.ends(), 0);
}

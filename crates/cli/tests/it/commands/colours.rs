//! Lists on a terminal have colour, which only repeats what their words say.

use testkit::binary::{BinaryFixture, Tmux};

use crate::scripts::HELLO;
use crate::stage;

/// What a list looks like on a terminal, with the codes for colour.
fn on_terminal(stage: &BinaryFixture, list: &str, word: &str, no_colour: bool) -> String {
    let invocation = stage.bosun([list]);
    let invocation = if no_colour { invocation.env("NO_COLOR", "1") } else { invocation };
    let tmux = Tmux::start(&invocation, 120, 60);
    tmux.is_over();
    let shown = tmux.colours();
    assert!(shown.contains(word), "{list}: {shown}");
    shown
}

/// B10: tasks, todos, sessions and checks were all of one colour.
#[test]
fn lists_have_colour_on_a_terminal_unless_it_is_refused_and_none_in_a_pipe() {
    let stage = stage();
    stage.script(HELLO).prompt("go").run().expect(0);
    stage.bosun(["todos", "add", "Write it down"]).run().expect(0);
    stage.bosun(["todos", "block", "write-it-down", "--reason", "no pen"]).run().expect(0);
    for (list, word) in [("tasks", "idle"), ("sessions", "idle"), ("todos", "blocked"), ("doctor", "ok")] {
        assert!(on_terminal(&stage, list, word, false).contains("\u{1b}["), "{list}");
        assert!(!on_terminal(&stage, list, word, true).contains("\u{1b}["), "{list}");
        assert!(!stage.bosun([list]).run().stdout.contains('\u{1b}'), "{list}");
    }
}

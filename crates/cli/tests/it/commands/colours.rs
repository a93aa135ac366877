//! Lists are coloured on a terminal; colours only repeat the text.

use testkit::binary::{BinaryFixture, Tmux};

use crate::fixture;
use crate::scripts::HELLO;

/// The output of a list on a terminal, with its colour codes.
fn on_terminal(fixture: &BinaryFixture, list: &str, word: &str, no_colour: bool) -> String {
    let invocation = fixture.bosun([list]);
    let invocation = if no_colour { invocation.env("NO_COLOR", "1") } else { invocation };
    let tmux = Tmux::start(&invocation, 120, 60);
    tmux.is_over();
    let shown = tmux.colours();
    assert!(shown.contains(word), "{list}: {shown}");
    shown
}

#[test]
fn lists_are_coloured_only_on_terminals_that_allow_it() {
    let fixture = fixture();
    fixture.script(HELLO).prompt("go").run().expect(0);
    fixture.bosun(["todos", "add", "Write it down"]).run().expect(0);
    fixture.bosun(["todos", "block", "write-it-down", "--reason", "no pen"]).run().expect(0);
    for (list, word) in [("tasks", "idle"), ("sessions", "idle"), ("todos", "blocked"), ("doctor", "ok")] {
        assert!(on_terminal(&fixture, list, word, false).contains("\u{1b}["), "{list}");
        assert!(!on_terminal(&fixture, list, word, true).contains("\u{1b}["), "{list}");
        assert!(!fixture.bosun([list]).run().stdout.contains('\u{1b}'), "{list}");
    }
}

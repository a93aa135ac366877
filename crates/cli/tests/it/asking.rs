//! Commands other than conversations ask the user at their terminal, below their output.

use std::fs;

use protocol::{AskDecision, Event};
use testkit::binary::{BinaryFixture, Tmux};

use crate::fixture;
use crate::fleet::fixture_with_plan;

const MODEL: &str = r##"
version: 1
rules:
  - when: { turn: 1 }
    answer:
      - call: { tool: shell, input: { command: "echo first | awk 1 > one" } }
      - call: { tool: create, input: { path: a.txt, content: "alpha\nbeta\n" } }
      - call: { tool: shell, input: { command: "echo third | awk 1 > three" } }
  - answer: [say: That is all.]
"##;

fn decisions(fixture: &BinaryFixture) -> Vec<AskDecision> {
    let decided = |event| match event {
        Event::AskDecided { decision, .. } => Some(decision),
        _other => None,
    };
    fixture.log(&fixture.newest()).into_iter().filter_map(|envelope| decided(envelope.entry.event)).collect()
}

#[test]
fn prompt_at_a_terminal_asks_in_place_and_drops_asks_decided_elsewhere() {
    let fixture = fixture();
    let tmux = Tmux::start(&fixture.script(MODEL).bosun(["-p", "go"]), 100, 30);
    tmux.shows("? 1 · shell needs your permission").shows("$ echo first | awk 1 > one").shows("allow (1 of 3)?");
    tmux.says("perhaps").shows("type y, n, s or ?").says("y");
    tmux.shows("? 2 · create needs your permission").shows("+ beta").shows("allow (1 of 2)?").types("half");
    let listed = fixture.bosun(["approvals"]).run().expect(0).stdout;
    assert!(listed.starts_with("2  ") && listed.contains("\n  + alpha\n  + beta\n"), "{listed}");
    fixture.bosun(["approvals", "allow", "2"]).run().expect(0);
    tmux.shows("allowed elsewhere: create a.txt").shows("? 3 · shell needs your permission").shows("\nallow?");
    assert!(!tmux.screen().contains("allow? half"), "{}", tmux.screen());
    tmux.says("y").shows("not accepted").says("n not now").shows("That is all.");
    assert_eq!(tmux.ends(), 0, "{}", tmux.history());
    let allow = || AskDecision::Allow { rules: Vec::new(), input: None };
    assert_eq!(decisions(&fixture), [allow(), allow(), AskDecision::Deny { message: "not now".into() }]);
    assert_eq!(fs::read_to_string(fixture.path("one")).unwrap(), "first\n");
    assert_eq!(fs::read_to_string(fixture.path("a.txt")).unwrap(), "alpha\nbeta\n");
    assert!(!fixture.path("three").exists());
}

#[test]
fn interrupt_stops_the_run_and_end_of_input_says_where_to_decide() {
    let fixture = fixture();
    let tmux = Tmux::start(&fixture.script(MODEL).bosun(["-p", "go"]), 100, 30);
    tmux.shows("allow (1 of 3)?").press("C-c");
    assert_eq!(tmux.ends(), 5, "{}", tmux.history());
    let tmux = Tmux::start(&fixture.bosun(["-p", "go"]), 100, 30);
    tmux.shows("allow (1 of 3)?").press("C-d").shows("decide in another terminal with: bosun approvals");
    fixture.bosun(["approvals", "deny", "--all"]).run().expect(0);
    tmux.shows("That is all.");
    assert_eq!(tmux.ends(), 0, "{}", tmux.history());
}

#[test]
fn fleet_asks_below_its_live_view_and_an_asking_worker_needs_you() {
    let script = "
  - when: { turn: 1 }
    answer: [call: { tool: shell, input: { command: \"echo done | awk 1 > out\" } }]
  - answer: [say: done]
";
    let fixture = fixture_with_plan("goal: Write it down\ntodos:\n  - { id: note, title: Write the note }\n", script);
    let tmux = Tmux::start(&fixture.bosun(["fleet", "run", "plan.yaml"]), 100, 30);
    tmux.shows("? 1 · note: shell needs your permission").shows("0/1 done · 1 needs you").shows("\nallow?");
    tmux.shows("? note").shows("needs you (1): shell echo done");
    let output = |args: &[&str]| fixture.bosun(args).run().expect(0);
    let status = output(&["fleet", "status"]).stdout;
    assert!(status.contains("1 needs you") && !status.contains("at work ·"), "{status}");
    assert!(status.contains("note  needs you"), "{status}");
    let todos = output(&["todos"]);
    assert!(todos.stdout.starts_with("? needs you  note"), "{todos:?}");
    assert!(todos.stderr.contains("1 needs you"), "{todos:?}");
    let tasks = output(&["tasks"]).stdout;
    assert!(tasks.contains("  needs you  "), "{tasks}");
    tmux.says("y").shows("1/1 done");
    assert_eq!(tmux.ends(), 0, "{}", tmux.history());
    assert_eq!(fs::read_to_string(fixture.path("out")).unwrap(), "done\n");
}

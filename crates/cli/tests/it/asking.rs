//! Commands that are no conversation ask at their terminal, below what they show.

use std::fs;

use protocol::{AskDecision, Event};
use testkit::binary::{BinaryFixture, Tmux};

use crate::fleet::planned;
use crate::stage;

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

fn decisions(stage: &BinaryFixture) -> Vec<AskDecision> {
    let decided = |event| match event {
        Event::AskDecided { decision, .. } => Some(decision),
        _other => None,
    };
    stage.log(&stage.newest()).into_iter().filter_map(|envelope| decided(envelope.entry.event)).collect()
}

/// B5: asks of `-p` needed a second terminal and twelve digits.
#[test]
fn a_prompt_at_a_terminal_asks_in_place_and_what_is_decided_elsewhere_goes_away() {
    let stage = stage();
    let tmux = Tmux::start(&stage.script(MODEL).bosun(["-p", "go"]), 100, 30);
    tmux.shows("? 1 · shell needs your permission").shows("$ echo first | awk 1 > one").shows("allow (1 of 3)?");
    tmux.says("perhaps").shows("type y, n, s or ?").says("y");
    tmux.shows("? 2 · create needs your permission").shows("+ beta").shows("allow (1 of 2)?").types("half");
    let listed = stage.bosun(["approvals"]).run().expect(0).stdout;
    assert!(listed.starts_with("2  ") && listed.contains("\n  + alpha\n  + beta\n"), "{listed}");
    stage.bosun(["approvals", "allow", "2"]).run().expect(0);
    tmux.shows("allowed elsewhere: create a.txt").shows("? 3 · shell needs your permission").shows("\nallow?");
    assert!(!tmux.screen().contains("allow? half"), "{}", tmux.screen());
    tmux.says("y").shows("not accepted").says("n not now").shows("That is all.");
    assert_eq!(tmux.ends(), 0, "{}", tmux.history());
    let allow = || AskDecision::Allow { rules: Vec::new(), input: None };
    assert_eq!(decisions(&stage), [allow(), allow(), AskDecision::Deny { message: "not now".into() }]);
    assert_eq!(fs::read_to_string(stage.path("one")).unwrap(), "first\n");
    assert_eq!(fs::read_to_string(stage.path("a.txt")).unwrap(), "alpha\nbeta\n");
    assert!(!stage.path("three").exists());
}

#[test]
fn an_interrupt_at_a_question_stops_the_run_and_leaving_it_tells_where_to_decide() {
    let stage = stage();
    let tmux = Tmux::start(&stage.script(MODEL).bosun(["-p", "go"]), 100, 30);
    tmux.shows("allow (1 of 3)?").press("C-c");
    assert_eq!(tmux.ends(), 5, "{}", tmux.history());
    let tmux = Tmux::start(&stage.bosun(["-p", "go"]), 100, 30);
    tmux.shows("allow (1 of 3)?").press("C-d").shows("decide in another terminal with: bosun approvals");
    stage.bosun(["approvals", "deny", "--all"]).run().expect(0);
    tmux.shows("That is all.");
    assert_eq!(tmux.ends(), 0, "{}", tmux.history());
}

/// B5: an asking worker counted as one at work, and nobody could answer it where the fleet was seen.
#[test]
fn a_fleet_at_a_terminal_asks_below_its_picture_and_an_asking_worker_needs_you() {
    let script = "
  - when: { turn: 1 }
    answer: [call: { tool: shell, input: { command: \"echo done | awk 1 > out\" } }]
  - answer: [say: done]
";
    let stage = planned("goal: Write it down\ntodos:\n  - { id: note, title: Write the note }\n", script);
    let tmux = Tmux::start(&stage.bosun(["fleet", "run", "plan.yaml"]), 100, 30);
    tmux.shows("? 1 · note: shell needs your permission").shows("0/1 done · 1 needs you").shows("\nallow?");
    tmux.shows("? note").shows("needs you (1): shell echo done");
    let said = |args: &[&str]| stage.bosun(args).run().expect(0);
    let status = said(&["fleet", "status"]).stdout;
    assert!(status.contains("1 needs you") && !status.contains("at work ·"), "{status}");
    assert!(status.contains("note  needs you"), "{status}");
    let todos = said(&["todos"]);
    assert!(todos.stdout.starts_with("? needs you  note"), "{todos:?}");
    assert!(todos.stderr.contains("1 needs you"), "{todos:?}");
    let tasks = said(&["tasks"]).stdout;
    assert!(tasks.contains("  needs you  "), "{tasks}");
    tmux.says("y").shows("1/1 done");
    assert_eq!(tmux.ends(), 0, "{}", tmux.history());
    assert_eq!(fs::read_to_string(stage.path("out")).unwrap(), "done\n");
}

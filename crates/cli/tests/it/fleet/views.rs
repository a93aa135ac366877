//! The output of a running fleet: a live view on a terminal of any size, and lines in a file.

use std::fs;

use testkit::binary::{BinaryFixture, PATIENCE, ProcessSignal, Tmux, within};

use super::fixture_with_plan;

const PLAN: &str = "
goal: Make a language that people like to read
todos:
  - { id: lexer, title: Write the lexer }
  - { id: parser, title: Write the parser, depends_on: [lexer] }
  - { id: docs, title: Write the manual }
  - { id: sign, title: Sign it, check: \"false\", depends_on: [lexer] }
";

/// The worker of `docs` waits for a file.
const SCRIPT: &str = "
  - when: { path: /root/docs, turn: 1 }
    answer: [call: { tool: shell, input: { command: \"until [ -e go ]; do sleep 0.01; done\" } }]
  - answer: [say: done]
";

fn fixture() -> BinaryFixture {
    fixture_with_plan(PLAN, SCRIPT)
}

const RUN: [&str; 6] = ["fleet", "run", "plan.yaml", "--allow-all", "--retries", "0"];

/// Checks that one frame is visible, and that no row is too wide or left over.
fn check_frame(terminal: &Tmux, columns: usize) {
    let screen = terminal.screen();
    assert_eq!(screen.matches("Fleet").count(), 1, "{screen}");
    assert!(screen.lines().all(|line| line.chars().count() <= columns), "{screen}");
}

#[test]
fn q_live_view_fits_a_terminal_of_any_size() {
    for (columns, rows) in [(80, 24), (200, 60)] {
        let fixture = fixture();
        let terminal = Tmux::start(&fixture.bosun(RUN), columns, rows);
        terminal.shows("Fleet  Make a language that people like to read");
        terminal.shows("2/4 done · 1 at work · 1 blocked");
        terminal.shows("● docs").shows("Write the manual").shows("until [ -e go ]").shows("tokens");
        terminal.shows("✗ sign").shows("Sign it");
        check_frame(&terminal, columns as usize);
        assert!(!terminal.screen().contains("claimed"), "lines are for files: {}", terminal.screen());
        terminal.resize(60, 12);
        terminal.until("a frame in a smaller terminal", |screen| {
            screen.contains("● docs") && screen.lines().all(|line| line.chars().count() <= 60)
        });
        fs::write(fixture.path("go"), "").unwrap();
        assert_eq!(terminal.ends(), 3, "{}", terminal.history());
        let left = terminal.history();
        assert!(
            left.contains("Fleet blocked") && left.contains("3/4 done · 1 blocked"),
            "the last frame stays: {left}"
        );
    }
}

#[test]
fn q_fleet_output_in_a_file_has_one_line_per_change() {
    let fixture = fixture();
    let file = fixture.path("out.txt");
    let running = fixture.bosun(RUN).with_stdout_to(&file).start();
    within(PATIENCE, "the lines come as it happens", || running.stderr().contains("blocked sign"));
    fs::write(fixture.path("go"), "").unwrap();
    let ended = running.wait().expect(3).says(&[
        "Fleet deployed: Make a language that people like to read (4 todos)",
        "claimed lexer (Write the lexer)",
        "done lexer (Write the lexer) (1/4)",
        "claimed docs (Write the manual)",
        "done docs (Write the manual) (3/4)",
        "blocked sign (Sign it): ",
        "fleet blocked: 3/4 done in ",
    ]);
    let output = fs::read_to_string(&file).unwrap();
    for text in [&ended.stderr, &output] {
        assert!(!text.contains('\u{1b}') && !text.contains('\r'), "no control characters: {text:?}");
    }
}

/// After the owner of a fleet was killed, no view shows running work.
#[test]
fn after_a_kill_all_views_agree() {
    let fixture = fixture();
    let mut running = fixture.bosun(RUN).start();
    within(PATIENCE, "only the manual is left", || {
        let todos = fixture.bosun(["todos", "--json"]).run();
        let far = |n: usize| todos.json()["todos"][n]["status"].as_str().unwrap_or_default().to_owned();
        todos.status.success() && [0, 1, 2, 3].map(far) == ["done", "done", "in_progress", "blocked"]
    });
    running.signal(ProcessSignal::Kill);
    running.wait();
    let views = || {
        let views = [&["sessions"][..], &["todos"], &["fleet", "status"], &["todos", "watch"], &["todos", "graph"]];
        views.map(|args| {
            let run = fixture.bosun(args).run().expect(0);
            format!("{}{}", run.stdout, run.stderr)
        })
    };
    for view in &views()[..4] {
        assert!(view.contains("interrupted"), "{view}");
        assert!(!view.contains("at work") && !view.contains("left") && !view.contains("in_progress"), "{view}");
    }
    fixture.bosun(["todos", "done", "docs"]).run().expect(0);
    for view in views() {
        assert!(view.contains("✓ docs") || !view.contains("◌ docs") && !view.contains("interrupted  docs"), "{view}");
        assert!(!view.contains("1 interrupted"), "{view}");
    }
}

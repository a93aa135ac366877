//! How a fleet ends, and what its exit code says.

use std::fs;

use super::planned;
use crate::stage;

const PLAN: &str = "
goal: Three pieces
todos:
  - { id: one, title: The first }
  - { id: two, title: The second, check: grep -q right two.txt }
  - { id: three, title: The third, depends_on: [one, two] }
";

#[test]
fn a_plan_is_worked_through_and_told() {
    let script = "
  - when: { path: /root/two, turn: 1 }
    answer: [call: { tool: create, input: { path: two.txt, content: right } }]
  - answer: [say: \"${path} is done\"]
";
    let stage = planned(PLAN, script);
    let ended = stage.bosun(["fleet", "run", "plan.yaml", "--allow-all"]).run().expect(0);
    ended.says(&[
        "Fleet deployed: Three pieces",
        "claimed one (The first)",
        "done two (The second)",
        "fleet done: 3/3 done",
    ]);
    let json = stage.bosun(["fleet", "status", "--json"]).run().expect(0).json();
    assert_eq!(json["end"], "done");
    let todos = json["todos"].as_array().unwrap();
    assert!(todos.iter().all(|todo| todo["status"] == "done" && todo["attempts"] == 1), "{json}");
    assert_eq!(todos[2]["result"], "/root/three is done");
    let told = stage.bosun(["fleet", "status"]).run().expect(0).stdout;
    assert!(told.contains("all todos are done") && told.contains("3 todos: 3 done"), "{told}");
    let again = stage.bosun(["fleet", "run", "plan.yaml", "--allow-all"]).run().expect(0);
    again.says(&["reused one", "reused two", "reused three"]);
    stage.bosun(["fleet", "run", "plan.yaml", "--allow-all", "--fresh"]).run().expect(0).says(&["done one"]);
}

#[test]
fn the_exit_code_of_a_fleet_tells_the_truth() {
    let stage = planned(PLAN, "  - answer: [say: All tests pass.]\n");
    let ended = stage.bosun(["fleet", "run", "plan.yaml", "--allow-all", "--output-format", "json"]).run().expect(3);
    let json = ended.json();
    assert_eq!((&json["outcome"], &json["exitCode"]), (&"blocked".into(), &3.into()));
    let todos = &json["fleet"]["todos"];
    let status: Vec<&str> = (0..3).map(|n| todos[n]["status"].as_str().unwrap()).collect();
    assert_eq!(status, ["done", "blocked", "blocked"]);
    assert!(todos[1]["reason"].as_str().unwrap().contains("`grep -q right two.txt` must exit with code 0"), "{json}");
    assert_eq!((&todos[1]["attempts"], &todos[2]["attempts"]), (&2.into(), &0.into()));
    fs::write(stage.path("two.txt"), "right").unwrap();
    stage.bosun(["fleet", "resume", "--allow-all"]).run().expect(0).says(&["unblocked two", "done three"]);
    let budget = ["fleet", "run", "plan.yaml", "--allow-all", "--fresh", "--max-tokens-total", "10"];
    stage.bosun(budget).run().expect(6).says(&["the session's budget is used up", "--max-budget-usd"]);
}

#[test]
fn a_goal_is_planned_and_what_cannot_be_planned_fails() {
    let stage = stage();
    stage.script(
        "version: 1
rules:
  - when: { path: /root, turn: 1, prompt: \"^write it down\\\\s\" }
    answer: [call: { tool: sql, input: { query: \"INSERT INTO todos (id, title) VALUES ('a', 'Write')\" } }]
  - when: { path: /root, prompt: Check whether }
    answer: [say: It is written.]
  - answer: [say: Nothing to plan.]
",
    );
    let ended = stage.bosun(["fleet", "write it down", "--allow-all"]).run().expect(0);
    assert!(ended.stdout.starts_with("It is written.\n"), "{}", ended.stdout);
    ended.says(&["- sql", "claimed a (Write)", "done a"]);
    let unplanned = stage.bosun(["fleet", "think of nothing", "--allow-all"]).run().expect(1);
    unplanned.says(&["the main agent made no plan", "1. there are no todos", "bosun fleet resume"]);
}

#[test]
fn what_was_typed_wrong_is_told_before_a_model_is_asked() {
    let stage = planned("todos: [{ id: a, title: A, depends_on: [b] }]\n", "  - fail: { class: terminal }\n");
    stage.bosun(["fleet"]).run().expect(2).says(&["no goal given"]);
    stage.bosun(["fleet", "statsu"]).run().expect(2).says(&["neither a `bosun fleet` command nor a goal"]);
    stage.bosun(["fleet", "do it now", "-p", "x"]).run().expect(2).says(&["--prompt applies to a prompt"]);
    for flag in ["--plan", "--autopilot", "--max-continues=2", "--plan-exit=exit_only"] {
        let name = flag.split('=').next().unwrap();
        stage.bosun(["fleet", "do it now", flag]).run().expect(2).says(&[name, "leave it out"]);
    }
    stage.bosun(["fleet", "do it now", "--share", "nowhere/run.md"]).run().expect(2).says(&["nowhere/run.md", ".html"]);
    stage.bosun(["fleet", "run", "plan.yaml"]).run().expect(2).says(&["plan.yaml", "bosun fleet check"]);
    let missing = stage.bosun(["fleet", "run", "missing.yaml"]).run().expect(2).says(&["missing.yaml"]);
    assert!(!missing.stderr.contains("problem"), "{}", missing.stderr);
    stage.bosun(["fleet", "resume"]).run().expect(2).says(&["there is no fleet in"]);
    fs::write(stage.path("plan.yaml"), "todos: [{ id: a, title: A, check: make test }]\n").unwrap();
    stage.bosun(["fleet", "run", "plan.yaml"]).run().expect(2).says(&["is not permitted", "--allow"]);
    let left = stage.bosun(["sessions", "--json"]).run().expect(0).json();
    assert_eq!(left.as_array().map(Vec::len), Some(0), "nothing began, and nothing is left: {left}");
    let help = stage.bosun(["fleet", "--help"]).run().expect(0).stdout;
    assert!(help.contains("--parallel") && !help.contains("--autopilot"), "{help}");
}

#[test]
fn a_fleet_is_shared_and_the_file_makes_nothing_run_again() {
    let stage = planned("todos: [{ id: one, title: The first }]\n", "  - answer: [say: It is done.]\n");
    let shared = ["fleet", "run", "plan.yaml", "--allow-all", "--share", "run.md"];
    stage.bosun(shared).run().expect(0).says(&["done one", "shared as run.md"]);
    assert!(fs::read_to_string(stage.path("run.md")).unwrap().contains("It is done."));
    stage.bosun(shared).run().expect(0).says(&["reused one", "shared as run.md"]);
}

#[test]
fn a_finished_fleet_that_is_shared_has_its_outcome_and_its_todos() {
    let plan = "todos: [{ id: one, title: The <first> }, { id: two, title: The second, depends_on: [one] }]\n";
    let stage = planned(plan, "  - answer: [say: \"## Done\\n- it **is**\"]\n");
    stage.bosun(["fleet", "run", "plan.yaml", "--allow-all", "--share", "run.html"]).run().expect(0);
    let page = fs::read_to_string(stage.path("run.html")).unwrap();
    for part in [
        "<th>outcome</th><td>fleet done: 2 of 2 todos done</td>",
        "<td>one</td><td>done</td><td>The &lt;first&gt;</td><td></td>",
        "<td>two</td><td>done</td><td>The second</td><td>one</td>",
        "<h5>Done</h5>\n<ul>\n<li>it <strong>is</strong></li>\n</ul>",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
}

#[test]
fn todos_of_a_session_without_a_fleet_hide_no_fleet() {
    let stage = planned("todos: [{ id: one, title: The first }]\n", "  - answer: [say: done]\n");
    stage.bosun(["fleet", "run", "plan.yaml", "--allow-all"]).run().expect(0);
    stage.bosun(["-p", "hello"]).run().expect(0);
    stage.bosun(["todos", "add", "Of nobody's fleet"]).run().expect(0);
    for told in ["status", "graph"] {
        assert!(stage.bosun(["fleet", told]).run().expect(0).stdout.contains("The first"), "{told}");
    }
}

#[test]
fn a_session_is_named_by_the_goal_and_a_failure_by_its_todo() {
    let script =
        "  - when: { attempt: 1 }\n    fail: { class: transient, message: too busy }\n  - answer: [say: done]\n";
    let stage = planned("goal: Reach the shore\ntodos: [{ id: row, title: Row }]\n", script);
    stage.bosun(["fleet", "run", "plan.yaml"]).run().expect(0).says(&["row: ! model: too busy"]);
    assert!(stage.bosun(["sessions"]).run().expect(0).stdout.contains("Reach the shore"));
}

#[test]
fn a_check_that_prints_nothing_is_told_so() {
    let stage = planned("todos: [{ id: row, title: Row, check: 'false' }]\n", "  - answer: [say: done]\n");
    let ended = stage.bosun(["fleet", "run", "plan.yaml", "--allow-all", "--retries", "0"]).run().expect(1);
    ended.says(&["blocked row", "it printed nothing"]);
}

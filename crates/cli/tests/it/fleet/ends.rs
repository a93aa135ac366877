//! Outcomes and exit codes of fleets.

use std::fs;

use super::fixture_with_plan;
use crate::fixture;

const PLAN: &str = "
goal: Three pieces
todos:
  - { id: one, title: The first }
  - { id: two, title: The second, check: grep -q right two.txt }
  - { id: three, title: The third, depends_on: [one, two] }
";

#[test]
fn plan_is_completed_and_reported() {
    let script = "
  - when: { path: /root/two, turn: 1 }
    answer: [call: { tool: create, input: { path: two.txt, content: right } }]
  - answer: [say: \"${path} is done\"]
";
    let fixture = fixture_with_plan(PLAN, script);
    let ended = fixture.bosun(["fleet", "run", "plan.yaml", "--allow-all"]).run().expect(0);
    ended.says(&[
        "Fleet deployed: Three pieces",
        "claimed one (The first)",
        "done two (The second)",
        "fleet done: 3/3 done",
    ]);
    let json = fixture.bosun(["fleet", "status", "--json"]).run().expect(0).json();
    assert_eq!(json["end"], "done");
    let todos = json["todos"].as_array().unwrap();
    assert!(todos.iter().all(|todo| todo["status"] == "done" && todo["attempts"] == 1), "{json}");
    assert_eq!(todos[2]["result"], "/root/three is done");
    let output = fixture.bosun(["fleet", "status"]).run().expect(0).stdout;
    assert!(output.contains("all todos are done") && output.contains("3 todos: 3 done"), "{output}");
    let again = fixture.bosun(["fleet", "run", "plan.yaml", "--allow-all"]).run().expect(0);
    let again = again.says(&["reused one", "reused two", "reused three"]);
    assert!(again.stdout.contains("one    reused ") && again.stdout.contains("3 todos: 3 reused"), "{}", again.stdout);
    fixture.bosun(["fleet", "run", "plan.yaml", "--allow-all", "--fresh"]).run().expect(0).says(&["done one"]);
}

#[test]
fn exit_code_matches_the_outcome_of_a_fleet() {
    let fixture = fixture_with_plan(PLAN, "  - answer: [say: All tests pass.]\n");
    let ended = fixture.bosun(["fleet", "run", "plan.yaml", "--allow-all", "--output-format", "json"]).run().expect(3);
    let json = ended.json();
    assert_eq!((&json["outcome"], &json["exitCode"]), (&"blocked".into(), &3.into()));
    let todos = &json["fleet"]["todos"];
    let status: Vec<&str> = (0..3).map(|n| todos[n]["status"].as_str().unwrap()).collect();
    assert_eq!(status, ["done", "blocked", "blocked"]);
    assert!(todos[1]["reason"].as_str().unwrap().contains("`grep -q right two.txt` must exit with code 0"), "{json}");
    assert_eq!((&todos[1]["attempts"], &todos[2]["attempts"]), (&2.into(), &0.into()));
    fs::write(fixture.path("two.txt"), "right").unwrap();
    fixture.bosun(["fleet", "resume", "--allow-all"]).run().expect(0).says(&["unblocked two", "done three"]);
    let budget = ["fleet", "run", "plan.yaml", "--allow-all", "--fresh", "--max-tokens-total", "10"];
    fixture.bosun(budget).run().expect(6).says(&["the session's budget is used up", "--max-budget-usd"]);
}

#[test]
fn goal_is_planned_or_the_fleet_fails() {
    let fixture = fixture();
    fixture.script(
        "version: 1
rules:
  - when: { path: /root, turn: 1, prompt: \"User request: write it down\" }
    answer: [call: { tool: sql, input: { query: \"INSERT INTO todos (id, title) VALUES ('a', 'Write')\" } }]
  - when: { path: /root, prompt: Check whether }
    answer: [say: It is written.]
  - answer: [say: Nothing to plan.]
",
    );
    let ended = fixture.bosun(["fleet", "write it down", "--allow-all"]).run().expect(0);
    assert!(ended.stdout.starts_with("It is written.\n"), "{}", ended.stdout);
    ended.says(&["- sql", "claimed a (Write)", "done a"]);
    let unplanned = fixture.bosun(["fleet", "think of nothing", "--allow-all"]).run().expect(1);
    let unplanned = unplanned.says(&["error: the main agent made no plan: there are no todos", "bosun fleet resume"]);
    assert_eq!(unplanned.stdout, "Nothing to plan.\n\n", "no table");
}

#[test]
fn usage_errors_are_reported_before_a_model_request() {
    let fixture =
        fixture_with_plan("todos: [{ id: a, title: A, depends_on: [b] }]\n", "  - fail: { class: terminal }\n");
    fixture.bosun(["fleet"]).run().expect(2).says(&["no goal given"]);
    fixture
        .bosun(["fleet", "statsu"])
        .run()
        .expect(2)
        .says(&["neither a `bosun fleet` command nor a goal", "did you mean `bosun fleet status`?"]);
    fixture.bosun(["fleet", "do it now", "-p", "x"]).run().expect(2).says(&["--prompt applies to a prompt"]);
    for flag in ["--plan", "--autopilot", "--max-continues=2", "--plan-exit=exit_only"] {
        let name = flag.split('=').next().unwrap();
        fixture.bosun(["fleet", "do it now", flag]).run().expect(2).says(&[name, "leave it out"]);
    }
    fixture
        .bosun(["fleet", "do it now", "--share", "nowhere/run.md"])
        .run()
        .expect(2)
        .says(&["nowhere/run.md", ".html"]);
    fixture.bosun(["fleet", "run", "plan.yaml"]).run().expect(2).says(&["plan.yaml", "bosun fleet check"]);
    let missing = fixture.bosun(["fleet", "run", "missing.yaml"]).run().expect(2).says(&["missing.yaml"]);
    assert!(!missing.stderr.contains("problem"), "{}", missing.stderr);
    fixture.bosun(["fleet", "resume"]).run().expect(2).says(&["there is no fleet in"]);
    fs::write(fixture.path("plan.yaml"), "todos: [{ id: a, title: A, check: make test }]\n").unwrap();
    fixture.bosun(["fleet", "run", "plan.yaml"]).run().expect(2).says(&["is not permitted", "--allow"]);
    let left = fixture.bosun(["sessions", "--json"]).run().expect(0).json();
    assert_eq!(left.as_array().map(Vec::len), Some(0), "no session was started or left behind: {left}");
    let help = fixture.bosun(["fleet", "--help"]).run().expect(0).stdout;
    assert!(help.contains("--parallel") && !help.contains("--autopilot"), "{help}");
}

#[test]
fn shared_file_does_not_invalidate_results() {
    let fixture = fixture_with_plan("todos: [{ id: one, title: The first }]\n", "  - answer: [say: It is done.]\n");
    let shared = ["fleet", "run", "plan.yaml", "--allow-all", "--share", "run.md"];
    fixture.bosun(shared).run().expect(0).says(&["done one", "shared as run.md"]);
    assert!(fs::read_to_string(fixture.path("run.md")).unwrap().contains("It is done."));
    fixture.bosun(shared).run().expect(0).says(&["reused one", "shared as run.md"]);
}

#[test]
fn shared_fleet_page_has_outcome_and_todos() {
    let plan = "todos: [{ id: one, title: The <first> }, { id: two, title: The second, depends_on: [one] }]\n";
    let fixture = fixture_with_plan(plan, "  - answer: [say: \"## Done\\n- it **is**\"]\n");
    fixture.bosun(["fleet", "run", "plan.yaml", "--allow-all", "--share", "run.html"]).run().expect(0);
    let page = fs::read_to_string(fixture.path("run.html")).unwrap();
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
fn todos_without_a_fleet_do_not_hide_an_earlier_fleet() {
    let fixture = fixture_with_plan("todos: [{ id: one, title: The first }]\n", "  - answer: [say: done]\n");
    fixture.bosun(["fleet", "run", "plan.yaml", "--allow-all"]).run().expect(0);
    fixture.bosun(["-p", "hello"]).run().expect(0);
    fixture.bosun(["todos", "add", "Of nobody's fleet"]).run().expect(0);
    for output in ["status", "graph"] {
        assert!(fixture.bosun(["fleet", output]).run().expect(0).stdout.contains("The first"), "{output}");
    }
}

#[test]
fn goal_is_the_session_title_and_failures_name_their_todo() {
    let script =
        "  - when: { attempt: 1 }\n    fail: { class: transient, message: too busy }\n  - answer: [say: done]\n";
    let fixture = fixture_with_plan("goal: Reach the shore\ntodos: [{ id: row, title: Row }]\n", script);
    fixture.bosun(["fleet", "run", "plan.yaml"]).run().expect(0).says(&["row: ! model: too busy"]);
    assert!(fixture.bosun(["sessions"]).run().expect(0).stdout.contains("Reach the shore"));
}

#[test]
fn check_without_output_is_reported_as_such() {
    let fixture = fixture_with_plan("todos: [{ id: row, title: Row, check: 'false' }]\n", "  - answer: [say: done]\n");
    let ended = fixture.bosun(["fleet", "run", "plan.yaml", "--allow-all", "--retries", "0"]).run().expect(1);
    ended.says(&["blocked row", "it printed nothing"]);
}

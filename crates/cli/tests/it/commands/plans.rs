//! `bosun fleet check`, and which todos a second run repeats.

use std::fs;

use serde_json::json;
use testkit::binary::BinaryFixture;

use super::normalized;
use crate::fixture;
use crate::scripts::HELLO;

const PLAN: &str = "\
todos:
  - { id: tokens, title: Write the tokens, files: [src/tokens.rs] }
  - { id: lexer, title: Make the lexer total, depends_on: [tokens], check: 'true' }
  - { id: docs, title: Say so, depends_on: [tokens], agent: explore }
  - { id: parser, title: Make the parser total, depends_on: [lexer, docs] }
";

#[test]
fn valid_plan_is_summarized() {
    let fixture = fixture();
    fs::write(fixture.path("plan.yaml"), PLAN).unwrap();
    let checked = fixture.bosun(["fleet", "check", "plan.yaml"]).without_env("BOSUN_MODEL").run().expect(0);
    assert_eq!(
        checked.stdout,
        "4 todos in 3 layers, at most 2 at once\n\
         longest path: tokens → lexer → parser (3)\n\
         with a check: lexer (1)\n\
         cannot tell which results would be reused without a model: give --model\n"
    );
    fixture.script(HELLO);
    let json =
        fixture.bosun(["fleet", "check", "plan.yaml", "--json", "--model", "script/script.yaml"]).run().expect(0);
    let expected = json!({
        "todos": 4, "layers": [["tokens"], ["lexer", "docs"], ["parser"]], "longest": ["tokens", "lexer", "parser"],
        "widest": 2, "checked": ["lexer"], "reused": [], "problems": [], "conflicts": [],
        "again": {
            "tokens": "never done", "lexer": "tokens runs again", "docs": "tokens runs again",
            "parser": "docs runs again",
        },
    });
    assert_eq!(json.json(), expected);
}

#[test]
fn all_problems_of_a_plan_are_reported() {
    let fixture = fixture();
    let check = |plan: &str| {
        fs::write(fixture.path("plan.yaml"), plan).unwrap();
        let ended = fixture.bosun(["fleet", "check", "plan.yaml"]).run().expect(2);
        normalized(&fixture, &ended.stdout)
    };
    assert_eq!(
        check("todos:\n  - { id: a, title: A, depends_on: [b] }\n  - { id: b, title: B, depends_on: [a], chekc: x }\n"),
        "error: plan.yaml:3:41: todo `b`: unknown key `chekc`; did you mean `check`?\n\
         error: plan.yaml:2:37: todos wait for each other: a → b → a; remove one of these dependencies\n"
    );
    let output = check(
        "todos:\n  - { id: a, title: A, agent: nobody, model: no/such, files: [../x], expects: { type: nonsense } }\n",
    );
    let lines: Vec<&str> = output.lines().collect();
    assert_eq!(lines.len(), 4, "{output}");
    for (line, expected) in
        lines.iter().zip(["no agent `nobody`", "no", "must be a path below", "not a usable JSON Schema"])
    {
        assert!(line.starts_with("error: plan.yaml:2:") && line.contains(expected), "{line}");
    }
    let json = fixture.bosun(["fleet", "check", "nowhere.yaml", "--json"]).run().expect(2).json();
    assert_eq!(json["problems"][0]["message"], "it does not exist");
}

#[test]
fn the_schema_of_plans_is_printed() {
    let printed = fixture().bosun(["fleet", "schema"]).run().expect(0).json();
    assert_eq!(printed["title"], "Bosun plan");
}

/// Every worker writes a file and reports that it is done.
const WORKERS: &str = r#"
version: 1
rules:
  - when: { turn: 2.. }
    answer: [ { say: Done. } ]
  - when: { prompt: "Do (\\w+)" }
    answer: [ { call: { tool: shell, input: { command: "echo done >> src/of-${1}" } } } ]
"#;

/// Three todos that declare their files, and one that does not.
const WORK: &str = "\
todos:
  - { id: a, title: Do a, files: [src/a, src/of-a] }
  - { id: b, title: Do b, files: [src/b, src/of-b], depends_on: [a] }
  - { id: c, title: Do c, files: [src/c, src/of-c], check: test -e allowed }
  - { id: d, title: Do d, depends_on: [b] }
";

/// Runs a plan; returns the todos that workers worked on.
fn run_plan(fixture: &BinaryFixture, plan: &str, flags: &[&str], code: i32) -> Vec<String> {
    fs::write(fixture.path("plan.yaml"), plan).unwrap();
    let line = ["fleet", "run", "plan.yaml", "--allow-all", "--retries", "0", "--output-format", "json"];
    let report = fixture.bosun(line).args(flags).run().expect(code).json();
    let todos = report["fleet"]["todos"].as_array().unwrap();
    let worked = todos.iter().filter(|todo| todo["attempts"] != 0);
    worked.map(|todo| todo["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn second_run_repeats_failed_and_edited_todos() {
    let fixture = fixture();
    fixture.script(WORKERS);
    fs::create_dir(fixture.path("src")).unwrap();
    let run = |flags: &[&str], code| run_plan(&fixture, WORK, flags, code);
    assert_eq!(run(&[], 3), ["a", "b", "c", "d"]);
    fs::write(fixture.path("allowed"), "").unwrap();
    assert_eq!(
        run(&[], 0),
        ["c", "d"],
        "the failed todo, and the one without declared files, which may have read the new file"
    );
    assert!(run(&[], 0).is_empty());
    fs::write(fixture.path("src/b"), "edited").unwrap();
    let check = fixture.bosun(["fleet", "check", "plan.yaml"]).run().expect(0).stdout;
    assert!(check.contains("reused: 2 of 4\n") && check.contains("done again: b (files changed: src/b)\n"), "{check}");
    assert_eq!(run(&[], 0), ["b", "d"]);
    let other = WORK.replace("Do a,", "Do a and more,");
    assert_eq!(run_plan(&fixture, &other, &[], 0), ["a", "b", "d"], "a, whose text changed, and its dependents");
    assert_eq!(run(&["--fresh"], 0), ["a", "b", "c", "d"]);
    let gone = fixture.bosun(["gc", "--days", "0", "--json"]).run().expect(0).json();
    assert!(gone["results"].as_u64().unwrap() >= 4, "{gone}");
    assert_eq!(run(&[], 0), ["a", "b", "c", "d"]);
}

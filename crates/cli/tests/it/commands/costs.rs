//! `bosun cost`: sums of what sessions spent.

use serde_json::{Value, json};
use testkit::binary::BinaryFixture;

use crate::fixture;

/// Two turns of known size.
const MEASURED: &str = "
version: 1
rules:
  - when: { turn: 1 }
    answer: [{ call: { tool: report_intent, input: { intent: count } } }]
    usage: { input: 100, output: 20, cache_read: 3, cache_write: 4 }
  - answer: [{ say: Done. }]
    usage: { input: 200, output: 30, cache_read: 100, cache_write: 0 }
";

fn cost(fixture: &BinaryFixture, args: &[&str]) -> Value {
    let args: Vec<&str> = ["cost", "--json"].iter().chain(args).copied().collect();
    fixture.bosun(args).run().expect(0).json()
}

#[test]
fn sums_equal_the_usage_of_the_turns() {
    let fixture = fixture();
    fixture.script(MEASURED).prompt("first").run().expect(0);
    let first = fixture.newest();
    std::fs::write(fixture.path("other.yaml"), MEASURED).unwrap();
    fixture.prompt("second").args(["--model", "script/other.yaml"]).run().expect(0);

    let all = cost(&fixture, &[]);
    assert_eq!((&all["by"], all["lines"].as_array().unwrap().len()), (&json!("model"), 2));
    let total = &all["total"];
    assert_eq!(total["usage"], json!({ "input": 600, "output": 100, "cacheRead": 206, "cacheWrite": 8 }));
    assert_eq!((&total["turns"], &total["tokens"], &total["unansweredTokens"]), (&json!(4), &json!(914), &json!(0)));
    assert_eq!(total["costUsd"], 0.0, "a script costs nothing: {total}");

    let one = cost(&fixture, &[&first, "--by", "session"]);
    assert_eq!((&one["lines"][0]["session"], &one["lines"][0]["name"]), (&json!(first), &json!("first")));
    assert_eq!((&one["total"]["tokens"], one["lines"].as_array().unwrap().len()), (&json!(457), 1));
    let twice = cost(&fixture, &[&first, &first, "--by", "task"]);
    assert_eq!((&twice["lines"][0]["name"], &twice["total"]["tokens"]), (&json!("/root"), &json!(457)));
    let agents = cost(&fixture, &["--by", "agent", "--here"]);
    assert_eq!((&agents["lines"][0]["name"], &agents["lines"][0]["tokens"]), (&json!("main"), &json!(914)));
    assert_eq!(cost(&fixture, &["--since", "1h"])["total"]["tokens"], 914);
    assert_eq!(cost(&fixture, &["--since", "0s"])["lines"], json!([]));
}

#[test]
fn the_table_has_a_line_for_each_and_the_total() {
    let fixture = fixture();
    fixture.script(MEASURED).prompt("first").run().expect(0);
    let table = fixture.bosun(["cost", "--by", "agent"]).run().expect(0);
    insta::assert_snapshot!(table.stdout, @r"
    agent  turns   in  from cache  to cache  out  estimated   cost
    main       2  300         103         4   50          0  $0.00
    total      2  300         103         4   50          0  $0.00
    ");
    assert_eq!(table.stderr, "");
    fixture.bosun(["cost", "nothing"]).run().expect(2).says(&["no session begins with `nothing`"]);
}

#[test]
fn cut_off_request_is_counted_separately() {
    let fixture = fixture();
    let script = "
version: 1
rules:
  - when: { attempt: 1 }
    answer: [{ say: Half an }, { cut: true }]
  - answer: [{ say: Whole. }]
    usage: { input: 10, output: 5 }
";
    fixture.script(script).prompt("go").args(["--max-tokens-total", "200000"]).run().expect(0);
    let total = cost(&fixture, &[])["total"].clone();
    assert_eq!((&total["turns"], &total["usage"]["input"]), (&json!(1), &json!(10)));
    let unanswered = total["unansweredTokens"].as_u64().unwrap();
    assert!(unanswered > 0 && total["tokens"] == unanswered + 15, "{total}");
}

#[test]
fn cost_of_a_damaged_session_comes_from_the_index_or_is_reported_missing() {
    let fixture = fixture();
    fixture.script(MEASURED).prompt("first").run().expect(0);
    let damaged = fixture.newest();
    fixture.prompt("second").run().expect(0);
    testkit::binary::garble(&fixture.session_db(&damaged), 0..4096);
    assert_eq!(fixture.bosun(["cost", "--json"]).run().expect(0).json()["total"]["tokens"], 2 * 457);
    // The index is rebuilt from the readable files.
    std::fs::remove_file(fixture.home().join("bosun.db")).unwrap();
    let ended = fixture.bosun(["cost", "--json"]).run().expect(1);
    assert_eq!(ended.json()["total"]["tokens"], 457);
    ended.says(&[&format!("{damaged} is left out")]);
}

/// A tree of three levels in which one agent fails and one is woken again, with prices that do not divide evenly.
const TREE: &str = r#"
version: 1
price: { input: 3.1, output: 15.7 }
rules:
  - when: { path: /root, turn: 1 }
    answer:
      - call: { tool: task, input: { description: d, prompt: p, agent_type: general-purpose, name: one } }
      - call: { tool: task, input: { description: d, prompt: p, agent_type: explore, name: two, mode: background } }
      - call: { tool: task, input: { description: d, prompt: p, agent_type: task, name: fails } }
    usage: { input: 1013, output: 211 }
  - when: { path: /root/one, turn: 1 }
    answer:
      - call: { tool: task, input: { description: d, prompt: p, agent_type: general-purpose, name: deep } }
    usage: { input: 701, output: 53 }
  - when: { path: /root/fails, turn: 1 }
    answer: [call: { tool: report_intent, input: { intent: fail } }]
    usage: { input: 307, output: 7 }
  - when: { path: /root/fails }
    fail: { class: terminal, message: gone }
  - answer: [say: "Done by ${path}."]
    usage: { input: 419, output: 31 }
"#;

#[test]
fn cost_of_an_agent_tree_adds_up_for_every_grouping() {
    let fixture = fixture();
    let ended = fixture.script(TREE).prompt("go").args(["--output-format", "json"]).run().expect(3).json();
    let total = cost(&fixture, &[])["total"].clone();
    for by in ["agent", "model", "task", "session"] {
        let split = cost(&fixture, &["--by", by]);
        assert_eq!(split["total"], total, "{by}");
        for figure in ["turns", "tokens", "costMicros"] {
            let sum: u64 = split["lines"].as_array().unwrap().iter().filter_map(|line| line[figure].as_u64()).sum();
            assert_eq!(Some(sum), total[figure].as_u64().or(Some(0)), "{figure} by {by}: {split}");
        }
        let dollars: f64 =
            split["lines"].as_array().unwrap().iter().map(|line| line["costUsd"].as_f64().unwrap()).sum();
        assert!((dollars - total["costUsd"].as_f64().unwrap()).abs() < 1e-9, "by {by}: {split}");
    }
    let tasks = ended["tasks"].as_array().unwrap();
    assert_eq!(tasks.len(), 5);
    let sum_of = |figure: &str| tasks.iter().map(|task| task["usage"][figure].as_u64().unwrap()).sum::<u64>();
    assert_eq!(
        (&total["usage"]["input"], &total["usage"]["output"]),
        (&json!(sum_of("input")), &json!(sum_of("output")))
    );
    assert_eq!((&ended["usage"], &ended["turns"]), (&total["usage"], &total["turns"]), "{ended}");
    let micros: u64 = tasks.iter().map(|task| task["costMicros"].as_u64().unwrap()).sum();
    let dollars = total["costUsd"].as_f64().unwrap();
    assert!((dollars * 1e6 - micros as f64).abs() < 1e-3, "{dollars} and {micros}");
}

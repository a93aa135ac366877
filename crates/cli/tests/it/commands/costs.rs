//! What was spent, summed up from the sessions' own rows.

use serde_json::{Value, json};
use testkit::binary::BinaryFixture;

use crate::stage;

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

fn cost(stage: &BinaryFixture, args: &[&str]) -> Value {
    let args: Vec<&str> = ["cost", "--json"].iter().chain(args).copied().collect();
    stage.bosun(args).run().expect(0).json()
}

#[test]
fn sums_are_what_the_turns_used() {
    let stage = stage();
    stage.script(MEASURED).prompt("first").run().expect(0);
    let first = stage.newest();
    std::fs::write(stage.path("other.yaml"), MEASURED).unwrap();
    stage.prompt("second").args(["--model", "script/other.yaml"]).run().expect(0);

    let all = cost(&stage, &[]);
    assert_eq!((&all["by"], all["lines"].as_array().unwrap().len()), (&json!("model"), 2));
    let total = &all["total"];
    assert_eq!(total["usage"], json!({ "input": 600, "output": 100, "cacheRead": 206, "cacheWrite": 8 }));
    assert_eq!((&total["turns"], &total["tokens"], &total["unansweredTokens"]), (&json!(4), &json!(914), &json!(0)));
    assert!(total["costUsd"].is_null(), "a script has no price: {total}");

    let one = cost(&stage, &[&first, "--by", "session"]);
    assert_eq!((&one["lines"][0]["session"], &one["lines"][0]["name"]), (&json!(first), &json!("first")));
    assert_eq!((&one["total"]["tokens"], one["lines"].as_array().unwrap().len()), (&json!(457), 1));
    let twice = cost(&stage, &[&first, &first, "--by", "task"]);
    assert_eq!((&twice["lines"][0]["name"], &twice["total"]["tokens"]), (&json!("/root"), &json!(457)));
    let agents = cost(&stage, &["--by", "agent", "--here"]);
    assert_eq!((&agents["lines"][0]["name"], &agents["lines"][0]["tokens"]), (&json!("main"), &json!(914)));
    assert_eq!(cost(&stage, &["--since", "1h"])["total"]["tokens"], 914);
    assert_eq!(cost(&stage, &["--since", "0s"])["lines"], json!([]));
}

#[test]
fn the_table_has_a_line_for_each_and_the_total() {
    let stage = stage();
    stage.script(MEASURED).prompt("first").run().expect(0);
    let table = stage.bosun(["cost", "--by", "agent"]).run().expect(0);
    insta::assert_snapshot!(table.stdout, @r"
    agent  turns   in  from cache  to cache  out  unanswered     cost
    main       2  300         103         4   50           0  unknown
    total      2  300         103         4   50           0  unknown
    ");
    table.says(&["unknown: a model has no price; set one in config.toml"]);
    stage.bosun(["cost", "nothing"]).run().expect(2).says(&["no session begins with `nothing`"]);
}

#[test]
fn a_question_that_was_cut_is_counted_apart() {
    let stage = stage();
    let script = "
version: 1
rules:
  - when: { attempt: 1 }
    answer: [{ say: Half an }, { cut: true }]
  - answer: [{ say: Whole. }]
    usage: { input: 10, output: 5 }
";
    stage.script(script).prompt("go").args(["--max-tokens-total", "200000"]).run().expect(0);
    let total = cost(&stage, &[])["total"].clone();
    assert_eq!((&total["turns"], &total["usage"]["input"]), (&json!(1), &json!(10)));
    let unanswered = total["unansweredTokens"].as_u64().unwrap();
    assert!(unanswered > 0 && total["tokens"] == unanswered + 15, "{total}");
}

#[test]
fn what_a_session_cost_is_known_when_its_file_is_damaged_and_named_when_it_is_not_known() {
    let stage = stage();
    stage.script(MEASURED).prompt("first").run().expect(0);
    let damaged = stage.newest();
    stage.prompt("second").run().expect(0);
    testkit::binary::garble(&stage.session_db(&damaged), 0..4096);
    assert_eq!(stage.bosun(["cost", "--json"]).run().expect(0).json()["total"]["tokens"], 2 * 457);
    // The index is made again from the files that can be read.
    std::fs::remove_file(stage.home().join("bosun.db")).unwrap();
    let ended = stage.bosun(["cost", "--json"]).run().expect(1);
    assert_eq!(ended.json()["total"]["tokens"], 457);
    ended.says(&[&format!("{damaged} is left out")]);
}

/// A tree three deep, of which one agent fails and one is woken again, at prices that do not divide evenly.
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
fn what_a_tree_of_agents_cost_adds_up_however_it_is_split() {
    let stage = stage();
    let ended = stage.script(TREE).prompt("go").args(["--output-format", "json"]).run().expect(3).json();
    let total = cost(&stage, &[])["total"].clone();
    for by in ["agent", "model", "task", "session"] {
        let split = cost(&stage, &["--by", by]);
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
    let of = |figure: &str| tasks.iter().map(|task| task["usage"][figure].as_u64().unwrap()).sum::<u64>();
    assert_eq!((&total["usage"]["input"], &total["usage"]["output"]), (&json!(of("input")), &json!(of("output"))));
    assert_eq!((&ended["usage"], &ended["turns"]), (&total["usage"], &total["turns"]), "{ended}");
    let micros: u64 = tasks.iter().map(|task| task["costMicros"].as_u64().unwrap()).sum();
    let dollars = total["costUsd"].as_f64().unwrap();
    assert!((dollars * 1e6 - micros as f64).abs() < 1e-3, "{dollars} and {micros}");
}

//! Limits of tokens, money and time: what holds them, and how a run ends that reaches one.

use serde_json::json;

use super::shown;
use crate::scripts::ENDLESS;
use crate::stage;

#[test]
fn a_budget_of_tokens_ends_the_run_with_what_was_said() {
    let stage = stage();
    let ended = stage.script(ENDLESS).prompt("go").args(["--max-tokens-total", "30000"]).run().expect(6);
    assert!(ended.stdout.starts_with("Step "), "{ended:?}");
    let id = stage.newest();
    let ended = ended.says(&[
        "  ! the budget allows only one last turn",
        "error: the budget does not allow another request; spent: ",
        " of 30000 tokens",
        &format!("hint: resume with: bosun --resume {id} -p \"continue\" --max-tokens-total N"),
    ]);
    assert!(ended.stderr.lines().last().unwrap().contains("; cost: unknown; model: script/"), "{ended:?}");
    let session = stage.bosun(["sessions", "show", &id, "--json"]).run().expect(0).json()["session"].clone();
    assert_eq!(session["budget"], json!({ "tokens": 30_000, "micros": null }));
    assert_eq!(session["priced"], false);
    let spent = session["spent"]["tokens"].as_u64().unwrap();
    assert!(spent <= 30_000 && spent == session["turns"].as_u64().unwrap() * 1_000, "{session}");

    stage.bosun(["--resume", &id, "-p", "go on"]).run().expect(6).says(&["of 30000 tokens"]);
    let more = ["--resume", &id, "-p", "go on", "--max-tokens-total", "40000", "--output-format", "json"];
    let result = stage.bosun(more).run().expect(6).json();
    assert_eq!((&result["outcome"], &result["exitCode"]), (&json!("budget_exhausted"), &json!(6)));
    assert_eq!(result["budget"]["tokens"], 40_000);
    assert!(result["spent"]["tokens"].as_u64().unwrap() > spent && result["costUsd"].is_null(), "{result}");
    assert!(result["message"].as_str().unwrap().ends_with(" of 40000 tokens"), "{result}");
    assert!(result["models"]["asked"][0].as_str().unwrap().starts_with("script/"), "{result}");
}

#[test]
fn the_file_gives_a_session_that_begins_its_budget_and_effort() {
    let stage = stage();
    std::fs::create_dir(stage.home()).unwrap();
    std::fs::write(stage.home().join("config.toml"), "effort = 'low'\n[budget]\ntokens = 90000\n").unwrap();
    stage.script(crate::scripts::HELLO).prompt("hi").run().expect(0);
    let shown = |id: &str| stage.bosun(["sessions", "show", id, "--json"]).run().expect(0).json()["session"].clone();
    let id = stage.newest();
    assert_eq!((&shown(&id)["effort"], &shown(&id)["budget"]["tokens"]), (&json!("low"), &json!(90_000)));
    let flags = ["--resume", &id, "-p", "more", "--effort", "high", "--max-tokens-total", "95000"];
    stage.bosun(flags).run().expect(0);
    std::fs::remove_file(stage.home().join("config.toml")).unwrap();
    stage.bosun(["--resume", &id, "-p", "and more"]).run().expect(0);
    assert_eq!((&shown(&id)["effort"], &shown(&id)["budget"]["tokens"]), (&json!("high"), &json!(95_000)));
}

#[test]
fn a_budget_of_money_needs_a_price() {
    let stage = stage();
    stage.script(ENDLESS);
    let refused = stage.prompt("go").args(["--max-budget-usd", "0.50"]).run().expect(2);
    insta::assert_snapshot!(shown(&stage, &refused.stderr), @r"
    error: the price of script//stage/model.yaml is unknown, so a budget in dollars cannot be enforced
    hint: limit it with --max-tokens-total instead
    ");
    assert!(stage.sessions().is_empty(), "nothing was begun");
    std::fs::write(stage.home().join("config.toml"), "[budget]\nusd = 5\n").unwrap();
    let refused = stage.prompt("go").args(["--max-tokens-total", "9000"]).run().expect(2);
    refused.says(&["hint: remove `usd` from [budget] in config.toml"]);
    for wrong in ["0", "-1", "much", "0.0000001"] {
        stage.prompt("go").args([format!("--max-budget-usd={wrong}")]).run().expect(2).says(&["--max-budget-usd"]);
    }
    stage.prompt("go").args(["--max-tokens-total", "0"]).run().expect(2).says(&["--max-tokens-total"]);
}

#[test]
fn a_limit_of_time_ends_the_run_with_a_last_answer() {
    let stage = stage();
    let script = "
version: 1
rules:
  - when: { prompt: your last answer }
    answer: [{ say: This far I came. }]
  - answer:
      - say: I begin.
      - call: { tool: shell, input: { command: sleep 1000 } }
";
    let ended = stage.script(script).prompt("go").args(["--timeout", "200ms"]).run().expect(4);
    assert_eq!(ended.stdout, "This far I came.\n");
    let id = stage.newest();
    ended.says(&[
        "  ! the time limit is reached: one last turn",
        "error: the time limit was reached before the answer",
        &format!("hint: resume with: bosun --resume {id} -p \"continue\" --timeout TIME"),
    ]);
    stage.prompt("go").args(["--timeout", "0s"]).run().expect(2).says(&["longer than 0"]);
}

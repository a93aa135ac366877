//! Limits on tokens, money and time, and how a run ends that reaches one.

use serde_json::json;

use super::normalized;
use crate::fixture;
use crate::scripts::ENDLESS;

#[test]
fn token_budget_ends_the_run_with_the_last_answer() {
    let fixture = fixture();
    let ended = fixture.script(ENDLESS).prompt("go").args(["--max-tokens-total", "30000"]).run().expect(6);
    assert!(ended.stdout.starts_with("Step "), "{ended:?}");
    let id = fixture.newest();
    let ended = ended.says(&[
        "  ! the budget allows only one last turn",
        "error: the budget does not allow another request; spent: ",
        " of 30000 tokens",
        &format!("hint: resume with: bosun --resume {id} -p \"continue\" --max-tokens-total N"),
    ]);
    assert!(ended.stderr.lines().last().unwrap().contains("; cost: none; model: script/model.yaml"), "{ended:?}");
    let session = fixture.bosun(["sessions", "show", &id, "--json"]).run().expect(0).json()["session"].clone();
    assert_eq!(session["budget"], json!({ "tokens": 30_000, "micros": null }));
    assert_eq!(session["priced"], true);
    let spent = session["spent"]["tokens"].as_u64().unwrap();
    assert!(spent <= 30_000 && spent == session["turns"].as_u64().unwrap() * 1_000, "{session}");

    fixture.bosun(["--resume", &id, "-p", "go on"]).run().expect(6).says(&["of 30000 tokens"]);
    let more = ["--resume", &id, "-p", "go on", "--max-tokens-total", "40000", "--output-format", "json"];
    let result = fixture.bosun(more).run().expect(6).json();
    assert_eq!((&result["outcome"], &result["exitCode"]), (&json!("budget_exhausted"), &json!(6)));
    assert_eq!(result["budget"]["tokens"], 40_000);
    assert!(result["spent"]["tokens"].as_u64().unwrap() > spent && result["costUsd"] == 0.0, "{result}");
    assert!(result["message"].as_str().unwrap().ends_with(" of 40000 tokens"), "{result}");
    assert!(result["models"]["asked"][0].as_str().unwrap().starts_with("script/"), "{result}");
}

#[test]
fn new_session_takes_budget_and_effort_from_the_settings() {
    let fixture = fixture();
    std::fs::create_dir(fixture.home()).unwrap();
    std::fs::write(fixture.home().join("config.toml"), "effort = 'low'\n[budget]\ntokens = 90000\n").unwrap();
    fixture.script(crate::scripts::HELLO).prompt("hi").run().expect(0);
    let shown = |id: &str| fixture.bosun(["sessions", "show", id, "--json"]).run().expect(0).json()["session"].clone();
    let id = fixture.newest();
    assert_eq!((&shown(&id)["effort"], &shown(&id)["budget"]["tokens"]), (&json!("low"), &json!(90_000)));
    let flags = ["--resume", &id, "-p", "more", "--effort", "high", "--max-tokens-total", "95000"];
    fixture.bosun(flags).run().expect(0);
    std::fs::remove_file(fixture.home().join("config.toml")).unwrap();
    fixture.bosun(["--resume", &id, "-p", "and more"]).run().expect(0);
    assert_eq!((&shown(&id)["effort"], &shown(&id)["budget"]["tokens"]), (&json!("high"), &json!(95_000)));
}

#[test]
fn dollar_budget_needs_a_price() {
    let fixture = fixture();
    let attic = "[providers.attic]\nkind = 'openai-chat'\nbase-url = 'http://127.0.0.1:9/v1'\n";
    std::fs::create_dir(fixture.home()).unwrap();
    std::fs::write(fixture.home().join("config.toml"), attic).unwrap();
    let go = |flag: [&str; 2]| fixture.prompt("go").args(["--model", "attic/m"]).args(flag).run().expect(2);
    insta::assert_snapshot!(normalized(&fixture, &go(["--max-budget-usd", "0.50"]).stderr), @r#"
    error: the price of attic/m is unknown, so a budget in dollars cannot be enforced
    hint: limit it with --max-tokens-total instead, or give its price in config.toml: [providers.attic.models."m"] with input and output, in dollars per million tokens
    "#);
    assert!(fixture.sessions().is_empty(), "no session was started");
    std::fs::write(fixture.home().join("config.toml"), format!("{attic}[budget]\nusd = 5\n")).unwrap();
    go(["--max-tokens-total", "9000"]).says(&["hint: remove `usd` from [budget] in config.toml"]);
    fixture.script(crate::scripts::HELLO).prompt("a script costs nothing").run().expect(0);
    for wrong in ["0", "-1", "much", "0.0000001"] {
        fixture.prompt("go").args([format!("--max-budget-usd={wrong}")]).run().expect(2).says(&["--max-budget-usd"]);
    }
    fixture.prompt("go").args(["--max-tokens-total", "0"]).run().expect(2).says(&["--max-tokens-total"]);
}

#[test]
fn time_limit_ends_the_run_with_a_last_answer() {
    let fixture = fixture();
    let script = "
version: 1
rules:
  - when: { prompt: your last answer }
    answer: [{ say: This far I came. }]
  - answer:
      - say: I begin.
      - call: { tool: shell, input: { command: sleep 1000 } }
";
    let ended = fixture.script(script).prompt("go").args(["--timeout", "200ms"]).run().expect(4);
    assert_eq!(ended.stdout, "This far I came.\n");
    let id = fixture.newest();
    ended.says(&[
        "  ! the time limit is reached: one last turn",
        "error: the time limit was reached before the answer",
        &format!("hint: resume with: bosun --resume {id} -p \"continue\" --timeout TIME"),
    ]);
    fixture.prompt("go").args(["--timeout", "0s"]).run().expect(2).says(&["longer than 0"]);
}

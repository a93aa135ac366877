//! Models with a price: costs of a run, and budgets.

use std::fs;

use serde_json::json;
use testkit::binary::BinaryFixture;
use testkit::server::ModelServer;

use crate::fixture;
use crate::scripts::ENDLESS;

/// One turn of every kind of token.
const MEASURED: &str = "
version: 1
rules:
  - answer: [{ say: Done. }]
    usage: { input: 1000, output: 100, cache_read: 10000, cache_write: 2000 }
";

/// Sets the price of a model that has none.
fn price(fixture: &BinaryFixture, provider: &str) {
    fs::create_dir_all(fixture.home()).unwrap();
    let config = format!("[providers.{provider}.models.'test-model']\ninput = 1\noutput = 2.5\n");
    fs::write(fixture.home().join("config.toml"), config).unwrap();
}

#[test]
fn money_is_counted_to_the_millionth() {
    let (fixture, server) = (fixture(), ModelServer::script(MEASURED).start());
    let ended = fixture.prompt_over(&server, "anthropic/claude-sonnet-5-5", "go").run().expect(0);
    let line = "1 turn; tokens: 1000 in, 10000 from cache, 2000 to cache, 100 out; cost: $0.009; model: anthropic/";
    let ended = ended.says(&[line]);
    assert_eq!(ended.stdout, "Done.\n");
    let dated = fixture.prompt_over(&server, "anthropic/claude-sonnet-4-5-20250929", "go");
    let result = dated.args(["--output-format", "json"]).run().expect(0).json();
    assert_eq!((&result["costUsd"], &result["spent"]["micros"]), (&json!(0.015), &json!(15_000)));
    assert_eq!(result["models"]["asked"], json!(["anthropic/claude-sonnet-4-5-20250929"]));
    let cost = fixture.bosun(["cost", "--json"]).run().expect(0).json();
    assert_eq!((&cost["total"]["costMicros"], &cost["total"]["costUsd"]), (&json!(24_000), &json!(0.024)));
    let (sent, usage) = (server.usage_sent(), &cost["total"]["usage"]);
    assert_eq!((json!(sent.input), json!(sent.cache_read)), (usage["input"].clone(), usage["cacheRead"].clone()));
}

#[test]
fn dollar_budget_ends_the_run_before_it_is_exceeded() {
    let (fixture, server) = (fixture(), ModelServer::script(ENDLESS).start());
    let go = fixture.prompt_over(&server, "anthropic/claude-sonnet-5-5", "go").args(["--max-budget-usd", "0.10"]);
    let ended = go.run().expect(6);
    assert!(ended.stdout.starts_with("Step "), "{ended:?}");
    let id = fixture.newest();
    ended.says(&[
        "  ! the budget allows only one last turn",
        " of $0.10",
        &format!("hint: resume with: bosun --resume {id} -p \"continue\" --max-budget-usd N"),
    ]);
    let session = fixture.bosun(["sessions", "show", &id, "--json"]).run().expect(0).json()["session"].clone();
    let spent = session["spent"]["micros"].as_u64().unwrap();
    assert!(spent <= 100_000 && spent == server.count() * 2_800, "{session}");
    assert_eq!((&session["priced"], &session["budget"]["micros"]), (&json!(true), &json!(100_000)));
    let shown = fixture.bosun(["sessions", "show", &id]).run().expect(0).stdout;
    assert!(shown.contains(" of $0.10") && shown.contains("model         anthropic/claude-sonnet-5-5"), "{shown}");
}

#[test]
fn too_small_budget_names_the_flags_that_raise_it() {
    let (fixture, server) = (fixture(), ModelServer::script(MEASURED).start());
    let go = fixture.prompt_over(&server, "anthropic/claude-sonnet-5-5", "go");
    let ended = go.args(["--max-budget-usd", "0.0001", "--max-tokens-total", "100"]).run().expect(6);
    let ended = ended.says(&[
        "error: the budget does not allow another request; spent: $0.00 of $0.0001, 0 of 100 tokens",
        "-p \"continue\" --max-budget-usd N --max-tokens-total N",
        "; cost: $0.00; model: anthropic/claude-sonnet-5-5",
    ]);
    assert_eq!((&*ended.stdout, server.count()), ("", 0));
}

#[test]
fn configured_price_enables_a_dollar_budget() {
    let (fixture, server) = (fixture(), ModelServer::script(MEASURED).start());
    let go = || fixture.prompt_over(&server, "openai-chat/test-model", "go").args(["--max-budget-usd", "1"]);
    go().run().expect(2).says(&[
        "the price of openai-chat/test-model is unknown",
        "hint: limit it with --max-tokens-total instead, or give its price in config.toml: [providers.openai-chat.models.\"test-model\"]",
    ]);
    assert_eq!((server.count(), fixture.sessions().len()), (0, 0));
    price(&fixture, "openai-chat");
    go().run().expect(0).says(&["; cost: $0.0"]);
}

#[test]
fn a_provider_without_its_key_is_refused_with_the_variable() {
    let fixture = fixture();
    let refused = fixture.prompt("go").args(["--model", "anthropic/claude-opus-5"]).run().expect(2);
    refused.says(&["anthropic needs a key", "ANTHROPIC_API_KEY", "hint: `bosun models`"]);
    fixture.prompt("go").args(["--model", "anthropic"]).run().expect(2).says(&["anthropic/MODEL"]);
    assert!(fixture.sessions().is_empty());
}

#[test]
fn session_keeps_its_model_unless_a_flag_changes_it() {
    let (fixture, server) = (fixture(), ModelServer::script(MEASURED).start());
    fixture.script(crate::scripts::HELLO);
    fixture.prompt_over(&server, "openai/test-model", "one").run().expect(0);
    let id = fixture.newest();
    let again = fixture.bosun(["--resume", &id, "-p", "two"]).against(&server).run().expect(0);
    assert_eq!((&*again.stdout, server.count()), ("Done.\n", 2));
    let flag = ["--resume", &id, "-p", "three", "--model", &format!("script/{}", fixture.script_path().display())];
    assert_eq!(fixture.bosun(flag).against(&server).run().expect(0).stdout, "Hello.\n");
    assert_eq!(fixture.bosun(["--resume", &id, "-p", "four"]).run().expect(0).stdout, "Hello.\n");
    let cost = fixture.bosun(["cost", "--json"]).run().expect(0).json();
    assert!(cost["total"]["costUsd"].is_null() && cost["lines"].as_array().unwrap().len() == 2, "{cost}");
    fixture.bosun(["cost"]).run().expect(0).says(&["unknown: a model has no price; set one in config.toml"]);
}

#[test]
fn images_and_effort_reach_the_model() {
    let (fixture, server) = (fixture(), ModelServer::script(MEASURED).start());
    fs::write(fixture.path("a.png"), b"\x89PNG\r\n\x1a\n and so on").unwrap();
    for model in ["anthropic/test-model", "openai/test-model", "openai-chat/test-model"] {
        let go = fixture.prompt_over(&server, model, "look");
        go.args(["--image", "a.png", "--effort", "high"]).run().expect(0);
        let body = server.requests().last().unwrap().json().to_string();
        assert!(body.contains("iVBORw0KGgogYW5kIHNvIG9u"), "{model}: {body}");
        assert!(body.contains("high") || body.contains("budget_tokens"), "{model}: {body}");
    }
}

#[test]
fn run_is_parked_when_the_daily_budget_is_spent() {
    let (fixture, server) = (fixture(), ModelServer::script(MEASURED).start());
    fs::create_dir_all(fixture.home()).unwrap();
    let limit =
        |usd: &str| fs::write(fixture.home().join("config.toml"), format!("[budget]\nday-usd = {usd}\n")).unwrap();
    let ask = || fixture.prompt_over(&server, "anthropic/claude-sonnet-5-5", "go").args(["--park-wait", "0s"]);
    limit("1");
    ask().run().expect(0);
    limit("0.01");
    let parked = ask().run().expect(7).says(&["parked: waiting for the budget of the next day (UTC), until 20"]);
    assert_eq!((parked.stdout.as_str(), server.count()), ("", 1));
    let today = fixture.bosun(["cost"]).run().expect(0).stderr;
    assert!(today.contains("today: $0.009 of $0.01; the next day begins at 20"), "{today}");
    let json = fixture.bosun(["cost", "--json"]).run().expect(0).json();
    assert_eq!((&json["today"]["spentUsd"], &json["today"]["limitUsd"]), (&json!(0.009), &json!(0.01)));
    limit("1");
    let id = fixture.newest();
    fixture.bosun(["--resume", &id]).against(&server).run().expect(0);
}

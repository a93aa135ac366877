//! Limits that end a turn early, and clients that do not read.

use bosun_adapters::AdapterExit;
use protocol::Budget;
use serde_json::json;
use testkit::session::scenario;

use super::visit::{ClaudeTestClient, ClaudeTestHost};

const RESTLESS: &str = "
version: 1
price: { input: 1000, output: 1000 }
rules:
  - when: { turn: ..20 }
    answer:
      - call: { tool: glob, input: { pattern: 'a${turn}*' } }
    usage: { input: 1000, output: 100 }
  - answer: [ { say: I am tired. } ]
";

#[tokio::test]
async fn turn_limit_and_budget_have_their_own_errors() {
    for (scenario, subtype, reason) in [
        (scenario().max_turns(2), "error_max_turns", "max_turns"),
        (
            scenario().budget(Budget { tokens: None, micros: Some(5_000_000) }),
            "error_max_budget_usd",
            "budget_exhausted",
        ),
    ] {
        let test_host = ClaudeTestHost::new(scenario.script(RESTLESS));
        let mut client = ClaudeTestClient::initialized(&test_host, &[], json!({})).await;
        client.prompt("go").await;
        let result = client.next_of_type("result").await;
        assert_eq!((&result["subtype"], &result["is_error"]), (&json!(subtype), &json!(true)), "{result}");
        assert_eq!(result["terminal_reason"], reason);
        assert!(result["errors"][0].is_string());
        assert_eq!(client.close().await.1, AdapterExit::Failed);
    }
}

#[tokio::test]
async fn slow_client_does_not_stall_the_run_and_misses_nothing() {
    const TURNS: usize = 16;
    let words = "w".repeat(900_000);
    let script = format!(
        "
version: 1
rules:
  - when: {{ turn: ..{TURNS} }}
    answer:
      - say: {words}
      - call: {{ tool: glob, input: {{ pattern: 'a${{turn}}*' }} }}
  - answer: [ {{ say: All said. }} ]
"
    );
    let test_host = ClaudeTestHost::new(scenario().script(&script));
    let id = "01900000-0000-7000-8000-0000000000aa";
    let mut client = ClaudeTestClient::initialized(&test_host, &[&format!("--session-id={id}")], json!({})).await;
    client.prompt("go").await;
    client.next_matching(|frame| frame["subtype"] == "init").await;
    let session = bosun_adapters::session_id(id).unwrap();
    tokio::time::timeout(std::time::Duration::from_secs(60), test_host.fixture.model(session).until_asked(TURNS + 1))
        .await
        .expect("the run waits for its client");
    assert_eq!(client.next_of_type("result").await["result"], "All said.");
    let (seen, _) = client.close().await;
    let text_frames = seen.iter().filter(|frame| frame["message"]["content"][0]["type"] == "text").count();
    assert_eq!(text_frames, TURNS + 1);
}

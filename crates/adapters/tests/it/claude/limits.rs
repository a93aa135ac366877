//! What ends a turn early, and what a client that does not keep up costs.

use bosun_adapters::AdapterExit;
use protocol::Budget;
use serde_json::json;
use testkit::session::scenario;

use super::visit::{Inn, Visit};

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
async fn most_turns_and_most_money_are_errors_of_their_own() {
    for (scenario, subtype, reason) in [
        (scenario().max_turns(2), "error_max_turns", "max_turns"),
        (
            scenario().budget(Budget { tokens: None, micros: Some(5_000_000) }),
            "error_max_budget_usd",
            "budget_exhausted",
        ),
    ] {
        let inn = Inn::new(scenario.script(RESTLESS));
        let mut visit = Visit::greeted(&inn, &[], json!({})).await;
        visit.prompt("go").await;
        let result = visit.until_type("result").await;
        assert_eq!((&result["subtype"], &result["is_error"]), (&json!(subtype), &json!(true)), "{result}");
        assert_eq!(result["terminal_reason"], reason);
        assert!(result["errors"][0].is_string());
        assert_eq!(visit.close().await.1, AdapterExit::Failed);
    }
}

#[tokio::test]
async fn a_client_that_does_not_read_stalls_no_run_and_misses_nothing() {
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
    let inn = Inn::new(scenario().script(&script));
    let id = "01900000-0000-7000-8000-0000000000aa";
    let mut visit = Visit::greeted(&inn, &[&format!("--session-id={id}")], json!({})).await;
    visit.prompt("go").await;
    visit.until(|frame| frame["subtype"] == "init").await;
    let session = bosun_adapters::session_id(id).unwrap();
    tokio::time::timeout(std::time::Duration::from_secs(60), inn.stage.model(session).until_asked(TURNS + 1))
        .await
        .expect("the run goes on without its client");
    assert_eq!(visit.until_type("result").await["result"], "All said.");
    let (seen, _) = visit.close().await;
    let said = seen.iter().filter(|frame| frame["message"]["content"][0]["type"] == "text").count();
    assert_eq!(said, TURNS + 1);
}

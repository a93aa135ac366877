//! Structured output: answers that match the client's schema.

use serde_json::{Value, json};
use testkit::session::scenario;

use super::visit::{ClaudeTestClient, ClaudeTestHost};

fn schema() -> Value {
    json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] })
}

#[tokio::test]
async fn answer_matches_the_requested_schema() {
    let script = "
version: 1
rules:
  - when: { turn: 1 }
    answer:
      - call: { id: s1, tool: StructuredOutput, input: { n: seven } }
  - when: { answered: { tool: StructuredOutput, status: refused } }
    answer:
      - call: { id: s2, tool: StructuredOutput, input: { n: 7 } }
  - answer: [ { say: done } ]
";
    let test_host = ClaudeTestHost::new(scenario().script(script));
    let mut client =
        ClaudeTestClient::initialized(&test_host, &["--json-schema", &schema().to_string()], json!({})).await;
    client.prompt("count").await;
    let result = client.next_of_type("result").await;
    assert_eq!((&result["subtype"], &result["is_error"]), (&json!("success"), &json!(false)));
    assert_eq!(result["structured_output"], json!({ "n": 7 }));
    assert_eq!(result["result"], r#"{"n":7}"#);
}

#[tokio::test]
async fn agent_without_an_answer_is_reminded() {
    let script = "
version: 1
rules:
  - when: { turn: 1 }
    answer: [ { say: I am done. } ]
  - when: { turn: 2 }
    answer:
      - call: { id: s1, tool: StructuredOutput, input: { n: 7 } }
  - answer: [ { say: done } ]
";
    let test_host = ClaudeTestHost::new(scenario().script(script));
    let mut client = ClaudeTestClient::initialized(&test_host, &[], json!({ "jsonSchema": schema() })).await;
    client.prompt("count").await;
    let result = client.next_of_type("result").await;
    assert_eq!(result["structured_output"], json!({ "n": 7 }), "{result}");
    assert_eq!(client.received.iter().filter(|frame| frame["type"] == "result").count(), 1);
}

#[tokio::test]
async fn an_agent_that_never_answers_ends_with_an_error() {
    let test_host = ClaudeTestHost::new(scenario().script("version: 1\nrules:\n  - answer: [ { say: no } ]\n"));
    let mut client = ClaudeTestClient::initialized(&test_host, &[], json!({ "jsonSchema": schema() })).await;
    client.prompt("count").await;
    let result = client.next_of_type("result").await;
    assert_eq!(result["subtype"], "error_max_structured_output_retries", "{result}");
    assert_eq!(result["errors"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn unusable_schema_is_an_error() {
    let test_host = ClaudeTestHost::new(scenario().script("version: 1\nrules:\n  - answer: [ { say: no } ]\n"));
    let mut client =
        ClaudeTestClient::initialized(&test_host, &[], json!({ "jsonSchema": { "type": "object", "$ref": "#" } }))
            .await;
    client.prompt("count").await;
    let result = client.next_of_type("result").await;
    assert_eq!((&result["subtype"], &result["is_error"]), (&json!("error_during_execution"), &json!(true)));
}

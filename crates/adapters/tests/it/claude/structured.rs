//! Answers in a form that the client wants.

use serde_json::{Value, json};
use testkit::session::scenario;

use super::visit::{Inn, Visit};

fn schema() -> Value {
    json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] })
}

#[tokio::test]
async fn the_answer_has_the_form_that_the_client_wants() {
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
    let inn = Inn::new(scenario().script(script));
    let mut visit = Visit::greeted(&inn, &["--json-schema", &schema().to_string()], json!({})).await;
    visit.prompt("count").await;
    let result = visit.until_type("result").await;
    assert_eq!((&result["subtype"], &result["is_error"]), (&json!("success"), &json!(false)));
    assert_eq!(result["structured_output"], json!({ "n": 7 }));
    assert_eq!(result["result"], r#"{"n":7}"#);
}

#[tokio::test]
async fn an_agent_that_forgets_its_answer_is_told_to_give_it() {
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
    let inn = Inn::new(scenario().script(script));
    let mut visit = Visit::greeted(&inn, &[], json!({ "jsonSchema": schema() })).await;
    visit.prompt("count").await;
    let result = visit.until_type("result").await;
    assert_eq!(result["structured_output"], json!({ "n": 7 }), "{result}");
    assert_eq!(visit.seen.iter().filter(|frame| frame["type"] == "result").count(), 1);
}

#[tokio::test]
async fn an_agent_that_never_answers_ends_with_an_error() {
    let inn = Inn::new(scenario().script("version: 1\nrules:\n  - answer: [ { say: no } ]\n"));
    let mut visit = Visit::greeted(&inn, &[], json!({ "jsonSchema": schema() })).await;
    visit.prompt("count").await;
    let result = visit.until_type("result").await;
    assert_eq!(result["subtype"], "error_max_structured_output_retries", "{result}");
    assert_eq!(result["errors"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_form_that_no_answer_could_have_is_an_error() {
    let inn = Inn::new(scenario().script("version: 1\nrules:\n  - answer: [ { say: no } ]\n"));
    let mut visit = Visit::greeted(&inn, &[], json!({ "jsonSchema": { "type": "object", "$ref": "#" } })).await;
    visit.prompt("count").await;
    let result = visit.until_type("result").await;
    assert_eq!((&result["subtype"], &result["is_error"]), (&json!("error_during_execution"), &json!(true)));
}

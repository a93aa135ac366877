//! Questions to the user.

use serde_json::json;

use crate::fixture::Agent;

#[tokio::test]
async fn answer_is_returned_without_invisible_characters() {
    let agent = Agent::new();
    *agent.above.answer.lock().unwrap() = Some(" the\u{1b}[31m second\n".into());
    let input = json!({ "question": "Which\u{7} one?\n", "choices": ["first\nline", "", " second "] });
    assert_eq!(agent.done("ask_user", input).await, "The user answers: the[31m second");
    assert_eq!(*agent.above.heard.lock().unwrap(), [r#"ask Which one? ["first line", "second"]"#]);
}

#[tokio::test]
async fn without_an_answer_the_agent_decides() {
    let agent = Agent::new();
    for answer in [None, Some(" \n".to_owned())] {
        *agent.above.answer.lock().unwrap() = answer;
        let said = agent.done("ask_user", json!({ "question": "Which one?" })).await;
        assert_eq!(said, "The user did not answer; decide yourself and report what you assumed.");
    }
}

#[tokio::test]
async fn an_answer_that_is_none_of_the_choices_is_named_as_such() {
    let agent = Agent::new();
    let input = json!({ "question": "Which one?", "choices": ["red", "blue"], "allow_freeform": false });
    for (answer, said) in
        [("blue", "The user answers: blue"), ("green", "The user chose none of the choices, but answers: green")]
    {
        *agent.above.answer.lock().unwrap() = Some(answer.to_owned());
        assert_eq!(agent.done("ask_user", input.clone()).await, said);
    }
}

#[tokio::test]
async fn empty_too_long_or_malformed_question_is_refused() {
    let agent = Agent::new();
    for (input, words) in [
        (json!({ "question": " \n\u{200e}\u{7}" }), "is empty"),
        (json!({ "question": "é".repeat(2001) }), "more than 2000 characters"),
        (json!({ "question": "x", "choices": vec!["y"; 11] }), "at most 10 answers"),
        (json!({ "question": "x", "choices": ["y".repeat(201)] }), "at most 200 characters"),
        (json!({ "question": "x", "choices": "y" }), "field `choices`"),
        (json!({ "choices": ["y"] }), "missing field `question`"),
    ] {
        let refusal = agent.refused("ask_user", input).await;
        assert!(refusal.contains(words), "{refusal}");
    }
    assert!(agent.above.heard.lock().unwrap().is_empty());
    agent.done("ask_user", json!({ "question": "é".repeat(2000), "choices": vec!["y"; 10] })).await;
}

#[tokio::test]
async fn a_long_answer_is_clipped() {
    let agent = Agent::new();
    *agent.above.answer.lock().unwrap() = Some("x".repeat(100_000));
    let said = agent.done("ask_user", json!({ "question": "Which one?" })).await;
    assert!(said.contains("bytes left out") && said.len() <= agent.cx.limits.output_bytes);
}

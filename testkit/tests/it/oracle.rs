//! The providers' SDKs judge the server, and their judgement is checked.

use std::fs;

use bosun_testkit::oracle::{ANSWERS, judge, understood};
use bosun_testkit::server::ModelServer;
use serde_json::{Value, json};

#[test]
fn the_sdks_understand_every_answer_of_the_server_as_it_was_meant() {
    let server = ModelServer::script(ANSWERS).key("test-key").start();
    let heard = understood(&server);
    let calls = json!([
        ["call-1-1", "view", { "path": "größe.txt", "range": [1, 2] }],
        ["call-1-2", "list_shells", {}],
    ]);
    for (wire, stops) in [
        ("anthropic", ["tool_use", "end_turn", "max_tokens", "refusal"]),
        ("responses", ["completed", "completed", "max_output_tokens", "completed"]),
        ("chat", ["tool_calls", "stop", "length", "stop"]),
    ] {
        let said = |thinking: &str, text: &str, calls: &Value, stop: &str, usage: [u64; 4]| {
            let [input, output, cache_read, cache_write] = usage;
            json!({
                "thinking": thinking, "text": text, "calls": calls, "stop": stop, "model": "test-model",
                "usage": { "input": input, "output": output, "cache_read": cache_read, "cache_write": cache_write },
            })
        };
        let none = json!([]);
        let first =
            said("I should look before I write.", "I look at both. Größe ☃", &calls, stops[0], [10, 20, 300, 40]);
        let second = said("Both have answered.", "The last one said: none", &none, stops[1], [11, 21, 350, 41]);
        assert_eq!(heard[wire]["job"], json!([first, second]), "{wire}");
        assert_eq!(heard[wire]["long"], said("", "And so on, and so", &none, stops[2], [1, 2, 0, 0]), "{wire}");
        assert_eq!(heard[wire]["refuse"], said("", "I will not.", &none, stops[3], [1, 2, 0, 0]), "{wire}");
        assert_eq!(heard[wire]["models"], json!(["test-model"]));
    }
}

#[test]
fn the_sdks_raise_the_exception_that_each_failure_is_meant_as() {
    let server = ModelServer::script(ANSWERS).key("test-key").start();
    let heard = understood(&server);
    let openai = json!({
        "auth": "AuthenticationError: invalid_request_error: the key is wrong",
        "busy": "RateLimitError: requests: too many requests, retry after 2",
        "moment": "InternalServerError: server_error: another time",
        "quota": "RateLimitError: usage_limit_reached: the quota is used up (says when)",
        "wrong": "BadRequestError: invalid_request_error: this cannot work",
    });
    let anthropic = json!({
        "auth": "AuthenticationError: authentication_error: the key is wrong",
        "busy": "RateLimitError: rate_limit_error: too many requests, retry after 2",
        "moment": "InternalServerError: api_error: another time",
        "quota": "RateLimitError: rate_limit_error: the quota is used up (rejected)",
        "wrong": "BadRequestError: invalid_request_error: this cannot work",
    });
    let refused = "invalid_request_error: the call `call-1-1` has no answer in the message after it";
    for (wire, failures, half) in
        [("anthropic", &anthropic, "APIStatusError"), ("responses", &openai, "APIError"), ("chat", &openai, "APIError")]
    {
        assert_eq!(heard[wire]["failures"], *failures, "{wire}");
        assert_eq!((&heard[wire]["half"], &heard[wire]["refused"]), (&half.into(), &refused.into()), "{wire}");
    }
}

/// A request that the SDKs' types know, on each wire.
fn known() -> [(&'static str, Value); 3] {
    let schema = json!({ "type": "object", "properties": {} });
    let anthropic = json!({
        "model": "m", "max_tokens": 100, "stream": true,
        "system": [{ "type": "text", "text": "s", "cache_control": { "type": "ephemeral" } }],
        "messages": [
            { "role": "user", "content": [{ "type": "text", "text": "a" }] },
            { "role": "assistant", "content": [
                { "type": "thinking", "thinking": "t", "signature": "s" },
                { "type": "tool_use", "id": "a", "name": "view", "input": {} },
            ] },
            { "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": "a", "content": "x", "is_error": true },
            ] },
        ],
        "tools": [{ "name": "view", "description": "d", "input_schema": schema }],
    });
    let responses = json!({
        "model": "m", "stream": true, "store": false, "instructions": "s",
        "include": ["reasoning.encrypted_content"],
        "input": [
            { "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "a" }] },
            { "type": "reasoning", "id": "r", "summary": [], "encrypted_content": "e" },
            { "type": "function_call", "call_id": "a", "name": "view", "arguments": "{}" },
            { "type": "function_call_output", "call_id": "a", "output": "x" },
        ],
        "tools": [{ "type": "function", "name": "view", "parameters": schema, "strict": false }],
    });
    let chat = json!({
        "model": "m", "stream": true, "stream_options": { "include_usage": true },
        "messages": [
            { "role": "system", "content": "s" },
            { "role": "assistant", "content": null,
              "tool_calls": [{ "id": "a", "type": "function", "function": { "name": "view", "arguments": "{}" } }] },
            { "role": "tool", "tool_call_id": "a", "content": "x" },
        ],
        "tools": [{ "type": "function", "function": { "name": "view", "parameters": schema } }],
    });
    [("anthropic", anthropic), ("responses", responses), ("chat", chat)]
}

/// Judges requests, each in a file of its own.
fn judged(requests: &[(&str, Value)]) -> Result<String, String> {
    let folder = tempfile::tempdir().unwrap();
    let write = |(at, (wire, body)): (usize, &(&str, Value))| {
        let path = folder.path().join(at.to_string());
        fs::write(&path, json!({ "wire": wire, "body": body }).to_string()).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let paths: Vec<String> = requests.iter().enumerate().map(write).collect();
    judge("requests", &paths.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn the_oracle_accepts_what_the_sdks_types_know() {
    assert_eq!(judged(&known()), Ok(String::new()));
}

#[test]
fn the_oracle_finds_an_unknown_key_or_a_wrong_type_at_any_depth() {
    let [anthropic, responses, chat] = known();
    let spoiled = |known: &(&'static str, Value), pointer: &str, key: &str, value: Value| {
        let (wire, mut body) = known.clone();
        body.pointer_mut(pointer).unwrap()[key] = value;
        (wire, body)
    };
    let function = "/messages/1/tool_calls/0/function";
    let cases = [
        (spoiled(&anthropic, "", "top", 1.into()), "anthropic: top: Extra inputs"),
        (spoiled(&anthropic, "/messages/1/content/0", "x", 1.into()), "messages.1.content.0.x: Extra inputs"),
        (spoiled(&anthropic, "/messages/1/content/1", "input", json!([])), "messages.1.content.1.input: Input should"),
        (spoiled(&anthropic, "", "max_tokens", "100".into()), "max_tokens: Input should be a valid integer"),
        (spoiled(&responses, "/input/3", "is_error", true.into()), "input.3.is_error: Extra inputs"),
        (spoiled(&responses, "/input/1", "encrypted_content", 3.into()), "input.1.encrypted_content: Input should"),
        (spoiled(&chat, "/messages/2", "is_error", true.into()), "messages.2.is_error: Extra inputs"),
        (spoiled(&chat, function, "arguments", json!({})), "arguments: Input should"),
    ];
    let (requests, expected): (Vec<_>, Vec<_>) = cases.into_iter().unzip();
    let told = judged(&requests).unwrap_err();
    assert_eq!(told.lines().count(), expected.len(), "{told}");
    for (why, expected) in told.lines().zip(expected) {
        assert!(why.contains(expected), "{expected}: {why}");
    }
}

//! The floor of the adapters bench: an adapter that does nothing. It gives the same answer to every message, stores
//! nothing and calls no model. With `--headless` it speaks Copilot's protocol, else Claude's.

#![expect(clippy::unwrap_used, reason = "a bench fails by panicking")]

use std::io::{self, BufRead, Write};

use serde_json::{Value, json};

const WORDS: &str = "hello";

fn main() {
    let input = io::stdin().lock();
    if std::env::args().any(|argument| argument == "--headless") { copilot(input) } else { claude(input) }
}

/// Claude's protocol: one JSON object per line.
fn claude(input: impl BufRead) {
    for line in input.lines() {
        let Ok(message) = serde_json::from_str::<Value>(&line.unwrap()) else { continue };
        match message["type"].as_str() {
            Some("control_request") => {
                let response = json!({ "subtype": "success", "request_id": message["request_id"], "response": {} });
                write_line(&json!({ "type": "control_response", "response": response }));
            }
            Some("user") => turn(),
            Some(_) | None => {}
        }
    }
}

fn turn() {
    let (session, model) = ("0198c0de-0000-7000-8000-000000000000", "empty");
    write_line(&json!({ "type": "system", "subtype": "init", "session_id": session, "model": model, "tools": [] }));
    let content = json!([{ "type": "text", "text": WORDS }]);
    let message = json!({ "id": "m", "type": "message", "role": "assistant", "model": model, "content": content });
    write_line(&json!({ "type": "assistant", "message": message, "parent_tool_use_id": null, "session_id": session }));
    write_line(&json!({
        "type": "result", "subtype": "success", "is_error": false, "duration_ms": 0, "duration_api_ms": 0,
        "num_turns": 1, "result": WORDS, "session_id": session, "total_cost_usd": 0.0, "usage": {},
    }));
}

fn write_line(frame: &Value) {
    let mut out = io::stdout().lock();
    writeln!(out, "{frame}").and_then(|()| out.flush()).unwrap_or_default();
}

/// Copilot's protocol: JSON-RPC in frames with a length.
fn copilot(mut input: impl BufRead) {
    while let Some(call) = frame(&mut input) {
        let (id, params) = (&call["id"], &call["params"]);
        let session = &params["sessionId"];
        let kinds = json!(["agent", "client", "shell"]);
        let result = match call["method"].as_str().unwrap_or_default() {
            "connect" => json!({ "ok": true, "protocolVersion": 3, "version": "0.0.0", "taskKinds": kinds }),
            "session.create" => json!({ "sessionId": session, "capabilities": {} }),
            "session.send" => json!({ "messageId": "m" }),
            "session.detach" | "session.destroy" => json!({ "success": true }),
            "runtime.shutdown" => Value::Null,
            _other => {
                let error = json!({ "code": -32601, "message": "not here" });
                write_frame(&json!({ "jsonrpc": "2.0", "id": id, "error": error }));
                continue;
            }
        };
        write_frame(&json!({ "jsonrpc": "2.0", "id": id, "result": result }));
        if call["method"] == "session.send" {
            event(session, 1, "assistant.message", &json!({ "messageId": "a", "content": WORDS }));
            event(session, 2, "session.idle", &json!({}));
        }
    }
}

fn event(session: &Value, number: u8, kind: &str, data: &Value) {
    let id = format!("0198c0de-0000-7000-8000-00000000000{number}");
    let event = json!({
        "id": id, "timestamp": "2026-01-01T00:00:00.000Z", "parentId": null, "type": kind, "data": data,
    });
    let params = json!({ "sessionId": session, "event": event });
    write_frame(&json!({ "jsonrpc": "2.0", "method": "session.event", "params": params }));
}

fn frame(input: &mut impl BufRead) -> Option<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if input.read_line(&mut line).unwrap() == 0 {
            return None;
        }
        match line.trim().split_once(':') {
            Some((_, value)) => length = value.trim().parse().unwrap(),
            None => break,
        }
    }
    let mut bytes = vec![0; length];
    input.read_exact(&mut bytes).ok()?;
    serde_json::from_slice(&bytes).ok()
}

fn write_frame(message: &Value) {
    let (text, mut out) = (message.to_string(), io::stdout().lock());
    write!(out, "Content-Length: {}\r\n\r\n{text}", text.len()).and_then(|()| out.flush()).unwrap_or_default();
}

//! Lists the models, in the formats of three kinds of servers.

use serde_json::{Value, json};

use super::ServerSetup;
use super::http::{FullResponse, ReceivedRequest};

/// The answer to a request that is not for a model; `None` if it is unknown.
pub(super) fn listing(setup: &ServerSetup, request: &ReceivedRequest) -> Option<FullResponse> {
    if request.method != "GET" {
        return None;
    }
    let list = match request.path.as_str() {
        "/v1/models" if request.header("anthropic-version").is_some() => anthropic(&setup.models),
        "/v1/models" => openai(&setup.models),
        "/api/tags" => ollama(&setup.models),
        "/props" => json!({ "default_generation_settings": { "n_ctx": setup.context? }, "total_slots": 1 }),
        _ => return None,
    };
    Some(FullResponse::json(200, &list))
}

fn anthropic(names: &[String]) -> Value {
    let one = |name: &String| json!({ "type": "model", "id": name, "display_name": name, "created_at": MADE, "lifecycle": "active" });
    let data: Vec<Value> = names.iter().map(one).collect();
    json!({ "data": data, "has_more": false, "first_id": names.first(), "last_id": names.last() })
}

fn openai(names: &[String]) -> Value {
    let one = |name: &String| json!({ "id": name, "object": "model", "created": 1_767_225_600, "owned_by": "testkit" });
    json!({ "object": "list", "data": names.iter().map(one).collect::<Vec<_>>() })
}

fn ollama(names: &[String]) -> Value {
    let one = |name: &String| json!({ "name": name, "model": name, "modified_at": MADE, "size": 4, "digest": "0" });
    json!({ "models": names.iter().map(one).collect::<Vec<_>>() })
}

const MADE: &str = "2026-01-01T00:00:00Z";

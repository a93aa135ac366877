//! `llmInference.*`: a client sends the requests to models itself.

use std::sync::Arc;

use rpc::ErrorObject;
use serde_json::{Value, json};

use super::fields::required_text;
use super::unhandled;
use crate::copilot::connection::CopilotConnection;

pub(super) async fn call(
    connection: &Arc<CopilotConnection>,
    method: &str,
    params: &Value,
) -> Result<Value, ErrorObject> {
    let inference = &connection.server().inference;
    match method {
        "llmInference.setProvider" => {
            inference.set_provider(connection.peer())?;
            Ok(json!({ "success": true }))
        }
        "llmInference.httpResponseStart" => {
            let is_wanted = inference.start_answer(required_text(params, "requestId")?, params)?;
            Ok(json!({ "accepted": is_wanted }))
        }
        "llmInference.httpResponseChunk" => {
            let is_wanted = inference.continue_answer(required_text(params, "requestId")?, params).await?;
            Ok(json!({ "accepted": is_wanted }))
        }
        other => Err(unhandled(other)),
    }
}

//! Questions of a server to the session's model (sampling). They are asked only if the user's settings allow it for that
//! server; the model gets no tools.

use serde_json::{Value, json};
use tools::ModelQuestion;

use crate::content;

/// The name of such questions in the task tree and in the costs.
const PURPOSE: &str = "mcp-sampling";

/// Maximum bytes of a question.
const MAX_PROMPT_BYTES: usize = 128 * 1024;

/// Maximum bytes of a server's own system prompt.
const MAX_SYSTEM_BYTES: usize = 8 * 1024;

/// Maximum tokens of an answer.
const MAX_OUTPUT: u32 = 8192;

/// The question in the parameters of `sampling/createMessage`; the error text says why it is not asked.
pub(crate) fn question(server: &str, params: &Value) -> Result<ModelQuestion, String> {
    let Some(messages) = params["messages"].as_array().filter(|messages| !messages.is_empty()) else {
        return Err("there are no messages".into());
    };
    if params["tools"].as_array().is_some_and(|tools| !tools.is_empty()) {
        return Err("this client offers no tools for sampling".into());
    }
    let mut system = format!("You answer one question of the program `{server}`. You have no tools.");
    if let Some(own) = params["systemPrompt"].as_str() {
        system.push_str(&format!(" It says:\n{}", protocol::clip_middle(own, MAX_SYSTEM_BYTES)));
    }
    let prompt = match messages.as_slice() {
        [only] => content_text(&only["content"]),
        several => several
            .iter()
            .map(|message| {
                let role = message["role"].as_str().unwrap_or_default();
                format!("[{role}]\n{}\n", content_text(&message["content"]))
            })
            .collect(),
    };
    let max_output = params["maxTokens"].as_u64().and_then(|max| u32::try_from(max).ok()).unwrap_or(MAX_OUTPUT);
    Ok(ModelQuestion {
        purpose: PURPOSE,
        system,
        prompt: protocol::clip_middle(&prompt, MAX_PROMPT_BYTES),
        max_output: max_output.clamp(1, MAX_OUTPUT),
    })
}

/// The result of `sampling/createMessage`.
pub(crate) fn result(model: &str, text: &str) -> Value {
    let content = json!({ "type": "text", "text": text });
    json!({ "role": "assistant", "content": content, "model": model, "stopReason": "endTurn" })
}

/// The content of a message, which is one block or several.
fn content_text(content: &Value) -> String {
    match content.as_array() {
        Some(blocks) => blocks.iter().map(content::block_text).collect::<Vec<_>>().join("\n"),
        None => content::block_text(content),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_bounded_and_has_no_tools() {
        let message = |text: &str| json!({ "role": "user", "content": { "type": "text", "text": text } });
        let asked =
            question("docs", &json!({ "messages": [message("why?")], "maxTokens": 5, "systemPrompt": "Be kind." }));
        let asked = asked.unwrap();
        assert_eq!((asked.prompt.as_str(), asked.max_output), ("why?", 5));
        assert!(asked.system.contains("`docs`") && asked.system.ends_with("Be kind."), "{}", asked.system);
        let asked =
            question("docs", &json!({ "messages": [message("a"), message("b")], "maxTokens": 1e9 as u64 })).unwrap();
        assert_eq!((asked.prompt.as_str(), asked.max_output), ("[user]\na\n[user]\nb\n", MAX_OUTPUT));
        let long = question("docs", &json!({ "messages": [message(&"x".repeat(1 << 20))] })).unwrap();
        assert!(long.prompt.len() <= MAX_PROMPT_BYTES);
        assert!(question("docs", &json!({ "messages": [] })).is_err());
        assert!(question("docs", &json!({ "messages": [message("a")], "tools": [{}] })).is_err());
    }
}

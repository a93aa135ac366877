//! A tool of a server inside the client that decides about calls, in place of a callback (`permission_prompt_tool_name`).

use std::sync::Arc;

use protocol::{Ask, TaskId, clip_middle};
use serde_json::{Value, json};
use server::OpenRefusal;
use uuid::Uuid;

use super::args::{CLIENT_PROMPTS, ClaudeArgs, MAX_NAME_BYTES, NO_PROMPTS};
use super::background::BackgroundOutcome;
use super::mcp_servers::InProcessServers;
use super::open_request::refusal;
use super::permission_requests::{self, ClientDecision};
use super::wire::ControlChannel;

/// The tool that decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DecidingTool {
    /// Its server.
    pub(super) server: String,
    /// Its name at the server.
    pub(super) tool: String,
}

impl DecidingTool {
    /// The tool that the client names, if it names one. A tool that cannot decide refuses the session.
    pub(super) fn find(args: &ClaudeArgs, servers: &InProcessServers) -> Result<Option<DecidingTool>, OpenRefusal> {
        let named = args.permission_prompt_tool.as_deref().filter(|name| *name != CLIENT_PROMPTS);
        let Some(name) = named.filter(|_| args.permission_prompts.as_deref() != Some(NO_PROMPTS)) else {
            return Ok(None);
        };
        let unknown = || {
            let name = clip_middle(name, MAX_NAME_BYTES);
            let words = format!("--permission-prompt-tool {name}: no server inside the program has this tool");
            refusal(words, "name a tool of such a server, or decide with a permission callback")
        };
        servers.find_tool(name).map(|(server, tool)| Some(DecidingTool { server, tool })).ok_or_else(unknown)
    }

    /// Lets the tool decide about a call.
    pub(super) async fn decide(self, control: Arc<ControlChannel>, task: TaskId, ask: Ask) -> BackgroundOutcome {
        let request = permission_requests::permission_request(&ask, None);
        let arguments = json!({
            "tool_name": request["tool_name"], "input": request["input"], "tool_use_id": request["tool_use_id"],
        });
        let message = json!({
            "jsonrpc": "2.0", "id": Uuid::now_v7(), "method": "tools/call",
            "params": { "name": self.tool, "arguments": arguments },
        });
        let call = json!({ "subtype": "mcp_message", "server_name": self.server, "message": message });
        let verdict = match control.request(call).await {
            Ok(answer) => match read_answer(&answer["mcp_response"]) {
                Ok(decision) => permission_requests::read_decision(&ask, &decision),
                Err(why) => ClientDecision::deny(format!("the tool that decides about calls {why}")),
            },
            // An undecided ask stays open for the next client.
            Err(_) if control.is_closed() => return BackgroundOutcome::Unanswered,
            Err(error) => ClientDecision::deny(format!("the tool that decides about calls failed: {error}")),
        };
        BackgroundOutcome::Decided { task, ask: Box::new(ask), verdict }
    }
}

/// The decision in the text of a tool's result.
fn read_answer(response: &Value) -> Result<Value, String> {
    let result = &response["result"];
    let text = result["content"][0]["text"].as_str().filter(|_| result["isError"] != true);
    let text = text.ok_or("did not decide")?;
    serde_json::from_str(text).map_err(|_not_json| "gave an answer that is not JSON".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_json_in_the_text_of_a_result() {
        let answered = |text: &str| json!({ "result": { "content": [{ "type": "text", "text": text }] } });
        assert_eq!(read_answer(&answered(r#"{"behavior":"allow"}"#)).unwrap(), json!({ "behavior": "allow" }));
        assert!(read_answer(&answered("yes")).unwrap_err().contains("not JSON"));
        let failed = json!({ "result": { "isError": true, "content": [{ "type": "text", "text": "{}" }] } });
        for other in [failed, json!({ "error": { "code": 1, "message": "no" } }), Value::Null] {
            assert_eq!(read_answer(&other).unwrap_err(), "did not decide");
        }
    }
}

//! A later request begins with the bytes of an earlier one.

use bosun_model::{Messages, ModelRequest, ToolCallPolicy, ToolSpec, WireFormat};
use futures_util::StreamExt;
use protocol::ReasoningEffort;
use protocol::ToolResultStatus::{Broken, Done};
use serde_json::json;

use super::server::{Act, Server, WIRES, http};
use crate::conversation::{Then, prompt};

/// The requests of a conversation, turn by turn; everything that may vary between turns does.
fn turns() -> Vec<ModelRequest> {
    let mut first = prompt("Fix it, \"please\".");
    first.tools = ["view", "edit"]
        .map(|name| ToolSpec { name: name.into(), description: "Does.".into(), schema: json!({ "type": "object" }) })
        .into();
    let second = first.clone().calls("view", r#"{"path":"a"}"#).answered("view", Done, "text");
    let third = second.clone().calls("edit", "{}").answered("edit", Broken, "").user("hurry");
    let mut fourth = third.clone().says("Done.").user("and now?");
    fourth.call_policy = ToolCallPolicy::Forbidden;
    fourth.max_output_tokens = Some(10_000);
    let mut fifth = fourth.clone().says("Nothing.").user("fine");
    fifth.call_policy = ToolCallPolicy::Allowed;
    vec![first, second, third, fourth, fifth]
}

/// The part of a body that the provider's cache may hold: up to the moving mark, or to the end of the conversation.
fn stable(wire: WireFormat, body: &str) -> &str {
    let end = match wire {
        WireFormat::Anthropic => body.rfind(r#","cache_control""#),
        WireFormat::Responses => body.rfind(r#"],"max_output_tokens""#),
        WireFormat::Chat => body.rfind(r#"],"max_tokens""#),
    };
    &body[..end.unwrap()]
}

#[tokio::test]
async fn on_every_wire() {
    for wire in WIRES {
        let server = Server::start(Act::Send(http(500, "", ""))).await;
        let model = server.model(wire, "m");
        for (n, mut request) in turns().into_iter().enumerate() {
            request.effort = (n > 2).then_some(ReasoningEffort::High);
            request.messages = request.messages.to_vec().into();
            model.send(request).collect::<Vec<_>>().await;
        }
        let requests = server.requests();
        let bodies: Vec<&str> = requests.iter().map(|request| request.split_once("\r\n\r\n").unwrap().1).collect();
        assert_eq!(bodies.len(), 5);
        for pair in bodies.windows(2) {
            let earlier = stable(wire, pair[0]);
            assert!(pair[1].starts_with(earlier), "{wire:?}\n{earlier}\n{}", pair[1]);
            assert!(stable(wire, pair[1]).len() > earlier.len());
        }
    }
}

#[tokio::test]
async fn growing_conversation_is_serialised_like_a_complete_one() {
    for wire in WIRES {
        let server = Server::start(Act::Send(http(500, "", ""))).await;
        let model = server.model(wire, "m");
        let mut growing = Messages::default();
        for request in turns() {
            request.messages[growing.len()..].iter().for_each(|message| growing.push(message.clone()));
            let grown = ModelRequest { messages: growing.clone(), ..request.clone() };
            model.send(grown).collect::<Vec<_>>().await;
            model
                .send(ModelRequest { messages: request.messages.to_vec().into(), ..request })
                .collect::<Vec<_>>()
                .await;
        }
        let requests = server.requests();
        let bodies: Vec<&str> = requests.iter().map(|request| request.split_once("\r\n\r\n").unwrap().1).collect();
        assert_eq!(bodies.len(), 10);
        for pair in bodies.chunks(2) {
            assert_eq!(pair[0], pair[1], "{wire:?}");
        }
    }
}

//! Provider-specific data goes back to its provider byte for byte, and to no other.

use bosun_model::{ModelMessage, ModelReply, WireFormat};
use futures_util::StreamExt;
use protocol::ToolResultStatus::Done;
use protocol::{ContentBlock, ToolResult};

use super::server::{Act, Server, WIRES, events, http, recorded};
use crate::conversation::{Then, prompt};

/// The second request of a conversation whose first answer is the recorded one of `from`, on the wire `to`.
async fn second_request(from: WireFormat, to: WireFormat) -> String {
    let server = Server::start(Act::Send(events(recorded(from)))).await;
    let reply = ModelReply::collect(server.model(from, "m").send(prompt("go"))).await.unwrap();
    let call = |block: &ContentBlock| if let ContentBlock::Call(call) = block { Some(call.id.clone()) } else { None };
    let answer = ToolResult { status: Done, text: "fine".into() };
    let answers = reply.content.iter().filter_map(call).map(|id| (id, answer.clone())).collect();
    let request =
        prompt("go").push(ModelMessage::Assistant { content: reply.content }).push(ModelMessage::Answers { answers });
    let server = Server::start(Act::Send(http(500, "", ""))).await;
    server.model(to, "m").send(request).collect::<Vec<_>>().await;
    server.body()
}

/// The part of the recorded answer that must come back unchanged.
fn kept(wire: WireFormat) -> &'static [&'static str] {
    match wire {
        WireFormat::Anthropic => &[
            r#"{"type":"thinking","thinking":"Both files, \"a\" and b: 漢\n","signature":"Eu4BCkYIARgC+/=="}"#,
            r#"{"type":"redacted_thinking","data":"EmwKAhgB/+=="}"#,
        ],
        WireFormat::Responses => &[
            r#"{"id":"rs_1", "type":"reasoning","summary":[{"type":"summary_text","text":"**Looking**"},{"type":"summary_text","text":"At \u0062oth."}],"encrypted_content":"gAAAAABo/+=="}"#,
            r#""phase":"commentary""#,
        ],
        WireFormat::Chat => &[
            r#""reasoning_content":"Both: \"a\", 漢""#,
            r#""extra_content":{"google":{"thought_signature":"c2ln /+=="}}"#,
        ],
    }
}

#[tokio::test]
async fn to_the_wire_it_came_from_and_to_no_other() {
    for from in WIRES {
        for to in WIRES {
            let body = second_request(from, to).await;
            for kept in kept(from) {
                assert_eq!(body.contains(kept), from == to, "{from:?} to {to:?}: {kept}\n{body}");
            }
            for word in ["I will look at both.", "a.txt", "fine"] {
                assert!(body.contains(word), "{body}");
            }
        }
    }
}

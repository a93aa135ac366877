//! Frames sent to the client.

mod assistant;
mod results;
mod session_info;
mod stream;
mod user;

use protocol::Usage;
use serde_json::{Value, json};
use uuid::{Builder, Uuid};

pub(super) use assistant::{
    FrameSource, assistant_frame, block_json, client_tool_call, empty_message, questions_input, stop_reason,
};
pub(super) use results::{TurnResult, TurnStats, models_json, result_frame, usd};
pub(super) use session_info::{SessionInfo, init_frame, init_tools, initialize_response, model_list};
pub(super) use stream::MessageStream;
pub(super) use user::{
    REPLAYED_MAIL, interrupted_frame, replay_frame, reset_frame, suggestion_frame, tool_result_frame,
};

/// The version of Claude Code that this adapter stands in for: clients check it.
pub(super) const VERSION: &str = "2.1.325";

/// The id of an event's frame: the same for every client.
pub(super) fn frame_id(session: Uuid, seq: u64, index: u16) -> Uuid {
    // The last 62 bits of a UUID are free, and a log has fewer than 2^46 events.
    let position = (u128::from(seq) << 16) | u128::from(index);
    Builder::from_custom_bytes((session.as_u128() ^ position).to_be_bytes()).into_uuid()
}

/// Usage, in the format of the provider's API.
pub(super) fn usage_json(usage: Usage) -> Value {
    json!({
        "input_tokens": usage.input,
        "output_tokens": usage.output,
        "cache_read_input_tokens": usage.cache_read,
        "cache_creation_input_tokens": usage.cache_write,
        "server_tool_use": { "web_search_requests": 0 },
        "service_tier": "standard",
    })
}

/// A system frame.
pub(super) fn system_frame(session: Uuid, subtype: &str, fields: Value) -> Value {
    let mut frame = json!({ "type": "system", "subtype": subtype });
    if let (Value::Object(frame), Value::Object(fields)) = (&mut frame, fields) {
        frame.extend(fields);
    }
    frame["uuid"] = json!(Uuid::now_v7());
    frame["session_id"] = json!(session);
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frame_ids_are_stable_and_unique() {
        let session = Uuid::from_u128(0x0190_0000_0000_7000_8000_0000_0000_0001);
        let ids: std::collections::BTreeSet<Uuid> =
            (0..100_000).step_by(7).flat_map(|seq| (0..4).map(move |index| frame_id(session, seq, index))).collect();
        assert_eq!(ids.len(), 4 * 100_000_usize.div_ceil(7));
        assert_eq!(frame_id(session, 7, 1), frame_id(session, 7, 1));
    }
}

//! One question to the model.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::StreamExt;
use model::{Delta, Draft, Model, ModelError, Reply, Request};
use protocol::{Block, CallId, TaskId, Turn};

use crate::bus::{Bus, Live};
use crate::governor::Permit;

/// Asks, and shows text as it arrives.
pub(super) async fn ask(
    model: &dyn Model,
    request: Request,
    bus: &Bus,
    task: TaskId,
    turn: Turn,
    permit: &mut Permit,
) -> Result<Reply, ModelError> {
    let mut deltas = model.ask(request);
    let mut draft = Draft::default();
    while let Some(delta) = deltas.next().await {
        let delta = delta?;
        permit.begun();
        if let Delta::Text(text) = &delta {
            bus.publish(Live::Text { task, turn, text: text.clone() });
        }
        draft.push(delta)?;
    }
    let mut reply = draft.finish()?;
    tell_apart(&mut reply.content);
    Ok(reply)
}

/// Gives calls of one answer ids of their own: some models repeat or forget them.
fn tell_apart(content: &mut [Block]) {
    let mut seen = BTreeSet::new();
    // The last number that an id was given, so that a flood of equal ones is not counted from one each time.
    let mut last = BTreeMap::new();
    for block in content {
        let Block::Call(call) = block else { continue };
        if call.id.0.is_empty() {
            call.id = CallId("call".into());
        }
        let wanted = call.id.0.clone();
        while !seen.insert(call.id.clone()) {
            let n = last.entry(wanted.clone()).or_insert(1_u32);
            *n += 1;
            call.id = CallId(format!("{wanted}-{n}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use protocol::Call;

    use super::*;

    #[test]
    fn calls_with_one_id_are_told_apart() {
        let call = |id: &str| Block::Call(Call { id: CallId(id.into()), tool: "t".into(), input: "{}".into() });
        let mut content = vec![call("a"), call("a"), call("a-2"), call(""), call("")];
        tell_apart(&mut content);
        let ids: Vec<String> = content
            .iter()
            .filter_map(|block| match block {
                Block::Call(call) => Some(call.id.0.clone()),
                Block::Text { .. } | Block::Thinking { .. } | Block::Opaque { .. } => None,
            })
            .collect();
        assert_eq!(ids, ["a", "a-2", "a-2-2", "call", "call-2"]);
    }

    #[test]
    fn a_flood_of_calls_with_one_id_takes_no_time() {
        let call = || Block::Call(Call { id: CallId(String::new()), tool: "t".into(), input: "{}".into() });
        let mut content: Vec<Block> = std::iter::repeat_with(call).take(100_000).collect();
        let begun = std::time::Instant::now();
        tell_apart(&mut content);
        assert!(begun.elapsed() < std::time::Duration::from_secs(10));
        assert!(matches!(content.last(), Some(Block::Call(call)) if call.id.0 == "call-100000"));
    }
}

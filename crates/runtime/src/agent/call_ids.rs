//! Call ids, unique in a conversation although some models repeat or omit them. Choosing a free id takes constant time,
//! however long the conversation is and however often its model repeats an id.

use std::collections::{HashMap, HashSet};

use model::{MessageFold, Messages, ModelMessage};
use protocol::{CallId, ContentBlock};

/// The most digits that are read as the number suffix of an id.
const MAX_DIGITS: usize = 9;

/// Makes call ids unique in their answer and in the whole conversation.
pub(super) fn make_call_ids_unique(messages: &Messages, content: &mut [ContentBlock]) {
    messages.fold(|used: &UsedCallIds| {
        let mut new_ids = UsedCallIds::default();
        for block in content {
            if let ContentBlock::Call(call) = block {
                if call.id.0.is_empty() {
                    call.id = CallId("call".into());
                }
                if used.has(&call.id) || new_ids.has(&call.id) {
                    call.id = free_call_id(used, &new_ids, &call.id);
                }
                new_ids.add_id(&call.id, Some(used));
            }
        }
    });
}

/// The id with a number suffix, one higher than any that was used.
fn free_call_id(used: &UsedCallIds, new_ids: &UsedCallIds, wanted: &CallId) -> CallId {
    let mut number = used.highest(wanted).max(new_ids.highest(wanted)).max(1);
    loop {
        number += 1;
        let id = CallId(format!("{}-{number}", wanted.0));
        // The model itself may have written such an id.
        if !used.has(&id) && !new_ids.has(&id) {
            return id;
        }
    }
}

/// The ids of a conversation's calls.
#[derive(Default)]
struct UsedCallIds {
    ids: HashSet<String>,
    /// The highest number suffix of each repeated id.
    highest: HashMap<String, u64>,
}

impl UsedCallIds {
    fn has(&self, id: &CallId) -> bool {
        self.ids.contains(&id.0)
    }

    fn highest(&self, id: &CallId) -> u64 {
        self.highest.get(&id.0).copied().unwrap_or(0)
    }

    /// Adds an id; `before` holds the earlier ids of the same conversation.
    fn add_id(&mut self, id: &CallId, before: Option<&UsedCallIds>) {
        let is_taken = |base: &str| before.is_some_and(|before| before.ids.contains(base)) || self.ids.contains(base);
        if let Some((base, number)) = split_number(&id.0).filter(|(base, _)| is_taken(base)) {
            match self.highest.get_mut(base) {
                Some(highest) => *highest = number.max(*highest),
                None => {
                    self.highest.insert(base.to_owned(), number);
                }
            }
        }
        self.ids.insert(id.0.clone());
    }
}

impl MessageFold for UsedCallIds {
    fn add(&mut self, _at: usize, message: &ModelMessage) {
        match message {
            ModelMessage::Answers { answers } => answers.iter().for_each(|(id, _)| self.add_id(id, None)),
            ModelMessage::User { .. } | ModelMessage::Assistant { .. } => {}
        }
    }
}

/// Splits an id that ends with a number as [`free_call_id`] writes it.
fn split_number(id: &str) -> Option<(&str, u64)> {
    let (base, digits) = id.rsplit_once('-')?;
    let is_suffix =
        digits.len() <= MAX_DIGITS && !digits.starts_with('0') && digits.bytes().all(|digit| digit.is_ascii_digit());
    Some((base, digits.parse().ok().filter(|_| is_suffix)?))
}

#[cfg(test)]
mod tests {
    use protocol::{ToolCallRequest, ToolResult, ToolResultStatus};

    use super::*;

    fn call(id: &str) -> ContentBlock {
        ContentBlock::Call(ToolCallRequest { id: CallId(id.into()), tool: "t".into(), input: "{}".into() })
    }

    fn ids(content: &[ContentBlock]) -> Vec<CallId> {
        let id = |block: &ContentBlock| match block {
            ContentBlock::Call(call) => Some(call.id.clone()),
            ContentBlock::Text { .. } | ContentBlock::Thinking { .. } | ContentBlock::Opaque { .. } => None,
        };
        content.iter().filter_map(id).collect()
    }

    /// Adds a turn with these call ids and its answers.
    fn add_turn(messages: &mut Messages, wanted: &[&str]) -> Vec<String> {
        let mut content: Vec<ContentBlock> = wanted.iter().map(|id| call(id)).collect();
        make_call_ids_unique(messages, &mut content);
        let assigned = ids(&content);
        messages.push(ModelMessage::Assistant { content });
        let answer = |id: &CallId| (id.clone(), ToolResult { status: ToolResultStatus::Done, text: String::new() });
        messages.push(ModelMessage::Answers { answers: assigned.iter().map(answer).collect() });
        assigned.into_iter().map(|id| id.0).collect()
    }

    #[test]
    fn repeated_call_ids_are_made_unique() {
        let mut messages = Messages::default();
        assert_eq!(add_turn(&mut messages, &["b"]), ["b"]);
        let assigned = add_turn(&mut messages, &["a", "a", "a-2", "", "", "b"]);
        assert_eq!(assigned, ["a", "a-2", "a-2-2", "call", "call-2", "b-2"]);
        assert_eq!(add_turn(&mut messages, &["a", "a-2", "c"]), ["a-3", "a-2-3", "c"]);
    }

    #[test]
    fn suffixes_that_the_model_wrote_itself_are_skipped() {
        let mut messages = Messages::default();
        let own = ["a", "a-7", "a-007", "a-999999999", "a-1000000000", "a-x", "a-"];
        assert_eq!(add_turn(&mut messages, &own), own);
        assert_eq!(add_turn(&mut messages, &["a", "a"]), ["a-1000000001", "a-1000000002"]);
        assert_eq!(add_turn(&mut messages, &["a"]), ["a-1000000003"]);
    }

    #[test]
    fn many_calls_with_one_id_in_one_answer_get_unique_ids() {
        let mut content: Vec<ContentBlock> = std::iter::repeat_with(|| call("")).take(100_000).collect();
        make_call_ids_unique(&Messages::default(), &mut content);
        assert_eq!(ids(&content).last().map(|id| id.0.as_str()), Some("call-100000"));
    }

    /// With a search through the conversation this would take hours.
    #[test]
    fn an_id_repeated_for_a_hundred_thousand_turns_gets_a_free_suffix_each_time() {
        let mut messages = Messages::default();
        for number in 1..=100_000_u32 {
            let assigned = add_turn(&mut messages, &["same"]);
            assert_eq!(assigned, [if number == 1 { "same".to_owned() } else { format!("same-{number}") }]);
        }
    }
}

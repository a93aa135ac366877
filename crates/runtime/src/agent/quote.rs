//! What the next question may use.

use model::{MessageFold, MessagePart, ModelFacts, ModelMessage, ToolSpec};
use protocol::{ContentBlock, Cost, TurnQuote};

use super::SessionContext;
use crate::conversation::Conversation;
use crate::prepared_agent::PreparedAgent;

/// The least output that makes asking worth it.
const MIN_OUTPUT: u32 = 256;

/// The output that is set aside for at first; few answers are longer.
const EXPECTED_OUTPUT: u32 = 4_000;

/// What a last turn says at most.
const MAX_LAST_OUTPUT: u32 = 1_000;

/// What a turn may add to the conversation that a last turn would have to read.
const MAX_TURN_GROWTH: u64 = 2_000;

/// What the runtime itself may have to say before a turn.
const NOTICES: u64 = 200;

/// What the next turn may use, and what it must leave for a last one.
pub(super) fn next_turn_quote(
    context: &SessionContext,
    prepared: &PreparedAgent,
    conversation: &Conversation,
) -> TurnQuote {
    let max_output = prepared.model.facts().max_output;
    let last = last_turn_quote(context, prepared, conversation);
    let spare = TurnQuote { input: last.input.saturating_add(MAX_TURN_GROWTH), ..last }.cost(last.least);
    let (least, expected) = (MIN_OUTPUT.min(max_output), EXPECTED_OUTPUT.min(max_output));
    TurnQuote { least, expected, most: max_output, spare, ..last }
}

/// What a last turn may use.
pub(super) fn last_turn_quote(
    context: &SessionContext,
    prepared: &PreparedAgent,
    conversation: &Conversation,
) -> TurnQuote {
    let ModelFacts { price, max_output, .. } = *prepared.model.facts();
    let most = MAX_LAST_OUTPUT.min(max_output);
    let unread = conversation.unread(context).map_or(0, |unread| message_tokens(&unread));
    let input = [unread, NOTICES].into_iter().fold(input_tokens(prepared, conversation), u64::saturating_add);
    let estimated = input.saturating_sub(conversation.measured().map_or(0, |(_, tokens)| tokens));
    TurnQuote { input, estimated, least: most.min(64), expected: most, most, price, spare: Cost::ZERO }
}

/// Most tokens that a request with this conversation has. What the provider has counted once is taken as counted;
/// only what came after it is estimated.
pub(crate) fn input_tokens(prepared: &PreparedAgent, conversation: &Conversation) -> u64 {
    let messages = conversation.messages();
    let input = match conversation.measured() {
        Some((counted, tokens)) => messages.iter().skip(counted).map(message_tokens).fold(tokens, u64::saturating_add),
        None => messages.fold(|estimate: &TokenEstimate| preamble_tokens(prepared).saturating_add(estimate.0)),
    };
    // Tools may have been added since it was counted.
    prepared.added_tools(conversation.added_tools()).map(tool_tokens).fold(input, u64::saturating_add)
}

/// Most tokens that a request with these messages has, as far as that can be told without a provider.
pub(super) fn estimate_tokens(prepared: &PreparedAgent, messages: &[ModelMessage]) -> u64 {
    messages.iter().map(message_tokens).fold(preamble_tokens(prepared), u64::saturating_add)
}

/// The tokens of what stands above the messages.
fn preamble_tokens(prepared: &PreparedAgent) -> u64 {
    tokens(&prepared.system) + prepared.specs.iter().map(tool_tokens).sum::<u64>()
}

/// The tokens of all messages, added up as they come.
#[derive(Default)]
struct TokenEstimate(u64);

impl MessageFold for TokenEstimate {
    fn add(&mut self, _at: usize, each: &ModelMessage) {
        self.0 = self.0.saturating_add(message_tokens(each));
    }
}

/// More tokens than any tokenizer makes of a text, in all likelihood: two characters of plain text make one at least,
/// and every byte of other scripts may be one.
pub(super) fn tokens(text: &str) -> u64 {
    let plain = text.bytes().filter(u8::is_ascii).count();
    u64::try_from(plain.div_ceil(2) + (text.len() - plain)).unwrap_or(u64::MAX)
}

fn tool_tokens(spec: &ToolSpec) -> u64 {
    TOKENS_PER_ITEM + tokens(&spec.name) + tokens(&spec.about) + tokens(&spec.schema.to_string())
}

/// What the form of a message or block takes besides its words.
const TOKENS_PER_ITEM: u64 = 16;

/// What a provider counts for a picture at most.
const TOKENS_PER_IMAGE: u64 = 4_000;

/// Most tokens of one message.
pub(super) fn message_tokens(message: &ModelMessage) -> u64 {
    TOKENS_PER_ITEM
        + match message {
            ModelMessage::User { parts } => parts.iter().map(part_tokens).sum::<u64>(),
            ModelMessage::Assistant { content } => content.iter().map(block_tokens).sum(),
            ModelMessage::Answers { answers } => {
                answers.iter().map(|(_, answer)| TOKENS_PER_ITEM + tokens(&answer.text)).sum()
            }
        }
}

fn part_tokens(part: &MessagePart) -> u64 {
    TOKENS_PER_ITEM
        + match part {
            MessagePart::Text(text) => tokens(text),
            MessagePart::Image(_) => TOKENS_PER_IMAGE,
        }
}

fn block_tokens(block: &ContentBlock) -> u64 {
    TOKENS_PER_ITEM
        + match block {
            ContentBlock::Text { text } => tokens(text),
            // What a provider wants back of its reasoning is in an opaque block.
            ContentBlock::Thinking { .. } => 0,
            ContentBlock::Call(call) => tokens(&call.tool) + tokens(&call.input),
            ContentBlock::Opaque { json, .. } => tokens(json),
        }
}

//! Estimates the tokens and the cost of the next model request.

use model::{MessageFold, MessagePart, ModelFacts, ModelMessage, ToolSpec};
use protocol::{ContentBlock, Cost, TurnQuote};

use crate::conversation::{Conversation, ResultFormatter};
use crate::prepared_agent::PreparedAgent;

/// The least output, in tokens, for which a request is worth sending.
const MIN_OUTPUT: u32 = 256;

/// The output, in tokens, that is reserved at first; few answers are longer.
const EXPECTED_OUTPUT: u32 = 4_000;

/// The most output of a last turn, in tokens.
const MAX_LAST_TURN_OUTPUT: u32 = 1_000;

/// How many tokens a turn may add to the input of a last turn.
const MAX_TURN_GROWTH: u64 = 2_000;

/// The size of the runtime's own messages before a turn, in tokens.
const NOTICE_TOKENS: u64 = 200;

/// What the next turn may use, and what it must leave for a last turn.
pub(super) fn next_turn_quote(
    results: &dyn ResultFormatter,
    prepared: &PreparedAgent,
    conversation: &Conversation,
) -> TurnQuote {
    let max_output = prepared.model.facts().max_output_tokens;
    let last_quote = last_turn_quote(results, prepared, conversation);
    let last_turn_reserve =
        TurnQuote { input: last_quote.input.saturating_add(MAX_TURN_GROWTH), ..last_quote }.cost(last_quote.min_output);
    let (min_output, expected) = (MIN_OUTPUT.min(max_output), EXPECTED_OUTPUT.min(max_output));
    TurnQuote { min_output, expected_output: expected, max_output, last_turn_reserve, ..last_quote }
}

/// What a last turn may use.
pub(super) fn last_turn_quote(
    results: &dyn ResultFormatter,
    prepared: &PreparedAgent,
    conversation: &Conversation,
) -> TurnQuote {
    let ModelFacts { price, max_output_tokens: max_output, .. } = *prepared.model.facts();
    let output = MAX_LAST_TURN_OUTPUT.min(max_output);
    let unread = conversation.unread(results).map_or(0, |unread| message_tokens(&unread));
    let input = [unread, NOTICE_TOKENS].into_iter().fold(input_tokens(prepared, conversation), u64::saturating_add);
    let estimated = input.saturating_sub(conversation.measured().map_or(0, |(_, tokens)| tokens));
    TurnQuote {
        input,
        estimated,
        min_output: output.min(64),
        expected_output: output,
        max_output: output,
        price,
        last_turn_reserve: Cost::ZERO,
    }
}

/// An upper bound of the tokens of a request with this conversation. It uses the provider's count where there is one,
/// and estimates only what came after it.
pub(crate) fn input_tokens(prepared: &PreparedAgent, conversation: &Conversation) -> u64 {
    let messages = conversation.messages();
    let input = match conversation.measured() {
        Some((counted, tokens)) => messages.iter().skip(counted).map(message_tokens).fold(tokens, u64::saturating_add),
        None => messages.fold(|estimate: &TokenEstimate| preamble_tokens(prepared).saturating_add(estimate.0)),
    };
    // Tools may have been added since the provider counted.
    prepared.added_tools(conversation.added_tools()).map(tool_tokens).fold(input, u64::saturating_add)
}

/// An upper bound of the tokens of a request with these messages, estimated without the provider.
pub(super) fn estimate_tokens(prepared: &PreparedAgent, messages: &[ModelMessage]) -> u64 {
    messages.iter().map(message_tokens).fold(preamble_tokens(prepared), u64::saturating_add)
}

/// The tokens of the system prompt and the tools.
fn preamble_tokens(prepared: &PreparedAgent) -> u64 {
    text_tokens(&prepared.system_prompt) + prepared.initial_tools.iter().map(tool_tokens).sum::<u64>()
}

/// The running sum of the tokens of all messages.
#[derive(Default)]
struct TokenEstimate(u64);

impl MessageFold for TokenEstimate {
    fn add(&mut self, _at: usize, message: &ModelMessage) {
        self.0 = self.0.saturating_add(message_tokens(message));
    }
}

/// Estimates the tokens of a text, very likely not too low for any tokenizer: one for every two ASCII characters, and
/// one for every byte of other scripts.
pub(crate) fn text_tokens(text: &str) -> u64 {
    let ascii = text.bytes().filter(u8::is_ascii).count();
    u64::try_from(ascii.div_ceil(2) + (text.len() - ascii)).unwrap_or(u64::MAX)
}

/// Estimates the tokens of a tool's description.
pub(crate) fn tool_tokens(spec: &ToolSpec) -> u64 {
    TOKENS_PER_ITEM + text_tokens(&spec.name) + text_tokens(&spec.description) + text_tokens(&spec.schema.to_string())
}

/// The overhead of a message or block besides its text.
const TOKENS_PER_ITEM: u64 = 16;

/// The most that a provider counts for an image.
const TOKENS_PER_IMAGE: u64 = 4_000;

/// An upper bound of the tokens of one message.
pub(crate) fn message_tokens(message: &ModelMessage) -> u64 {
    TOKENS_PER_ITEM
        + match message {
            ModelMessage::User { parts } => parts.iter().map(part_tokens).sum::<u64>(),
            ModelMessage::Assistant { content } => content.iter().map(block_tokens).sum(),
            ModelMessage::Answers { answers } => {
                answers.iter().map(|(_, answer)| TOKENS_PER_ITEM + text_tokens(&answer.text)).sum()
            }
        }
}

fn part_tokens(part: &MessagePart) -> u64 {
    TOKENS_PER_ITEM
        + match part {
            MessagePart::Text(text) => text_tokens(text),
            MessagePart::Image(_) => TOKENS_PER_IMAGE,
        }
}

fn block_tokens(block: &ContentBlock) -> u64 {
    TOKENS_PER_ITEM
        + match block {
            ContentBlock::Text { text } => text_tokens(text),
            // Reasoning that a provider wants back is in an opaque block.
            ContentBlock::Thinking { .. } => 0,
            ContentBlock::Call(call) => text_tokens(&call.tool) + text_tokens(&call.input),
            ContentBlock::Opaque { json, .. } => text_tokens(json),
        }
}

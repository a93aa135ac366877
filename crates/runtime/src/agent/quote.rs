//! What the next question may use.

use model::{Facts, Fold, Message, Part, ToolSpec};
use protocol::{Block, Cost, Quote};

use super::Desk;
use crate::conversation::Conversation;
use crate::outfit::Outfit;

/// The least output that makes asking worth it.
const LEAST: u32 = 256;

/// The output that is set aside for at first; few answers are longer.
const EXPECTED: u32 = 4_000;

/// What a last turn says at most.
const LAST_WORDS: u32 = 1_000;

/// What a turn may add to the conversation that a last turn would have to read.
const GROWTH: u64 = 2_000;

/// What the runtime itself may have to say before a turn.
const NOTICES: u64 = 200;

/// What the next turn may use, and what it must leave for a last one.
pub(super) fn next(desk: &Desk, outfit: &Outfit, conversation: &Conversation) -> Quote {
    let max_output = outfit.model.facts().max_output;
    let last = last(desk, outfit, conversation);
    let spare = Quote { input: last.input.saturating_add(GROWTH), ..last }.cost(last.least);
    let (least, expected) = (LEAST.min(max_output), EXPECTED.min(max_output));
    Quote { least, expected, most: max_output, spare, ..last }
}

/// What a last turn may use.
pub(super) fn last(desk: &Desk, outfit: &Outfit, conversation: &Conversation) -> Quote {
    let Facts { price, max_output, .. } = *outfit.model.facts();
    let most = LAST_WORDS.min(max_output);
    let unread = conversation.unread(desk).map_or(0, |unread| message(&unread));
    let input = [unread, NOTICES].into_iter().fold(input(outfit, conversation), u64::saturating_add);
    let estimated = input.saturating_sub(conversation.measured().map_or(0, |(_, tokens)| tokens));
    Quote { input, estimated, least: most.min(64), expected: most, most, price, spare: Cost::ZERO }
}

/// Most tokens that a request with this conversation has. What the provider has counted once is taken as counted;
/// only what came after it is estimated.
pub(crate) fn input(outfit: &Outfit, conversation: &Conversation) -> u64 {
    let messages = conversation.messages();
    let input = match conversation.measured() {
        Some((counted, tokens)) => messages.iter().skip(counted).map(message).fold(tokens, u64::saturating_add),
        None => messages.fold(|estimate: &Estimate| told(outfit).saturating_add(estimate.0)),
    };
    // Tools may have been added since it was counted.
    outfit.more(conversation.grown()).map(tool).fold(input, u64::saturating_add)
}

/// Most tokens that a request with these messages has, as far as that can be told without a provider.
pub(super) fn estimate(outfit: &Outfit, messages: &[Message]) -> u64 {
    messages.iter().map(message).fold(told(outfit), u64::saturating_add)
}

/// The tokens of what stands above the messages.
fn told(outfit: &Outfit) -> u64 {
    tokens(&outfit.system) + outfit.specs.iter().map(tool).sum::<u64>()
}

/// The tokens of all messages, added up as they come.
#[derive(Default)]
struct Estimate(u64);

impl Fold for Estimate {
    fn add(&mut self, _at: usize, each: &Message) {
        self.0 = self.0.saturating_add(message(each));
    }
}

/// More tokens than any tokenizer makes of a text, in all likelihood: two characters of plain text make one at least,
/// and every byte of other scripts may be one.
pub(super) fn tokens(text: &str) -> u64 {
    let plain = text.bytes().filter(u8::is_ascii).count();
    u64::try_from(plain.div_ceil(2) + (text.len() - plain)).unwrap_or(u64::MAX)
}

fn tool(spec: &ToolSpec) -> u64 {
    EACH + tokens(&spec.name) + tokens(&spec.about) + tokens(&spec.schema.to_string())
}

/// What the form of a message or block takes besides its words.
const EACH: u64 = 16;

/// What a provider counts for a picture at most.
const PICTURE: u64 = 4_000;

/// Most tokens of one message.
pub(super) fn message(message: &Message) -> u64 {
    EACH + match message {
        Message::User { parts } => parts.iter().map(part).sum::<u64>(),
        Message::Assistant { content } => content.iter().map(block).sum(),
        Message::Answers { answers } => answers.iter().map(|(_, answer)| EACH + tokens(&answer.text)).sum(),
    }
}

fn part(part: &Part) -> u64 {
    EACH + match part {
        Part::Text(text) => tokens(text),
        Part::Image(_) => PICTURE,
    }
}

fn block(block: &Block) -> u64 {
    EACH + match block {
        Block::Text { text } => tokens(text),
        // What a provider wants back of its reasoning is in an opaque block.
        Block::Thinking { .. } => 0,
        Block::Call(call) => tokens(&call.tool) + tokens(&call.input),
        Block::Opaque { json, .. } => tokens(json),
    }
}

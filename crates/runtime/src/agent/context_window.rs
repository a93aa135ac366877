//! Checks whether a conversation fits its model's context window, and compacts it if not.

use model::{ModelFacts, ModelMessage};
use protocol::{Compaction, CompactionCause, TurnQuote};

use super::quote::{self, estimate_tokens, input_tokens};
use crate::compact::{CompactionPlan, CurrentState, PlannedCompaction};
use crate::conversation::{Conversation, ResultFormatter};
use crate::prepared_agent::PreparedAgent;
use crate::run_requests::{DigestLines, SessionRequests, TaskProfile};
use crate::supervisor::InputRejection;

/// The part of a model's window that may be filled, in percent; the rest covers errors of the estimate.
const FULL_PERCENT: u64 = 85;

/// The most that a compaction leaves filled, in percent, so that the next compaction is not needed soon.
const TARGET_PERCENT: u64 = 60;

/// The highest factor by which an estimate can exceed the real number of tokens.
const MAX_OVERESTIMATE: u64 = 4;

/// What to do before the model request.
pub(super) enum WindowCheck {
    /// The request fits.
    Fits,
    /// The request fits after this compaction.
    Compact(Compaction),
    /// The request cannot be made to fit; holds the message for the user.
    CannotFit(String),
}

/// Checks whether the next request fits. A compacted conversation is not checked again before the next answer: the
/// provider has not counted its tokens yet.
pub(super) async fn check_window(
    session: &dyn SessionRequests,
    (profile, prepared): (&TaskProfile, &PreparedAgent),
    conversation: &Conversation,
) -> Result<WindowCheck, InputRejection> {
    if session.take_compaction_request().await {
        let compaction = compact_fully(session, (profile, prepared), conversation).await?;
        return Ok(compaction.map_or(WindowCheck::Fits, |compaction| WindowCheck::Compact(mark_requested(compaction))));
    }
    let facts = prepared.model.facts();
    let Some(window) = facts.context_tokens else { return Ok(WindowCheck::Fits) };
    let input_limit =
        |percent: u64| (window.saturating_mul(percent) / 100).saturating_sub(reserved_output(facts, window));
    if conversation.is_compacted() {
        return Ok(WindowCheck::Fits);
    }
    let current_size = RequestSize::estimate(session, prepared, conversation);
    if current_size.tokens <= input_limit(FULL_PERCENT) {
        return Ok(WindowCheck::Fits);
    }
    let state = current_state(profile, session, conversation).await?;
    let size = current_size.scaled_estimator(prepared, conversation);
    let planned = compaction_plan(conversation, &state, Some(window), &size)
        .mildest_compaction(input_limit(TARGET_PERCENT), input_limit(FULL_PERCENT));
    let tokens = planned.as_ref().map_or(current_size.tokens, |planned| planned.tokens);
    Ok(match planned {
        _ if tokens / MAX_OVERESTIMATE > window => {
            WindowCheck::CannotFit(cannot_fit_message(prepared, tokens / MAX_OVERESTIMATE, window))
        }
        Some(PlannedCompaction { compaction, .. }) => WindowCheck::Compact(compaction),
        None => WindowCheck::Fits,
    })
}

/// Marks a compaction as requested by the user.
pub(crate) fn mark_requested(compaction: Compaction) -> Compaction {
    Compaction { cause: CompactionCause::Requested, ..compaction }
}

/// The largest possible compaction, on request or for a conversation that the model has rejected as too long.
pub(crate) async fn compact_fully(
    session: &dyn SessionRequests,
    (profile, prepared): (&TaskProfile, &PreparedAgent),
    conversation: &Conversation,
) -> Result<Option<Compaction>, InputRejection> {
    let state = current_state(profile, session, conversation).await?;
    let window = prepared.model.facts().context_tokens;
    let size = RequestSize::estimate(session, prepared, conversation).scaled_estimator(prepared, conversation);
    let planned = compaction_plan(conversation, &state, window, &size).strongest_compaction();
    Ok(planned.map(|planned| planned.compaction))
}

/// Limits the output of a quote to the part of the window that the input leaves free.
pub(super) fn limit_output(prepared: &PreparedAgent, quote: TurnQuote) -> TurnQuote {
    let facts = prepared.model.facts();
    let Some(window) = facts.context_tokens else { return quote };
    let remaining = window.saturating_sub(quote.input).max(reserved_output(facts, window));
    let output_limit = u32::try_from(remaining).unwrap_or(u32::MAX).max(quote.min_output);
    TurnQuote {
        max_output: quote.max_output.min(output_limit),
        expected_output: quote.expected_output.min(output_limit),
        ..quote
    }
}

/// The error message for a conversation that is too long and cannot be compacted further.
pub(super) fn too_long_message(prepared: &PreparedAgent, error: &str) -> String {
    let model = prepared.model.name();
    format!("the conversation is too long for {model} and cannot be compacted further: {error}; {REMEDY}")
}

const REMEDY: &str = "continue with a model that has a larger context window, or start a new session";

fn cannot_fit_message(prepared: &PreparedAgent, tokens: u64, window: u64) -> String {
    let model = prepared.model.name();
    format!("{model} accepts {window} tokens, but the conversation has at least {tokens}; {REMEDY}")
}

/// The output, in tokens, for which the window must have room.
fn reserved_output(facts: &ModelFacts, window: u64) -> u64 {
    u64::from(facts.max_output_tokens).min(window / 5)
}

fn compaction_plan<'a>(
    conversation: &'a Conversation,
    current: &'a CurrentState,
    window: Option<u64>,
    size: &'a dyn Fn(&[ModelMessage]) -> u64,
) -> CompactionPlan<'a> {
    CompactionPlan {
        messages: conversation.messages(),
        history: conversation.history(),
        current,
        window,
        request_tokens: size,
    }
}

/// The size of the next request without compaction.
#[derive(Clone, Copy)]
struct RequestSize {
    tokens: u64,
    /// The tokens of unread mail.
    unread_tokens: u64,
}

impl RequestSize {
    fn estimate(results: &dyn ResultFormatter, prepared: &PreparedAgent, conversation: &Conversation) -> RequestSize {
        let unread = conversation.unread(results).map_or(0, |unread| quote::message_tokens(&unread));
        RequestSize { tokens: input_tokens(prepared, conversation).saturating_add(unread), unread_tokens: unread }
    }

    /// Returns a function that estimates the size of a request with other messages. It corrects each estimate by the
    /// ratio of this size to the estimate for the current messages.
    fn scaled_estimator(
        self,
        prepared: &PreparedAgent,
        conversation: &Conversation,
    ) -> impl Fn(&[ModelMessage]) -> u64 {
        let estimated = move |messages: &[ModelMessage]| {
            u128::from(estimate_tokens(prepared, messages).saturating_add(self.unread_tokens))
        };
        let all = estimated(conversation.messages()).max(1);
        move |messages| u64::try_from(estimated(messages) * u128::from(self.tokens) / all).unwrap_or(u64::MAX)
    }
}

async fn current_state(
    profile: &TaskProfile,
    session: &dyn SessionRequests,
    conversation: &Conversation,
) -> Result<CurrentState, InputRejection> {
    let DigestLines { tasks, todos } = session.digest_lines(conversation.unread_results()).await?;
    Ok(CurrentState { identity: identity_lines(profile, conversation), todos, tasks })
}

/// The agent's name, path and loaded tools, which every compaction keeps.
fn identity_lines(profile: &TaskProfile, conversation: &Conversation) -> Vec<String> {
    let identity = format!("the agent {} at {}, {}", profile.spec.agent, profile.path, profile.task);
    let loaded = conversation.loaded().iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    std::iter::once(identity).chain((!loaded.is_empty()).then(|| format!("tools loaded: {loaded}"))).collect()
}

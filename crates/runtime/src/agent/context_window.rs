//! Checks whether a conversation fits its model's context window, and compacts it if not.

use std::sync::Arc;

use kernel::{InputRefusal, Kernel, KernelInput, KernelTask, TaskPhase};
use model::{ModelFacts, ModelMessage};
use protocol::{Compaction, CompactionCause, TaskForm, TaskId, TurnQuote};

use super::quote::{self, estimate_tokens, input_tokens};
use crate::compact::{CompactionPlan, CurrentState, PlannedCompaction};
use crate::conversation::Conversation;
use crate::hooks::run_hooks;
use crate::prepared_agent::PreparedAgent;
use crate::session_context::SessionContext;
use crate::supervisor::{InputRejection, RunLink, Supervisor};

/// The part of a model's window that may be filled, in percent; the rest covers errors of the estimate.
const FULL_PERCENT: u64 = 85;

/// The most that a compaction leaves filled, in percent, so that the next compaction is not needed soon.
const TARGET_PERCENT: u64 = 60;

/// The highest factor by which an estimate can exceed the real number of tokens.
const MAX_OVERESTIMATE: u64 = 4;

/// The most tasks, and the most todos, that a digest names.
const MAX_LISTED: usize = 40;

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
    context: &SessionContext,
    prepared: &PreparedAgent,
    link: &RunLink,
    conversation: &Conversation,
) -> Result<WindowCheck, InputRejection> {
    if context.take_compaction_request(link.run.task) {
        let compaction = compact_fully(context, prepared, (&link.supervisor, link.run.task), conversation).await?;
        return Ok(compaction.map_or(WindowCheck::Fits, |compaction| WindowCheck::Compact(mark_requested(compaction))));
    }
    let facts = prepared.model.facts();
    let Some(window) = facts.context_tokens else { return Ok(WindowCheck::Fits) };
    let input_limit =
        |percent: u64| (window.saturating_mul(percent) / 100).saturating_sub(reserved_output(facts, window));
    if conversation.is_compacted() {
        return Ok(WindowCheck::Fits);
    }
    let current_size = RequestSize::estimate(context, prepared, conversation);
    if current_size.tokens <= input_limit(FULL_PERCENT) {
        return Ok(WindowCheck::Fits);
    }
    let state = current_state(context, (&link.supervisor, link.run.task), conversation).await?;
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

/// Compacts the conversation of an idle task on request. The conversation of a busy task is compacted before its next
/// turn.
pub(crate) async fn compact_now(
    context: &Arc<SessionContext>,
    supervisor: &Supervisor,
    task: TaskId,
) -> Result<CompactionOutcome, String> {
    let to_text = |rejected: InputRejection| rejected.to_string();
    let run_and_phase =
        supervisor.query(move |kernel| kernel.task(task).map(|task| (task.run_id(), task.phase.clone()))).await;
    let Some((run, TaskPhase::Idle)) = run_and_phase.map_err(to_text)? else {
        context.request_compaction(task);
        return Ok(CompactionOutcome::Later);
    };
    let prepared = context.prepared_agent(task)?;
    let conversation = context.conversation(task).map_err(|error| error.to_string())?;
    let compaction = compact_fully(context, &prepared, (supervisor, task), &conversation).await.map_err(to_text)?;
    let Some(compaction) = compaction.map(mark_requested) else { return Ok(CompactionOutcome::Nothing) };
    let messages = compaction.messages;
    // The user requested the compaction, so hooks cannot prevent it.
    let _verdict = run_hooks(context, run, ::hooks::HookEventData::Compact(compaction.cause)).await;
    match supervisor.submit(KernelInput::Compact { task, compaction }).await {
        Ok(_receipt) => Ok(CompactionOutcome::Done { messages }),
        Err(InputRejection::Refused(InputRefusal::TurnInProgress)) => {
            context.request_compaction(task);
            Ok(CompactionOutcome::Later)
        }
        Err(rejected) => Err(to_text(rejected)),
    }
}

/// The outcome of a requested compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CompactionOutcome {
    /// A digest replaces this number of messages.
    Done {
        /// The number of messages.
        messages: u32,
    },
    /// The compaction follows before the next turn.
    Later,
    /// There is nothing worth leaving out.
    Nothing,
}

fn mark_requested(compaction: Compaction) -> Compaction {
    Compaction { cause: CompactionCause::Requested, ..compaction }
}

/// The largest possible compaction, on request or for a conversation that the model has rejected as too long.
pub(super) async fn compact_fully(
    context: &SessionContext,
    prepared: &PreparedAgent,
    supervised_task: (&Supervisor, TaskId),
    conversation: &Conversation,
) -> Result<Option<Compaction>, InputRejection> {
    let state = current_state(context, supervised_task, conversation).await?;
    let window = prepared.model.facts().context_tokens;
    let size = RequestSize::estimate(context, prepared, conversation).scaled_estimator(prepared, conversation);
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
    fn estimate(context: &SessionContext, prepared: &PreparedAgent, conversation: &Conversation) -> RequestSize {
        let unread = conversation.unread(context).map_or(0, |unread| quote::message_tokens(&unread));
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
    context: &SessionContext,
    (supervisor, id): (&Supervisor, TaskId),
    conversation: &Conversation,
) -> Result<CurrentState, InputRejection> {
    let unread = conversation.unread_results();
    let tasks = supervisor.query(move |kernel| task_lines(kernel, id, |task| unread.contains(&task))).await?;
    Ok(CurrentState { identity: identity_lines(context, id, conversation), todos: todo_lines(context).await, tasks })
}

/// The agent's name, path and loaded tools, which every compaction keeps.
fn identity_lines(context: &SessionContext, task: TaskId, conversation: &Conversation) -> Vec<String> {
    let identity =
        context.log.roster.with_task(task, |entry| format!("the agent {} at {}, {task}", entry.spec.agent, entry.path));
    let loaded = conversation.loaded().iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    identity.into_iter().chain((!loaded.is_empty()).then(|| format!("tools loaded: {loaded}"))).collect()
}

/// The tasks that an agent started, unfinished ones first, then the newest.
fn task_lines(kernel: &Kernel, id: TaskId, is_unread: impl Fn(TaskId) -> bool) -> Vec<String> {
    let children = kernel.task(id).into_iter().flat_map(|task| task.children.iter().rev());
    let mut tasks: Vec<&KernelTask> = children.filter_map(|id| kernel.task(*id)).collect();
    tasks.sort_by_key(|task| task.is_finished() && !is_unread(task.id));
    let line = |task: &KernelTask| {
        let label = task.kind.label();
        let what = match task.kind.form() {
            TaskForm::Agent => label.to_owned(),
            TaskForm::Command => format!("background {label} (see read_shell)"),
        };
        let unread = if is_unread(task.id) { "; its result comes as your next message" } else { "" };
        format!("{what} `{}`, {}: {}{unread}", task.name, task.id, task.phase.state().as_str())
    };
    tasks.into_iter().take(MAX_LISTED).map(line).collect()
}

/// The open todos, those in progress first. Returns none if the model has changed the tables so that the query fails.
async fn todo_lines(context: &SessionContext) -> Vec<String> {
    let sql = format!(
        "SELECT substr(id, 1, 100) || ' (' || status || '): ' || substr(title, 1, 200) FROM todos WHERE status <> 'done' \
         ORDER BY status = 'in_progress' DESC, status = 'blocked', created_at, id LIMIT {MAX_LISTED}"
    );
    match context.tables.read(sql).await {
        // The first line names the column, the last line counts the rows.
        Ok(rows) => {
            let lines: Vec<&str> = rows.lines().skip(1).collect();
            let rows = lines.split_last().map_or(&[][..], |(_count, rows)| rows);
            rows.iter().map(|row| (*row).to_owned()).collect()
        }
        Err(error) => {
            tracing::info!(%error, "the digest does not list the todos");
            Vec::new()
        }
    }
}

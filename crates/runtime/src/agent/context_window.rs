//! Checks whether a conversation fits its model's context window, and compacts it if not.

use std::sync::Arc;

use kernel::{InputRefusal, Kernel, KernelInput, KernelTask, TaskPhase};
use model::{ModelFacts, ModelMessage};
use protocol::{Compaction, CompactionCause, TaskId, TaskType, TurnQuote};

use super::SessionContext;
use super::quote::{self, estimate_tokens, input_tokens};
use crate::compact::{CompactionPlan, CurrentState, PlannedCompaction};
use crate::conversation::Conversation;
use crate::hooks::run_hooks;
use crate::prepared_agent::PreparedAgent;
use crate::supervisor::{InputRejection, RunLink, Supervisor};

/// The part of a model's window that may be filled, in percent; the rest covers errors of the estimate.
const FULL_PERCENT: u64 = 85;

/// The part that a compaction leaves filled at most, so that the next compaction is not soon.
const TARGET_PERCENT: u64 = 60;

/// The factor by which an estimate is too high at most.
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
        return Ok(compaction.map_or(WindowCheck::Fits, |compaction| WindowCheck::Compact(as_requested(compaction))));
    }
    let facts = prepared.model.facts();
    let Some(window) = facts.context else { return Ok(WindowCheck::Fits) };
    let part = |percent: u64| (window.saturating_mul(percent) / 100).saturating_sub(reserved_output(facts, window));
    if conversation.is_compacted() {
        return Ok(WindowCheck::Fits);
    }
    let now = RequestSize::of(context, prepared, conversation);
    if now.tokens <= part(FULL_PERCENT) {
        return Ok(WindowCheck::Fits);
    }
    let present = current_state(context, (&link.supervisor, link.run.task), conversation).await?;
    let size = now.scale(prepared, conversation);
    let made = compaction_plan(conversation, &present, Some(window), &size)
        .mildest_cut(part(TARGET_PERCENT), part(FULL_PERCENT));
    let tokens = made.as_ref().map_or(now.tokens, |made| made.tokens);
    Ok(match made {
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
    let message = |rejected: InputRejection| rejected.to_string();
    let state = supervisor.query(move |kernel| kernel.task(task).map(|task| (task.run_id(), task.phase.clone()))).await;
    let Some((run, TaskPhase::Idle)) = state.map_err(message)? else {
        context.request_compaction(task);
        return Ok(CompactionOutcome::Later);
    };
    let prepared = context.prepared_agent(task)?;
    let conversation = context.conversation(task).map_err(|error| error.to_string())?;
    let compaction = compact_fully(context, &prepared, (supervisor, task), &conversation).await.map_err(message)?;
    let Some(compaction) = compaction.map(as_requested) else { return Ok(CompactionOutcome::Nothing) };
    let messages = compaction.messages;
    // The user requested the compaction, so hooks cannot prevent it.
    let _verdict = run_hooks(context, run, ::hooks::HookEventData::Compact(compaction.cause)).await;
    match supervisor.submit(KernelInput::Compact { task, compaction }).await {
        Ok(_receipt) => Ok(CompactionOutcome::Done { messages }),
        Err(InputRejection::Refused(InputRefusal::InTurn)) => {
            context.request_compaction(task);
            Ok(CompactionOutcome::Later)
        }
        Err(rejected) => Err(message(rejected)),
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

fn as_requested(compaction: Compaction) -> Compaction {
    Compaction { cause: CompactionCause::Requested, ..compaction }
}

/// The largest possible compaction, for a conversation that the model has rejected as too long.
pub(super) async fn compact_fully(
    context: &SessionContext,
    prepared: &PreparedAgent,
    of_task: (&Supervisor, TaskId),
    conversation: &Conversation,
) -> Result<Option<Compaction>, InputRejection> {
    let present = current_state(context, of_task, conversation).await?;
    let window = prepared.model.facts().context;
    let size = RequestSize::of(context, prepared, conversation).scale(prepared, conversation);
    let made = compaction_plan(conversation, &present, window, &size).hardest_cut();
    Ok(made.map(|made| made.compaction))
}

/// Limits the output of a quote to what the window leaves.
pub(super) fn limit_output(prepared: &PreparedAgent, quote: TurnQuote) -> TurnQuote {
    let facts = prepared.model.facts();
    let Some(window) = facts.context else { return quote };
    let left = window.saturating_sub(quote.input).max(reserved_output(facts, window));
    let most = u32::try_from(left).unwrap_or(u32::MAX).max(quote.min_output);
    TurnQuote { max_output: quote.max_output.min(most), expected: quote.expected.min(most), ..quote }
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

/// The output that must fit into the window.
fn reserved_output(facts: &ModelFacts, window: u64) -> u64 {
    u64::from(facts.max_output).min(window / 5)
}

fn compaction_plan<'a>(
    conversation: &'a Conversation,
    present: &'a CurrentState,
    window: Option<u64>,
    size: &'a dyn Fn(&[ModelMessage]) -> u64,
) -> CompactionPlan<'a> {
    CompactionPlan {
        messages: conversation.messages(),
        history: conversation.history(),
        current: present,
        window,
        size,
    }
}

/// The size of the next request without compaction.
#[derive(Clone, Copy)]
struct RequestSize {
    tokens: u64,
    /// The tokens of unread mail.
    unread: u64,
}

impl RequestSize {
    fn of(context: &SessionContext, prepared: &PreparedAgent, conversation: &Conversation) -> RequestSize {
        let unread = conversation.unread(context).map_or(0, |unread| quote::message_tokens(&unread));
        RequestSize { tokens: input_tokens(prepared, conversation).saturating_add(unread), unread }
    }

    /// Estimates requests with other messages, scaled by the error of the estimate for the counted messages.
    fn scale(self, prepared: &PreparedAgent, conversation: &Conversation) -> impl Fn(&[ModelMessage]) -> u64 {
        let estimated = move |messages: &[ModelMessage]| {
            u128::from(estimate_tokens(prepared, messages).saturating_add(self.unread))
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
    let role =
        context.roster.with_task(task, |known| format!("the agent {} at {}, {task}", known.spec.agent, known.path));
    let loaded = conversation.loaded().iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    role.into_iter().chain((!loaded.is_empty()).then(|| format!("tools loaded: {loaded}"))).collect()
}

/// The tasks that an agent started, unfinished ones first, then the newest.
fn task_lines(kernel: &Kernel, id: TaskId, is_unread: impl Fn(TaskId) -> bool) -> Vec<String> {
    let children = kernel.task(id).into_iter().flat_map(|task| task.children.iter().rev());
    let mut tasks: Vec<&KernelTask> = children.filter_map(|id| kernel.task(*id)).collect();
    tasks.sort_by_key(|task| task.is_finished() && !is_unread(task.id));
    let line = |task: &KernelTask| {
        let what = match task.kind {
            TaskType::Main | TaskType::Agent => "agent",
            TaskType::Shell => "background command (see read_shell)",
        };
        let unread = if is_unread(task.id) { "; its result comes as your next message" } else { "" };
        format!("{what} `{}`, {}: {}{unread}", task.name, task.id, task.phase.state().as_str())
    };
    tasks.into_iter().take(MAX_LISTED).map(line).collect()
}

/// The open todos, those in progress first. Returns none if the model has changed the tables.
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

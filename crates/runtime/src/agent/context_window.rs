//! Whether a conversation has room in its model, and how it gets some.

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

/// The part of a model's window that may be filled, in percent; the rest is for what an estimate misses.
const FULL_PERCENT: u64 = 85;

/// The part that is filled at most after a compaction, so that the next one is not soon.
const TARGET_PERCENT: u64 = 60;

/// An estimate is never as many times too high as this.
const MAX_OVERESTIMATE: u64 = 4;

/// Most tasks that a digest names, and todos.
const MAX_LISTED: usize = 40;

/// What to do before the model is asked.
pub(super) enum WindowCheck {
    /// There is enough.
    Fits,
    /// There is after this.
    Compact(Compaction),
    /// There is none, and none can be made; the words are for people.
    CannotFit(String),
}

/// Looks whether the next request fits. One that was made smaller is not looked at again before it is answered: nobody
/// has counted it yet.
pub(super) async fn check_window(
    context: &SessionContext,
    prepared: &PreparedAgent,
    link: &RunLink,
    conversation: &Conversation,
) -> Result<WindowCheck, InputRejection> {
    if context.take_compaction(link.run.task) {
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
    let made =
        compaction_plan(conversation, &present, Some(window), &size).down_to(part(TARGET_PERCENT), part(FULL_PERCENT));
    let tokens = made.as_ref().map_or(now.tokens, |made| made.tokens);
    Ok(match made {
        _ if tokens / MAX_OVERESTIMATE > window => {
            WindowCheck::CannotFit(cannot_fit_message(prepared, tokens / MAX_OVERESTIMATE, window))
        }
        Some(PlannedCompaction { compaction, .. }) => WindowCheck::Compact(compaction),
        None => WindowCheck::Fits,
    })
}

/// Compacts the conversation of a task that rests, as somebody asked; tells whether there was anything to leave out. One
/// that does not rest is compacted before its next turn.
pub(crate) async fn compact_now(
    context: &Arc<SessionContext>,
    supervisor: &Supervisor,
    task: TaskId,
) -> Result<CompactionOutcome, String> {
    let told = |rejected: InputRejection| rejected.to_string();
    let state = supervisor.query(move |kernel| kernel.task(task).map(|task| (task.run_id(), task.phase.clone()))).await;
    let Some((run, TaskPhase::Idle)) = state.map_err(told)? else {
        context.ask_compaction(task);
        return Ok(CompactionOutcome::Later);
    };
    let prepared = context.prepared_agent(task)?;
    let conversation = context.conversation(task).map_err(|error| error.to_string())?;
    let compaction = compact_fully(context, &prepared, (supervisor, task), &conversation).await.map_err(told)?;
    let Some(compaction) = compaction.map(as_requested) else { return Ok(CompactionOutcome::Nothing) };
    let messages = compaction.messages;
    // It is asked for, so nobody is asked whether it may be.
    let _heard = run_hooks(context, run, ::hooks::HookEventData::Compact(compaction.cause)).await;
    match supervisor.submit(KernelInput::Compact { task, compaction }).await {
        Ok(_receipt) => Ok(CompactionOutcome::Done { messages }),
        Err(InputRejection::Refused(InputRefusal::InTurn)) => {
            context.ask_compaction(task);
            Ok(CompactionOutcome::Later)
        }
        Err(rejected) => Err(told(rejected)),
    }
}

/// What became of a wish to have a conversation compacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CompactionOutcome {
    /// A digest stands for so many messages.
    Done {
        /// How many.
        messages: u32,
    },
    /// It comes before the next turn.
    Later,
    /// There is nothing to leave out that would be worth it.
    Nothing,
}

fn as_requested(compaction: Compaction) -> Compaction {
    Compaction { cause: CompactionCause::Requested, ..compaction }
}

/// The most that can be left out, once the model has said that the conversation is too long.
pub(super) async fn compact_fully(
    context: &SessionContext,
    prepared: &PreparedAgent,
    whose: (&Supervisor, TaskId),
    conversation: &Conversation,
) -> Result<Option<Compaction>, InputRejection> {
    let present = current_state(context, whose, conversation).await?;
    let window = prepared.model.facts().context;
    let size = RequestSize::of(context, prepared, conversation).scale(prepared, conversation);
    let made = compaction_plan(conversation, &present, window, &size).hardest_cut();
    Ok(made.map(|made| made.compaction))
}

/// The same question with no more output than the window leaves.
pub(super) fn limit_output(prepared: &PreparedAgent, quote: TurnQuote) -> TurnQuote {
    let facts = prepared.model.facts();
    let Some(window) = facts.context else { return quote };
    let left = window.saturating_sub(quote.input).max(reserved_output(facts, window));
    let most = u32::try_from(left).unwrap_or(u32::MAX).max(quote.least);
    TurnQuote { most: quote.most.min(most), expected: quote.expected.min(most), ..quote }
}

/// What people are told when the model has no room and nothing more can be left out.
pub(super) fn too_long_message(prepared: &PreparedAgent, words: &str) -> String {
    let model = prepared.model.name();
    format!("the conversation is too long for {model}, and no more of it can be left out: {words}; {REMEDY}")
}

const REMEDY: &str = "go on with a model that has a larger context, or begin a new session";

fn cannot_fit_message(prepared: &PreparedAgent, tokens: u64, window: u64) -> String {
    let model = prepared.model.name();
    format!("{model} takes {window} tokens, and the conversation has at least {tokens}; {REMEDY}")
}

/// How much output there must be room for.
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

/// What the next request would be if nothing were left out.
#[derive(Clone, Copy)]
struct RequestSize {
    tokens: u64,
    /// Those of what waits to be heard.
    unread: u64,
}

impl RequestSize {
    fn of(context: &SessionContext, prepared: &PreparedAgent, conversation: &Conversation) -> RequestSize {
        let unread = conversation.unread(context).map_or(0, |unread| quote::message_tokens(&unread));
        RequestSize { tokens: input_tokens(prepared, conversation).saturating_add(unread), unread }
    }

    /// Estimates requests with other messages, as wrong about them as an estimate is about those that were counted.
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

/// Who the agent is and what it has, which no compaction takes from it.
fn identity_lines(context: &SessionContext, task: TaskId, conversation: &Conversation) -> Vec<String> {
    let role =
        context.roster.with_task(task, |known| format!("the agent {} at {}, {task}", known.spec.agent, known.path));
    let loaded = conversation.loaded().iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    role.into_iter().chain((!loaded.is_empty()).then(|| format!("tools loaded: {loaded}"))).collect()
}

/// The tasks that an agent started, those that still live first, then the newest.
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

/// The todos that are not done, what is under way first. Tables that the model has changed tell nothing.
async fn todo_lines(context: &SessionContext) -> Vec<String> {
    let sql = format!(
        "SELECT substr(id, 1, 100) || ' (' || status || '): ' || substr(title, 1, 200) FROM todos WHERE status <> 'done' \
         ORDER BY status = 'in_progress' DESC, status = 'blocked', created_at, id LIMIT {MAX_LISTED}"
    );
    match context.tables.read(sql).await {
        // A line above them names the column, and one below counts them.
        Ok(rows) => {
            let lines: Vec<&str> = rows.lines().skip(1).collect();
            let rows = lines.split_last().map_or(&[][..], |(_count, rows)| rows);
            rows.iter().map(|row| (*row).to_owned()).collect()
        }
        Err(error) => {
            tracing::info!(%error, "a digest is made without the todos");
            Vec::new()
        }
    }
}

//! Whether a conversation has room in its model, and how it gets some.

use std::sync::Arc;

use kernel::{Input, Kernel, Phase, Refusal, Task};
use model::{Facts, Message};
use protocol::{Compaction, CompactionCause, Kind, Quote, TaskId};

use super::Desk;
use super::quote::{self, estimate, input};
use crate::compact::{Made, Plan, Present};
use crate::conversation::Conversation;
use crate::hooks::tell;
use crate::outfit::Outfit;
use crate::supervisor::{Link, Rejected, Supervisor};

/// The part of a model's window that may be filled, in percent; the rest is for what an estimate misses.
const FULL: u64 = 85;

/// The part that is filled at most after a compaction, so that the next one is not soon.
const AIM: u64 = 60;

/// An estimate is never as many times too high as this.
const DOUBT: u64 = 4;

/// Most tasks that a digest names, and todos.
const LISTED: usize = 40;

/// What to do before the model is asked.
pub(super) enum Room {
    /// There is enough.
    Enough,
    /// There is after this.
    Less(Compaction),
    /// There is none, and none can be made; the words are for people.
    Never(String),
}

/// Looks whether the next request fits. One that was made smaller is not looked at again before it is answered: nobody
/// has counted it yet.
pub(super) async fn look(
    desk: &Desk,
    outfit: &Outfit,
    link: &Link,
    conversation: &Conversation,
) -> Result<Room, Rejected> {
    if desk.take_compaction(link.run.task) {
        let compaction = utmost(desk, outfit, (&link.supervisor, link.run.task), conversation).await?;
        return Ok(compaction.map_or(Room::Enough, |compaction| Room::Less(asked(compaction))));
    }
    let facts = outfit.model.facts();
    let Some(window) = facts.context else { return Ok(Room::Enough) };
    let part = |percent: u64| (window.saturating_mul(percent) / 100).saturating_sub(wanted(facts, window));
    if conversation.is_compacted() {
        return Ok(Room::Enough);
    }
    let now = Now::of(desk, outfit, conversation);
    if now.tokens <= part(FULL) {
        return Ok(Room::Enough);
    }
    let present = present(desk, (&link.supervisor, link.run.task), conversation).await?;
    let size = now.scale(outfit, conversation);
    let made = plan(conversation, &present, Some(window), &size).down_to(part(AIM), part(FULL));
    let tokens = made.as_ref().map_or(now.tokens, |made| made.tokens);
    Ok(match made {
        _ if tokens / DOUBT > window => Room::Never(never(outfit, tokens / DOUBT, window)),
        Some(Made { compaction, .. }) => Room::Less(compaction),
        None => Room::Enough,
    })
}

/// Compacts the conversation of a task that rests, as somebody asked; tells whether there was anything to leave out. One
/// that does not rest is compacted before its next turn.
pub(crate) async fn compact_now(desk: &Arc<Desk>, supervisor: &Supervisor, task: TaskId) -> Result<Asked, String> {
    let told = |rejected: Rejected| rejected.to_string();
    let state = supervisor.look(move |kernel| kernel.task(task).map(|task| (task.run(), task.phase.clone()))).await;
    let Some((run, Phase::Idle)) = state.map_err(told)? else {
        desk.ask_compaction(task);
        return Ok(Asked::Later);
    };
    let outfit = desk.outfit(task)?;
    let conversation = desk.conversation(task).map_err(|error| error.to_string())?;
    let compaction = utmost(desk, &outfit, (supervisor, task), &conversation).await.map_err(told)?;
    let Some(compaction) = compaction.map(asked) else { return Ok(Asked::Nothing) };
    let messages = compaction.messages;
    // It is asked for, so nobody is asked whether it may be.
    let _heard = tell(desk, run, ::hooks::Occasion::Compact(compaction.cause)).await;
    match supervisor.submit(Input::Compact { task, compaction }).await {
        Ok(_receipt) => Ok(Asked::Done { messages }),
        Err(Rejected::Refused(Refusal::InTurn)) => {
            desk.ask_compaction(task);
            Ok(Asked::Later)
        }
        Err(rejected) => Err(told(rejected)),
    }
}

/// What became of a wish to have a conversation compacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
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

fn asked(compaction: Compaction) -> Compaction {
    Compaction { cause: CompactionCause::Asked, ..compaction }
}

/// The most that can be left out, once the model has said that the conversation is too long.
pub(super) async fn utmost(
    desk: &Desk,
    outfit: &Outfit,
    whose: (&Supervisor, TaskId),
    conversation: &Conversation,
) -> Result<Option<Compaction>, Rejected> {
    let present = present(desk, whose, conversation).await?;
    let window = outfit.model.facts().context;
    let size = Now::of(desk, outfit, conversation).scale(outfit, conversation);
    let made = plan(conversation, &present, window, &size).utmost();
    Ok(made.map(|made| made.compaction))
}

/// The same question with no more output than the window leaves.
pub(super) fn within(outfit: &Outfit, quote: Quote) -> Quote {
    let facts = outfit.model.facts();
    let Some(window) = facts.context else { return quote };
    let left = window.saturating_sub(quote.input).max(wanted(facts, window));
    let most = u32::try_from(left).unwrap_or(u32::MAX).max(quote.least);
    Quote { most: quote.most.min(most), expected: quote.expected.min(most), ..quote }
}

/// What people are told when the model has no room and nothing more can be left out.
pub(super) fn too_long(outfit: &Outfit, words: &str) -> String {
    let model = outfit.model.name();
    format!("the conversation is too long for {model}, and no more of it can be left out: {words}; {REMEDY}")
}

const REMEDY: &str = "go on with a model that has a larger context, or begin a new session";

fn never(outfit: &Outfit, tokens: u64, window: u64) -> String {
    let model = outfit.model.name();
    format!("{model} takes {window} tokens, and the conversation has at least {tokens}; {REMEDY}")
}

/// How much output there must be room for.
fn wanted(facts: &Facts, window: u64) -> u64 {
    u64::from(facts.max_output).min(window / 5)
}

fn plan<'a>(
    conversation: &'a Conversation,
    present: &'a Present,
    window: Option<u64>,
    size: &'a dyn Fn(&[Message]) -> u64,
) -> Plan<'a> {
    Plan { messages: conversation.messages(), past: conversation.past(), present, window, size }
}

/// What the next request would be if nothing were left out.
#[derive(Clone, Copy)]
struct Now {
    tokens: u64,
    /// Those of what waits to be heard.
    unread: u64,
}

impl Now {
    fn of(desk: &Desk, outfit: &Outfit, conversation: &Conversation) -> Now {
        let unread = conversation.unread(desk).map_or(0, |unread| quote::message(&unread));
        Now { tokens: input(outfit, conversation).saturating_add(unread), unread }
    }

    /// Estimates requests with other messages, as wrong about them as an estimate is about those that were counted.
    fn scale(self, outfit: &Outfit, conversation: &Conversation) -> impl Fn(&[Message]) -> u64 {
        let estimated = move |messages: &[Message]| u128::from(estimate(outfit, messages).saturating_add(self.unread));
        let all = estimated(conversation.messages()).max(1);
        move |messages| u64::try_from(estimated(messages) * u128::from(self.tokens) / all).unwrap_or(u64::MAX)
    }
}

async fn present(
    desk: &Desk,
    (supervisor, id): (&Supervisor, TaskId),
    conversation: &Conversation,
) -> Result<Present, Rejected> {
    let unread = conversation.unread_results();
    let tasks = supervisor.look(move |kernel| tasks(kernel, id, |task| unread.contains(&task))).await?;
    Ok(Present { own: own(desk, id, conversation), todos: todos(desk).await, tasks })
}

/// Who the agent is and what it has, which no compaction takes from it.
fn own(desk: &Desk, task: TaskId, conversation: &Conversation) -> Vec<String> {
    let role = desk.roster.known(task, |known| format!("the agent {} at {}, {task}", known.spec.agent, known.path));
    let loaded = conversation.loaded().iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    role.into_iter().chain((!loaded.is_empty()).then(|| format!("tools loaded: {loaded}"))).collect()
}

/// The tasks that an agent started, those that still live first, then the newest.
fn tasks(kernel: &Kernel, id: TaskId, is_unread: impl Fn(TaskId) -> bool) -> Vec<String> {
    let children = kernel.task(id).into_iter().flat_map(|task| task.children.iter().rev());
    let mut tasks: Vec<&Task> = children.filter_map(|id| kernel.task(*id)).collect();
    tasks.sort_by_key(|task| task.is_finished() && !is_unread(task.id));
    let line = |task: &Task| {
        let what = match task.kind {
            Kind::Main | Kind::Agent => "agent",
            Kind::Shell => "background command (see read_shell)",
        };
        let unread = if is_unread(task.id) { "; its result comes as your next message" } else { "" };
        format!("{what} `{}`, {}: {}{unread}", task.name, task.id, task.phase.state().word())
    };
    tasks.into_iter().take(LISTED).map(line).collect()
}

/// The todos that are not done, what is under way first. Tables that the model has changed tell nothing.
async fn todos(desk: &Desk) -> Vec<String> {
    let sql = format!(
        "SELECT substr(id, 1, 100) || ' (' || status || '): ' || substr(title, 1, 200) FROM todos WHERE status <> 'done' \
         ORDER BY status = 'in_progress' DESC, status = 'blocked', created_at, id LIMIT {LISTED}"
    );
    match desk.tables.read(sql).await {
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

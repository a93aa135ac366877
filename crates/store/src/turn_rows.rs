//! Turns as rows: requested and reported model, usage and cost. They hold everything that a session spent.

use protocol::api::TurnView;
use protocol::{Activation, ContentBlock, Cost, Event, Price, TaskId, Timestamp, Turn, Usage, clip_middle};
use rusqlite::{Connection, Row, params};

use crate::error::unreadable;

/// The maximum count of one request: above any real count, and so low that a sum of many wrong ones still fits into a
/// column.
const MAX_COUNT: u64 = 1 << 48;

/// What the turns of one task with one model used and cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskSpending {
    /// The task.
    pub task: TaskId,
    /// Its path, such as `/root/tests`.
    pub path: String,
    /// Its agent.
    pub agent: String,
    /// The model that was requested.
    pub requested_model: String,
    /// The model that the provider reported; none for turns without an answer.
    pub reported_model: Option<String>,
    /// How many turns were answered.
    pub turns: u64,
    /// The tokens used, as the provider counted them.
    pub usage: Usage,
    /// The total cost: the tokens in `usage` and those in `lost`.
    pub cost: Cost,
    /// The part of the cost that is an estimate: for requests without an answer, or with one whose usage is unknown.
    pub lost: Cost,
    /// Whether the price of all these tokens is known.
    pub priced: bool,
}

impl TaskSpending {
    /// The estimated tokens of answered turns, if their server reported no usage.
    pub fn unreported_tokens(&self) -> u64 {
        if self.turns > 0 && self.usage.total() == 0 { self.lost.tokens } else { 0 }
    }

    /// The estimated tokens of requests without an answer.
    pub fn unanswered_tokens(&self) -> u64 {
        self.lost.tokens - self.unreported_tokens()
    }
}

/// A spending, and when the first and the last of its turns began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DatedSpending {
    pub(crate) spending: TaskSpending,
    pub(crate) first_at: Timestamp,
    pub(crate) last_at: Timestamp,
}

/// Everything that was spent on turns that began at `since` or later.
pub(crate) fn spendings(conn: &Connection, since: Timestamp) -> rusqlite::Result<Vec<TaskSpending>> {
    Ok(dated_spendings(conn, since)?.into_iter().map(|spent| spent.spending).collect())
}

/// Like [`spendings`], with the times of the first and last turn.
pub(crate) fn dated_spendings(conn: &Connection, since: Timestamp) -> rusqlite::Result<Vec<DatedSpending>> {
    conn.prepare_cached(
        "SELECT task, ifnull(path, '') AS path, ifnull(agent, '') AS agent, requested_model,
                t.reported_model AS reported_model, count(t.reported_model) AS turns,
                sum(t.input) AS input, sum(t.output) AS output, sum(t.cache_read) AS cache_read,
                sum(t.cache_write) AS cache_write, sum(t.cost_tokens) AS cost_tokens, sum(t.cost_micros) AS cost_micros,
                sum(lost_tokens) AS lost_tokens, sum(lost_micros) AS lost_micros,
                min(priced OR t.cost_tokens = 0) AS priced, min(begun_at) AS first_at, max(begun_at) AS last_at
         FROM bosun_turns AS t LEFT JOIN bosun_tasks ON id = task
         WHERE begun_at >= ?1 GROUP BY task, requested_model, t.reported_model
         ORDER BY min(begun_at), task, requested_model, t.reported_model",
    )?
    .query_map([since.0.min(i64::MAX.unsigned_abs())], |row| {
        let (first_at, last_at) = (Timestamp(row.get("first_at")?), Timestamp(row.get("last_at")?));
        Ok(DatedSpending { spending: spending(row)?, first_at, last_at })
    })?
    .collect()
}

/// Whether the price of everything that the session spent is known.
pub(crate) fn all_priced(conn: &Connection) -> rusqlite::Result<bool> {
    conn.prepare_cached("SELECT NOT EXISTS (SELECT 1 FROM bosun_unpriced)")?.query_row([], |row| row.get(0))
}

/// Reads a spending from a row.
pub(crate) fn spending(row: &Row<'_>) -> rusqlite::Result<TaskSpending> {
    Ok(TaskSpending {
        task: row.get::<_, String>("task")?.parse().map_err(unreadable)?,
        path: row.get("path")?,
        agent: row.get("agent")?,
        requested_model: row.get("requested_model")?,
        reported_model: row.get("reported_model")?,
        turns: row.get("turns")?,
        usage: usage(row)?,
        cost: Cost { tokens: row.get("cost_tokens")?, micros: row.get("cost_micros")? },
        lost: Cost { tokens: row.get("lost_tokens")?, micros: row.get("lost_micros")? },
        priced: row.get("priced")?,
    })
}

/// Reads the four kinds of tokens from a row.
pub(crate) fn usage(row: &Row<'_>) -> rusqlite::Result<Usage> {
    Ok(Usage {
        input: row.get("input")?,
        output: row.get("output")?,
        cache_read: row.get("cache_read")?,
        cache_write: row.get("cache_write")?,
    })
}

/// Records that a turn was requested from a model. A repeated turn keeps the cost of its failed requests, and is priced
/// only if all of them are.
pub(crate) fn begin_turn(
    conn: &Connection,
    task: TaskId,
    turn: Turn,
    requested_model: &str,
    price: Option<Price>,
    at: Timestamp,
) -> rusqlite::Result<()> {
    conn.prepare_cached(
        "INSERT INTO bosun_turns (task, turn, activation, requested_model, priced, begun_at)
         VALUES (?1, ?2, ifnull((SELECT activation FROM bosun_tasks WHERE id = ?1), 0), ?3, ?4, ?5)
         ON CONFLICT DO UPDATE SET activation = excluded.activation, requested_model = excluded.requested_model,
             priced = excluded.priced AND (priced OR cost_tokens = 0)",
    )?
    .execute(params![task.to_string(), turn.0, requested_model, price.is_some(), at.0])?;
    match price {
        Some(_) => Ok(()),
        None => mark_unpriced(conn, &task.to_string(), turn),
    }
}

/// What one model request used and cost.
pub(crate) struct RequestUsage<'a> {
    /// The model that the provider reported, if there was an answer.
    pub(crate) reported_model: Option<&'a str>,
    /// The tokens used, as the provider counted them.
    pub(crate) usage: Usage,
    /// The cost charged for the request.
    pub(crate) cost: Cost,
    /// The part of the cost that is an estimate.
    pub(crate) lost: Cost,
}

/// Adds what a request used and cost to its turn and to its task.
pub(crate) fn add_request(
    conn: &Connection,
    task: TaskId,
    turn: Turn,
    request_usage: &RequestUsage<'_>,
    at: Timestamp,
) -> rusqlite::Result<()> {
    const SUMS: &str = "input = input + ?2, output = output + ?3, cache_read = cache_read + ?4,
         cache_write = cache_write + ?5, cost_tokens = cost_tokens + ?6, cost_micros = cost_micros + ?7";
    let RequestUsage { reported_model, usage, cost, lost } = request_usage;
    let counts = [usage.input, usage.output, usage.cache_read, usage.cache_write, cost.tokens, cost.micros];
    let [input, output, cache_read, cache_write, tokens, micros] = counts.map(|count| count.min(MAX_COUNT));
    let (lost_tokens, lost_micros) = (lost.tokens.min(MAX_COUNT), lost.micros.min(MAX_COUNT));
    let id = task.to_string();
    conn.prepare_cached(&format!(
        "UPDATE bosun_turns SET {SUMS}, reported_model = ifnull(?8, reported_model), ended_at = ?9,
             lost_tokens = lost_tokens + ?10, lost_micros = lost_micros + ?11
         WHERE task = ?1 AND turn = ?12",
    ))?
    .execute(params![
        id,
        input,
        output,
        cache_read,
        cache_write,
        tokens,
        micros,
        reported_model,
        at.0,
        lost_tokens,
        lost_micros,
        turn.0
    ])?;
    conn.prepare_cached(&format!(
        "UPDATE bosun_tasks SET {SUMS}, reported_model = ifnull(?8, reported_model), turns = turns + (?8 IS NOT NULL),
             updated_at = ?9
         WHERE id = ?1",
    ))?
    .execute(params![id, input, output, cache_read, cache_write, tokens, micros, reported_model, at.0])?;
    mark_unpriced(conn, &id, turn)
}

/// The newest turns of a task, at most `limit`, oldest first, and how many there are in total.
pub(crate) fn newest_turns(conn: &Connection, task: TaskId, limit: u32) -> rusqlite::Result<(Vec<TurnView>, u64)> {
    let id = task.to_string();
    let mut turns: Vec<TurnView> = conn
        .prepare_cached("SELECT * FROM bosun_turns WHERE task = ?1 ORDER BY turn DESC LIMIT ?2")?
        .query_map(params![id, limit], turn_view)?
        .collect::<rusqlite::Result<_>>()?;
    turns.reverse();
    add_turn_texts(conn, &id, &mut turns)?;
    let total =
        conn.prepare_cached("SELECT count(*) FROM bosun_turns WHERE task = ?1")?.query_row([id], |row| row.get(0))?;
    Ok((turns, total))
}

/// Adds the text of each turn, from the log.
fn add_turn_texts(conn: &Connection, task: &str, turns: &mut [TurnView]) -> rusqlite::Result<()> {
    let mut answers = conn.prepare_cached(
        "SELECT body FROM bosun_events WHERE task = ?1 AND type = 'turnAnswered' ORDER BY seq DESC LIMIT ?2",
    )?;
    let answers = answers.query_map(params![task, turns.len()], |row| row.get::<_, String>(0))?;
    for body in answers {
        // An unreadable event was written by a newer version.
        let Ok(Event::TurnAnswered { turn, content, .. }) = Event::from_json(&body?) else { continue };
        if let Ok(at) = turns.binary_search_by_key(&turn, |view| view.turn) {
            turns[at].text = turn_text(&content);
        }
    }
    Ok(())
}

/// Maximum bytes of the text of one turn.
const MAX_TURN_TEXT: usize = 2_000;

fn turn_text(content: &[ContentBlock]) -> Option<String> {
    let parts: Vec<String> = content
        .iter()
        .filter_map(|block| match block {
            ContentBlock::Text { text } => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
            ContentBlock::Call(call) => Some(format!("[calls {}]", call.tool)),
            ContentBlock::Thinking { .. } | ContentBlock::Opaque { .. } => None,
        })
        .collect();
    (!parts.is_empty()).then(|| clip_middle(&parts.join("\n"), MAX_TURN_TEXT))
}

fn turn_view(row: &Row<'_>) -> rusqlite::Result<TurnView> {
    let spent = Cost { tokens: row.get("cost_tokens")?, micros: row.get("cost_micros")? };
    Ok(TurnView {
        turn: Turn(row.get("turn")?),
        activation: Activation(row.get("activation")?),
        requested_model: row.get("requested_model")?,
        reported_model: row.get("reported_model")?,
        usage: usage(row)?,
        spent,
        priced: row.get::<_, bool>("priced")? || spent.tokens == 0,
        begun_at: Timestamp(row.get("begun_at")?),
        ended_at: row.get::<_, Option<u64>>("ended_at")?.map(Timestamp),
        text: None,
    })
}

/// Whether the price of everything that a task spent is known.
pub(crate) fn priced(conn: &Connection, task: &str) -> rusqlite::Result<bool> {
    conn.prepare_cached("SELECT NOT EXISTS (SELECT 1 FROM bosun_unpriced WHERE task = ?1)")?
        .query_row([task], |row| row.get(0))
}

/// Marks the task as unpriced if the turn spent something without a known price; the mark is permanent.
fn mark_unpriced(conn: &Connection, task: &str, turn: Turn) -> rusqlite::Result<()> {
    conn.prepare_cached(
        "INSERT OR IGNORE INTO bosun_unpriced
         SELECT task FROM bosun_turns WHERE task = ?1 AND turn = ?2 AND priced = 0 AND cost_tokens > 0",
    )?
    .execute(params![task, turn.0])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::schema::SESSION;

    #[test]
    fn estimates_of_answered_turns_are_told_from_those_of_unanswered_ones() {
        let spending = |turns, input| TaskSpending {
            task: TaskId::new(uuid::Uuid::nil()),
            path: String::new(),
            agent: String::new(),
            requested_model: String::new(),
            reported_model: None,
            turns,
            usage: Usage { input, ..Usage::default() },
            cost: Cost { tokens: input + 5, micros: 0 },
            lost: Cost { tokens: 5, micros: 0 },
            priced: true,
        };
        let estimates = |spending: TaskSpending| (spending.unreported_tokens(), spending.unanswered_tokens());
        assert_eq!(estimates(spending(1, 0)), (5, 0));
        assert_eq!([spending(0, 0), spending(1, 9)].map(estimates), [(0, 5), (0, 5)]);
    }

    #[test]
    fn the_database_steps_of_a_price_check_do_not_grow_with_the_turns() {
        let mut conn = Connection::open_in_memory().unwrap();
        SESSION.migrate(&mut conn, Path::new("x.db")).unwrap();
        let steps = Arc::new(AtomicU64::new(0));
        let count_steps = Arc::clone(&steps);
        let count_step = move || {
            count_steps.fetch_add(1, Ordering::Relaxed);
            false
        };
        conn.progress_handler(1, Some(count_step)).unwrap();
        let task = TaskId::new(uuid::Uuid::from_u128(1));
        let price = Some(Price { input: 1, output: 1, cache_read: 1, cache_write: 1 });
        let spend = |n: u32, price: Option<Price>| {
            begin_turn(&conn, task, Turn(n), "script/m", price, Timestamp(1)).unwrap();
            let cost = Cost { tokens: 5, micros: 1 };
            let request_usage =
                RequestUsage { reported_model: Some("m"), usage: Usage::default(), cost, lost: Cost::ZERO };
            add_request(&conn, task, Turn(n), &request_usage, Timestamp(2)).unwrap();
        };
        let check = || {
            let before = steps.load(Ordering::Relaxed);
            let result = (all_priced(&conn).unwrap(), priced(&conn, &task.to_string()).unwrap());
            (result, steps.load(Ordering::Relaxed) - before)
        };
        (1..=10).for_each(|n| spend(n, price));
        let (result, early) = check();
        assert_eq!(result, (true, true));
        (11..=3_000).for_each(|n| spend(n, price));
        let (result, late) = check();
        assert_eq!(result, (true, true));
        assert!(late < early + 20, "{late} steps after 3,000 turns, {early} after 10");
        spend(3_001, None);
        assert_eq!(check().0, (false, false));
    }
}

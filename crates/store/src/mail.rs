//! Mail as rows, with its receipts: admitted, then delivered or expired.

use protocol::api::{MailState, MailView};
use protocol::{MailBody, MailDelivery, MailId, Principal, TaskId, Timestamp, clip_middle};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::event::{from_json, to_json};
use crate::tasks;

/// Maximum bytes of a mail text in a view; the log has all of it.
const MAX_TEXT_BYTES: usize = 4 * 1024;

/// Maximum characters of a session's title.
const MAX_TITLE_CHARS: usize = 120;

/// Mail as it is admitted.
pub(crate) struct AdmittedMail<'a> {
    pub(crate) mail: MailId,
    pub(crate) task: TaskId,
    pub(crate) from: &'a Principal,
    pub(crate) delivery: MailDelivery,
    pub(crate) body: &'a MailBody,
    pub(crate) at: Timestamp,
}

pub(crate) fn admit(conn: &Connection, admitted: &AdmittedMail<'_>) -> rusqlite::Result<()> {
    let AdmittedMail { mail, task, from, delivery, body, at } = admitted;
    conn.prepare_cached(
        "INSERT INTO bosun_mail (mail, task, sender, delivery, body, state, at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?
    .execute(params![
        mail.0,
        task.to_string(),
        to_json(from)?,
        to_json(delivery)?,
        to_json(body)?,
        MailState::Admitted.as_str(),
        at.0
    ])?;
    match (from, body.display_text()) {
        (Principal::User, Some(text)) => set_title(conn, *task, text)?,
        (Principal::User | Principal::Task { .. } | Principal::Runtime, Some(_) | None) => {}
    }
    tasks::change_unread(conn, *task, 1, *at)
}

/// Records that mail was delivered or has expired.
pub(crate) fn mark_moved(
    conn: &Connection,
    task: TaskId,
    mail: &[MailId],
    state: MailState,
    at: Timestamp,
) -> rusqlite::Result<()> {
    let mut moved = 0;
    for mail in mail {
        let changed = conn
            .prepare_cached("UPDATE bosun_mail SET state = ?2, moved_at = ?3 WHERE mail = ?1 AND moved_at IS NULL")?
            .execute(params![mail.0, state.as_str(), at.0])?;
        moved += i64::from(changed > 0);
    }
    tasks::change_unread(conn, task, -moved, at)
}

/// Sets the session's title from the user's first text to the root, which may be a fleet's goal.
pub(crate) fn set_title(conn: &Connection, task: TaskId, text: &str) -> rusqlite::Result<()> {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let title: String = line.chars().take(MAX_TITLE_CHARS).collect();
    conn.prepare_cached(
        "INSERT OR IGNORE INTO bosun_meta (key, value)
         SELECT 'title', ?2 FROM bosun_tasks WHERE id = ?1 AND parent IS NULL",
    )?
    .execute(params![task.to_string(), title])?;
    Ok(())
}

/// A task's first prompt, clipped.
pub(crate) fn first_prompt(conn: &Connection, task: &str) -> rusqlite::Result<Option<String>> {
    let first = conn
        .prepare_cached("SELECT body FROM bosun_mail WHERE task = ?1 ORDER BY mail LIMIT 1")?
        .query_row([task], |row| row.get::<_, String>(0))
        .optional()?;
    first.map(|body| from_json(&body).map(|body| mail_text(&body))).transpose()
}

/// The newest mail of a task, at most `limit`, oldest first, and how much there is in total.
pub(crate) fn newest_mail(conn: &Connection, task: TaskId, limit: u32) -> rusqlite::Result<(Vec<MailView>, u64)> {
    let id = task.to_string();
    let mut mail: Vec<MailView> = conn
        .prepare_cached("SELECT * FROM bosun_mail WHERE task = ?1 ORDER BY mail DESC LIMIT ?2")?
        .query_map(params![id, limit], mail_view)?
        .collect::<rusqlite::Result<_>>()?;
    mail.reverse();
    let total =
        conn.prepare_cached("SELECT count(*) FROM bosun_mail WHERE task = ?1")?.query_row([id], |row| row.get(0))?;
    Ok((mail, total))
}

fn mail_view(row: &Row<'_>) -> rusqlite::Result<MailView> {
    let body: MailBody = from_json(&row.get::<_, String>("body")?)?;
    let state: String = row.get("state")?;
    Ok(MailView {
        mail: MailId(row.get("mail")?),
        from: from_json(&row.get::<_, String>("sender")?)?,
        delivery: from_json(&row.get::<_, String>("delivery")?)?,
        text: mail_text(&body),
        admitted_at: Timestamp(row.get("at")?),
        // The column holds only valid states.
        state: from_json(&format!("\"{state}\""))?,
        moved_at: row.get::<_, Option<u64>>("moved_at")?.map(Timestamp),
    })
}

fn mail_text(body: &MailBody) -> String {
    match body {
        MailBody::Text { text, display, .. } => clip_middle(display.as_ref().unwrap_or(text), MAX_TEXT_BYTES),
        MailBody::Result { task, activation } => format!("the result of {task}, activation {}", activation.0),
    }
}

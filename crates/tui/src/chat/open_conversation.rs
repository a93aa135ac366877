//! An open session and its settings, and the welcome text.

use client::{SessionHandle, SessionQuery, StoreError};
use host::{Clock, SystemClock};
use protocol::{ContentBlock, Envelope, Event, PermissionMode, Principal, SessionMode, TaskId};

use super::owner::SlashCommands;
use super::text::{LinePrefix, StyledRow, StyledSpan, truncate, wrap};
use crate::escape::escape_invisible;
use crate::print;
use crate::style::TextRole;

/// How many sessions are listed.
const MAX_LISTED_SESSIONS: usize = 10;

/// How many events are read at a time to find the last exchange.
const EVENTS_PER_PAGE: u64 = 512;

/// An open session and its settings.
#[derive(Debug)]
pub struct OpenConversation {
    /// The session.
    pub session: SessionHandle,
    /// Its main agent.
    pub root: TaskId,
    /// Whether this process runs it.
    pub link: SessionLink,
    /// The last event that is not shown again.
    pub first_seq: u64,
    /// Notices for the user about its instruction files.
    pub notices: Vec<String>,
    /// Its slash commands.
    pub slash_commands: Box<dyn SlashCommands>,
    /// Its model.
    pub model: String,
    /// Its folder.
    pub cwd: String,
    /// Its permission mode.
    pub permission_mode: PermissionMode,
    /// The session mode at the time of opening.
    pub session_mode: SessionMode,
    /// How the session was left, if it is resumed.
    pub resumed: Option<String>,
}

/// How a conversation is connected to its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionLink {
    /// This process runs the session: leaving the conversation interrupts its work.
    Owned,
    /// Another process runs it: leaving the conversation changes nothing.
    Attached,
}

/// The welcome text: model, folder, mode and notices.
pub(super) fn welcome_rows(opened: &OpenConversation, columns: usize) -> Vec<StyledRow> {
    let rows = [
        ("model", escape_invisible(&protocol::model_display_name(&opened.model))),
        ("folder", escape_invisible(&opened.cwd)),
        ("mode", format!("{}: {}", opened.permission_mode, describe_mode(opened.permission_mode))),
    ];
    let mut shown = vec![vec![StyledSpan::new(TextRole::Strong, &format!("bosun {}", env!("CARGO_PKG_VERSION")))]];
    let mode_row = match opened.session_mode {
        SessionMode::Interactive => None,
        SessionMode::Plan => Some(("how", "in plan mode: nothing is changed until you approve a plan".to_owned())),
        SessionMode::Autopilot => Some(("how", "on autopilot: continues until the objective is met".to_owned())),
    };
    for (name, value) in rows.into_iter().chain(mode_row) {
        let lead = LinePrefix::hanging(StyledSpan::new(TextRole::Dim, &format!("{name:<7}")));
        shown.extend(wrap(&[StyledSpan::plain(&value)], columns, &lead));
    }
    for notice in &opened.notices {
        let text = escape_invisible(notice);
        shown.extend(wrap(
            &[StyledSpan::new(TextRole::Bad, &text)],
            columns,
            &LinePrefix::hanging(StyledSpan::new(TextRole::Bad, "! ")),
        ));
    }
    let hint = match opened.link {
        SessionLink::Owned => "/help shows what you can type; Ctrl-D leaves",
        SessionLink::Attached => "/help shows what you can type; Ctrl-D leaves, and the session continues",
    };
    shown.extend(wrap(&[StyledSpan::new(TextRole::Dim, hint)], columns, &LinePrefix::default()));
    shown
}

/// Describes what a permission mode allows.
pub(super) fn describe_mode(mode: PermissionMode) -> &'static str {
    match mode {
        PermissionMode::Default => "reading and read-only commands are allowed; all else asks you",
        PermissionMode::AcceptEdits => "reading and edits in this folder are allowed, everything else asks you",
        PermissionMode::Plan => "reading is allowed, edits and commands are not",
        PermissionMode::AllowAll => "everything is allowed that no rule asks about or denies",
    }
}

/// The current permission mode, and how to change to each of the others.
pub(super) fn mode_lines(current: PermissionMode) -> Vec<String> {
    let others = PermissionMode::ALL.into_iter().filter(|mode| *mode != current);
    let others = others.map(|mode| format!("/mode {mode}: {}", describe_mode(mode)));
    [format!("the mode is {current}: {}", describe_mode(current))].into_iter().chain(others).collect()
}

/// The other sessions of a session's folder, newest first.
pub(super) fn other_session_rows(opened: &OpenConversation, columns: usize) -> Result<Vec<StyledRow>, StoreError> {
    let (home, current) = (opened.session.home(), opened.session.id());
    let limit = u64::try_from(MAX_LISTED_SESSIONS).unwrap_or(u64::MAX).saturating_add(1);
    let query = SessionQuery { cwd: Some(opened.cwd.clone()), limit: Some(limit), ..SessionQuery::default() };
    let rows = client::sessions::list(home, &query)?.rows;
    let now = SystemClock.now();
    let mut shown = Vec::new();
    for row in rows.iter().filter(|row| row.id != current).take(MAX_LISTED_SESSIONS) {
        let title = escape_invisible(&print::one_line(&row.title, 100));
        let line = format!("{}  {:>4}  {title}", row.id, protocol::format_age(row.updated_at, now));
        shown.push(vec![StyledSpan::plain(&truncate(&line, columns.max(44)))]);
    }
    let text = match shown.is_empty() {
        true => "this folder has no other session",
        false => "resume one: /resume ID; the beginning of the ID is enough",
    };
    shown.extend(wrap(&[StyledSpan::new(TextRole::Dim, text)], columns, &LinePrefix::default()));
    Ok(shown)
}

/// Returns the last message of the user and the answer of the model.
pub(super) fn last_exchange(session: &SessionHandle, root: TaskId) -> Result<(String, String), StoreError> {
    let mut exchange = (String::new(), String::new());
    let mut end = session.view()?.events;
    while end > 0 && exchange.0.is_empty() {
        let start = end.saturating_sub(EVENTS_PER_PAGE);
        let page = session.events_after(start, usize::try_from(end - start).unwrap_or(usize::MAX))?;
        for envelope in page.iter().rev().filter(|envelope| envelope.entry.task == root) {
            collect_exchange(envelope, &mut exchange);
        }
        end = start;
    }
    Ok(exchange)
}

fn collect_exchange(envelope: &Envelope, (message, answer): &mut (String, String)) {
    match &envelope.entry.event {
        Event::MailAdmitted { from: Principal::User, body, .. } if message.is_empty() => {
            *message = body.display_text().unwrap_or_default().to_owned();
        }
        // Text before the last message is not an answer to it.
        Event::TurnAnswered { content, .. } if message.is_empty() && answer.is_empty() => {
            *answer = content.iter().filter_map(block_text).collect();
        }
        _other => {}
    }
}

fn block_text(block: &ContentBlock) -> Option<&str> {
    match block {
        ContentBlock::Text { text } => Some(text),
        ContentBlock::Thinking { .. } | ContentBlock::Call(_) | ContentBlock::Opaque { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mode_is_listed_once() {
        let lines = mode_lines(PermissionMode::Plan);
        assert!(lines[0].starts_with("the mode is plan: reading is allowed"), "{lines:?}");
        let others: Vec<&str> = lines[1..].iter().filter_map(|line| line.split(':').next()).collect();
        assert_eq!(others, ["/mode default", "/mode accept-edits", "/mode allow-all"]);
    }
}

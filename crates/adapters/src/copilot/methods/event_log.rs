//! `session.eventLog.*`: the session's events for clients that read them instead of listening.

use std::sync::Arc;
use std::time::Duration;

use rpc::ErrorObject;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::fields::required_text;
use super::{mcp, unhandled};
use crate::copilot::client_mcp_tokens::TOKEN_REQUIRED;
use crate::copilot::connection::CopilotConnection;
use crate::copilot::history;
use crate::copilot::hosted_session::HostedSession;

/// Maximum events of one page.
const MAX_PAGE_EVENTS: u64 = 1000;

/// How many events a page has by default.
const DEFAULT_PAGE_EVENTS: u64 = 200;

/// The longest wait for an event.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// How often the log of a session that another process runs is read while a client waits.
const REMOTE_PAUSE: Duration = Duration::from_millis(250);

pub(crate) async fn call(
    connection: &CopilotConnection,
    session: &Arc<HostedSession>,
    method: &str,
    params: Value,
) -> Result<Value, ErrorObject> {
    match method {
        "session.eventLog.read" => read(session, &params).await,
        "session.eventLog.tail" => Ok(json!({ "cursor": end(session).await?.to_text() })),
        // Every client receives all events; what changes is who runs queued commands and who supplies tokens.
        "session.eventLog.registerInterest" => {
            let event = required_text(&params, "eventType")?;
            let handle = session.features.commands.add_interest(event, connection.peer().connection_id());
            let handle = handle.ok_or_else(|| ErrorObject::internal("there are too many interests: release some"))?;
            if event == TOKEN_REQUIRED {
                session.tool_calls.mcp_tokens.add_interest();
                mcp::connect_with_tokens(session);
            }
            Ok(json!({ "handle": handle }))
        }
        "session.eventLog.releaseInterest" => {
            let event = session.features.commands.remove_interest(required_text(&params, "handle")?);
            if event.as_deref() == Some(TOKEN_REQUIRED) {
                session.tool_calls.mcp_tokens.release_interest();
            }
            Ok(json!({ "success": true }))
        }
        other => Err(unhandled(other)),
    }
}

/// A place in the events: so many of the history, and so many ephemeral ones, come before it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct EventCursor {
    recorded: usize,
    ephemeral: u64,
}

impl EventCursor {
    fn parse(text: &str) -> Option<EventCursor> {
        let (recorded, ephemeral) = text.split_once('.')?;
        Some(EventCursor { recorded: recorded.parse().ok()?, ephemeral: ephemeral.parse().ok()? })
    }

    fn to_text(self) -> String {
        format!("{}.{}", self.recorded, self.ephemeral)
    }
}

async fn end(session: &HostedSession) -> Result<EventCursor, ErrorObject> {
    let (_events, ephemeral) = session.client_events.ephemeral_after(u64::MAX);
    let recorded = history::recorded_events(session.home(), session.id()).await?.len();
    Ok(EventCursor { recorded, ephemeral })
}

/// One page of the events, and the events that arrive while the client waits if there are none.
async fn read(session: &HostedSession, params: &Value) -> Result<Value, ErrorObject> {
    let from = match params["cursor"].as_str() {
        // The history alone: ephemeral events are for those who were there.
        None => EventCursor { ephemeral: session.client_events.ephemeral_after(u64::MAX).1, ..EventCursor::default() },
        Some(text) => EventCursor::parse(text).ok_or_else(|| {
            ErrorObject::bad_params("`cursor` is not valid: use one that this method or `tail` returned")
        })?,
    };
    if params["direction"] == "backward" {
        return read_backward(session, from, params).await;
    }
    let wait = Duration::from_millis(params["waitMs"].as_u64().unwrap_or_default()).min(MAX_WAIT);
    let deadline = Instant::now() + wait;
    let (mut changes, mut at) = (session.changes(), from);
    loop {
        let page = EventPage::read(session, at, params).await?;
        if !page.events.is_empty() || page.has_more || Instant::now() >= deadline {
            return Ok(page.to_json());
        }
        at = page.next;
        if tokio::time::timeout_at(deadline, changes.changed(REMOTE_PAUSE)).await.is_err() {
            return Ok(EventPage { next: at, ..EventPage::default() }.to_json());
        }
    }
}

/// One page of the history before a cursor, or of its end; the cursor of the answer is before the page.
async fn read_backward(session: &HostedSession, from: EventCursor, params: &Value) -> Result<Value, ErrorObject> {
    let recorded = history::recorded_events(session.home(), session.id()).await?;
    let end = if params["cursor"].is_null() { recorded.len() } else { from.recorded.min(recorded.len()) };
    let start = end.saturating_sub(page_size(params));
    let page = recorded.into_iter().skip(start).take(end - start).filter(|event| is_wanted(event, params));
    let next = EventCursor { recorded: start, ..from };
    Ok(EventPage { events: page.collect(), next, has_more: start > 0, is_expired: false }.to_json())
}

fn page_size(params: &Value) -> usize {
    usize::try_from(params["max"].as_u64().unwrap_or(DEFAULT_PAGE_EVENTS).clamp(1, MAX_PAGE_EVENTS)).unwrap_or(1)
}

/// One page of events.
#[derive(Debug, Default)]
struct EventPage {
    events: Vec<Value>,
    next: EventCursor,
    has_more: bool,
    /// Whether the history is shorter than the cursor, because its end was removed.
    is_expired: bool,
}

impl EventPage {
    async fn read(session: &HostedSession, from: EventCursor, params: &Value) -> Result<EventPage, ErrorObject> {
        let recorded = history::recorded_events(session.home(), session.id()).await?;
        let max = page_size(params);
        let is_expired = from.recorded > recorded.len();
        let start = from.recorded.min(recorded.len());
        let next = start.saturating_add(max).min(recorded.len());
        let has_more = next < recorded.len();
        let has_ephemeral = params["includeEphemeral"] != false;
        let (ephemeral, count) = session.client_events.ephemeral_after(from.ephemeral);
        let of_page = recorded.into_iter().skip(start).take(max);
        // Ephemeral events come last, with the end of the history.
        let events = of_page
            .chain(ephemeral.into_iter().filter(|_| has_ephemeral && !has_more))
            .filter(|event| is_wanted(event, params));
        let ephemeral = if has_more { from.ephemeral } else { count };
        Ok(EventPage {
            events: events.collect(),
            next: EventCursor { recorded: next, ephemeral },
            has_more,
            is_expired,
        })
    }

    fn to_json(&self) -> Value {
        let status = if self.is_expired { "expired" } else { "ok" };
        json!({
            "events": self.events,
            "cursor": self.next.to_text(),
            "hasMore": self.has_more,
            "cursorStatus": status,
        })
    }
}

fn is_wanted(event: &Value, params: &Value) -> bool {
    let is_of_type = match &params["types"] {
        Value::Array(types) => types.contains(&event["type"]),
        _all => true,
    };
    let is_of_agent = match params["agentScope"].as_str() {
        Some("primary") => event["agentId"].is_null(),
        _all => true,
    };
    let is_of_agents = match &params["agentIds"] {
        Value::Array(agents) => agents.contains(&event["agentId"]),
        _all => true,
    };
    is_of_type && is_of_agent && is_of_agents
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_are_texts() {
        let cursor = EventCursor { recorded: 12, ephemeral: 3 };
        assert_eq!(EventCursor::parse(&cursor.to_text()), Some(cursor));
        for invalid in ["", "12", "a.b", "-1.0", "1.2.3"] {
            assert_eq!(EventCursor::parse(invalid), None, "{invalid}");
        }
    }

    #[test]
    fn events_are_filtered_by_type_and_agent() {
        let (own, other) = (json!({ "type": "a" }), json!({ "type": "b", "agentId": "x" }));
        let wanted = |params: Value| [&own, &other].map(|event| is_wanted(event, &params));
        assert_eq!(wanted(json!({})), [true, true]);
        assert_eq!(wanted(json!({ "types": "*" })), [true, true]);
        assert_eq!(wanted(json!({ "types": ["b"] })), [false, true]);
        assert_eq!(wanted(json!({ "agentScope": "primary" })), [true, false]);
    }
}

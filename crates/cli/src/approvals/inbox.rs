//! Asks of all sessions, read from the session files.

use std::collections::BTreeSet;
use std::time::Duration;

use client::asks::{self, AskFilter};
use client::{SessionQuery, sessions};
use host::{Clock, Home, SystemClock};
use protocol::api::{AllAsksResult, AskState, SessionAskView, UnreadableSession};
use protocol::{AskId, SessionId, Timestamp};
use tui::escape::escape_invisible;
use tui::{print, time};

use crate::error::CliError;
use crate::{fleet, run};

/// A user may still mean the number of an ask that was decided within this time.
const RECENTLY_DECIDED: Duration = Duration::from_secs(600);

/// Finds asks in all sessions.
#[derive(Debug)]
pub(super) struct ApprovalInbox<'a> {
    home: &'a Home,
}

impl ApprovalInbox<'_> {
    pub(super) fn new(home: &Home) -> ApprovalInbox<'_> {
        ApprovalInbox { home }
    }

    /// Returns open asks, oldest first: of one session, or of all unsettled sessions.
    pub(super) fn pending(&self, session: Option<&str>) -> Result<Vec<SessionAskView>, CliError> {
        let sessions = match session {
            Some(prefix) => vec![run::find_session(self.home, prefix)?],
            None => self.unsettled_sessions()?,
        };
        Ok(self.collect_asks(&sessions, AskFilter::Open))
    }

    /// Finds an ask in any state by its number or the beginning of its id.
    pub(super) fn find(&self, name: &str) -> Result<SessionAskView, CliError> {
        let unsettled = self.unsettled_sessions()?;
        let open = self.collect_asks(&unsettled, AskFilter::Open);
        let numbered = asks_with_number(&open, name);
        if !numbered.is_empty() {
            let all = self.collect_asks(&unsettled, AskFilter::All);
            return resolve_ask_number(numbered, &all, SystemClock.now());
        }
        let with_id_prefix = |asks: Vec<SessionAskView>| -> Vec<SessionAskView> {
            asks.into_iter().filter(|pending| has_id_prefix(&pending.view.ask.id, name)).collect()
        };
        let mut matching = with_id_prefix(open);
        if matching.is_empty() {
            let all = self.collect_asks(&unsettled, AskFilter::All);
            matching = asks_with_number(&all, name);
            if matching.is_empty() {
                matching = with_id_prefix(all);
            }
        }
        if matching.is_empty() {
            // It may have been decided in a session that is settled by now.
            matching = with_id_prefix(self.collect_asks(&self.all_sessions()?, AskFilter::All));
        }
        match (matching.pop(), matching.is_empty()) {
            (Some(pending), true) => Ok(pending),
            (Some(pending), false) => {
                let ids: Vec<&str> =
                    matching.iter().chain([&pending]).map(|pending| pending.view.ask.id.0.as_str()).collect();
                let ids = ids[..ids.len().min(5)].join(", ");
                Err(CliError::usage(format!("several requests begin with `{}`: {ids}", print::sanitize(name)))
                    .with_hint("give more of the id"))
            }
            (None, _) => Err(unknown_ask(name, &self.collect_asks(&unsettled, AskFilter::Open))),
        }
    }

    /// Finds an ask that can still be decided.
    pub(super) fn find_open(&self, prefix: &str) -> Result<SessionAskView, CliError> {
        let pending = self.find(prefix)?;
        let id = pending.view.ask.id.short();
        match (&pending.view.state, &pending.queued_decision) {
            (AskState::Open, None) => Ok(pending),
            (AskState::Open, Some(decision)) => {
                Err(CliError::usage(format!("{id} is already {}, and waits for its session", decision.as_str()))
                    .with_hint(format!("resume with: {}", self.resume_command(&pending))))
            }
            (state @ (AskState::Decided { .. } | AskState::Withdrawn), _) => {
                Err(CliError::usage(format!("{id} {}", describe_ask_state(state)))
                    .with_hint("`bosun approvals` lists what waits for you"))
            }
        }
    }

    /// The command that resumes the session of an ask.
    pub(super) fn resume_command(&self, pending: &SessionAskView) -> String {
        fleet::resume_command(self.home, pending.view.session)
    }

    /// Finds the asks with these numbers and prefixes, each once; fails if one of them is wrong.
    pub(super) fn find_all_open(&self, prefixes: &[String]) -> Result<Vec<SessionAskView>, CliError> {
        let mut seen = BTreeSet::new();
        let asks = prefixes.iter().map(|prefix| self.find_open(prefix)).collect::<Result<Vec<_>, CliError>>()?;
        Ok(asks.into_iter().filter(|pending| seen.insert(pending.view.ask.id.clone())).collect())
    }

    fn unsettled_sessions(&self) -> Result<Vec<SessionId>, CliError> {
        Ok(sessions::possibly_waiting(self.home)?)
    }

    fn all_sessions(&self) -> Result<Vec<SessionId>, CliError> {
        let rows = sessions::list(self.home, &SessionQuery::default())?.rows;
        Ok(rows.into_iter().map(|row| row.id).collect())
    }

    /// Returns the asks of these sessions, oldest first. An unreadable session is reported and skipped.
    fn collect_asks(&self, sessions: &[SessionId], filter: AskFilter) -> Vec<SessionAskView> {
        let AllAsksResult { asks, unreadable } = asks::of_sessions(self.home, sessions, filter);
        for UnreadableSession { session, why } in unreadable {
            print::note(format_args!("{session} cannot be read: {why}"));
        }
        asks
    }
}

/// Describes the state of an ask.
pub(super) fn describe_ask_state(state: &AskState) -> String {
    let local_time = |at: &Timestamp| time::format_local(*at, SystemClock.now());
    match state {
        AskState::Open => "is open".into(),
        AskState::Decided { decision, by: protocol::DecidedBy::User, at } => {
            format!("was {} at {}", decision.as_str(), local_time(at))
        }
        AskState::Decided { by: protocol::DecidedBy::Deadline, at, .. } => {
            format!("was denied at {}: no decision in time", local_time(at))
        }
        AskState::Withdrawn => "was withdrawn: its call ended without a decision".into(),
    }
}

/// Returns the asks with this number in their session.
fn asks_with_number(asks: &[SessionAskView], name: &str) -> Vec<SessionAskView> {
    let number = name.parse::<u64>().ok().filter(|_| name.bytes().all(|byte| byte.is_ascii_digit()));
    asks.iter().filter(|pending| Some(pending.view.number) == number).cloned().collect()
}

/// Returns the open ask with a number, unless the number is ambiguous: each session numbers its own asks, and the user
/// may mean one that was decided a moment ago.
fn resolve_ask_number(
    mut open: Vec<SessionAskView>,
    all: &[SessionAskView],
    now: Timestamp,
) -> Result<SessionAskView, CliError> {
    let Some(first) = open.pop() else { return Err(CliError::usage("there is no request with this number")) };
    let is_recent = |at: Timestamp| now.since(at) < RECENTLY_DECIDED;
    let may_be_meant = |state: &AskState, asked_at: Timestamp| match state {
        AskState::Open => true,
        AskState::Decided { at, .. } => is_recent(*at),
        AskState::Withdrawn => is_recent(asked_at),
    };
    let number = first.view.number;
    let others = all.iter().filter(|other| {
        let view = &other.view;
        view.number == number && view.session != first.view.session && may_be_meant(&view.state, view.asked_at)
    });
    let others: Vec<&SessionAskView> = others.collect();
    if others.is_empty() {
        return Ok(first);
    }
    let describe = |pending: &&SessionAskView| {
        let suffix = match pending.view.state {
            AskState::Open => String::new(),
            AskState::Decided { .. } | AskState::Withdrawn => " (no longer open)".into(),
        };
        let title = escape_invisible(&print::one_line(&pending.title, 36));
        format!("{}{suffix} in {}: {title}", pending.view.ask.id.short(), pending.view.session)
    };
    let all: Vec<String> = [&first].iter().chain(&others).take(5).map(describe).collect();
    Err(CliError::usage(format!("several sessions have a request with the number {number}:\n  {}", all.join("\n  ")))
        .with_hint(format!("use the id instead, such as {}", first.view.ask.id.short())))
}

/// The error for a number or id that no ask has.
fn unknown_ask(name: &str, open: &[SessionAskView]) -> CliError {
    let message = format!("there is no request `{}`", print::sanitize(name));
    match open.iter().any(|pending| pending.queued_decision.is_none()) {
        true => CliError::usage(message).with_hint("`bosun approvals` lists what waits for you"),
        false => CliError::usage(format!("{message}; nothing waits for your decision")),
    }
}

fn has_id_prefix(id: &AskId, prefix: &str) -> bool {
    !prefix.is_empty() && id.0.starts_with(&prefix.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use protocol::api::AskView;
    use protocol::{Ask, AskDecision, AskSubject, CallId, DecidedBy, TaskId};

    use super::*;

    fn ask(session: u128, number: u64, state: AskState) -> SessionAskView {
        let subject = AskSubject::Question { question: "Which?".into(), choices: Vec::new() };
        let ask = Ask {
            id: AskId(format!("{session}{number}abcdef012345")),
            call: CallId("c".into()),
            subject,
            until_at: None,
        };
        let (session, task) = (SessionId::new(uuid::Uuid::from_u128(session)), TaskId::new(uuid::Uuid::nil()));
        let view = AskView { session, number, task, path: "/root".into(), asked_at: Timestamp(1_000), ask, state };
        SessionAskView { view, cwd: "/".into(), title: "a title".into(), owner_pid: None, queued_decision: None }
    }

    fn decided(at: u64) -> AskState {
        let decision = AskDecision::Deny { message: String::new() };
        AskState::Decided { decision, by: DecidedBy::User, at: Timestamp(at) }
    }

    fn resolve(all: &[SessionAskView], name: &str, now: u64) -> Result<AskId, String> {
        let open: Vec<SessionAskView> = all.iter().filter(|ask| ask.view.state == AskState::Open).cloned().collect();
        let resolved = resolve_ask_number(asks_with_number(&open, name), all, Timestamp(now));
        resolved.map(|pending| pending.view.ask.id).map_err(|failure| failure.to_string())
    }

    /// Ids of twelve digits are too long to type.
    #[test]
    fn ask_number_is_accepted_unless_ambiguous() {
        let one = [ask(1, 1, decided(0)), ask(1, 2, AskState::Open), ask(1, 3, AskState::Open)];
        assert_eq!(resolve(&one, "2", 0), Ok(AskId("12abcdef012345".into())));
        assert!(
            asks_with_number(&one, "02a").is_empty()
                && asks_with_number(&one, "+2").is_empty()
                && asks_with_number(&one, "").is_empty()
        );
        let two = [one.as_slice(), &[ask(2, 2, AskState::Open)]].concat();
        let error = resolve(&two, "2", 0).unwrap_err();
        for part in [
            "several sessions have a request with the number 2",
            "12abcdef0123 in ses-",
            "22abcdef0123 in ses-",
            ": a title",
        ] {
            assert!(error.contains(part), "{part}: {error}");
        }
    }

    #[test]
    fn unknown_number_is_named_and_the_list_is_suggested_only_if_something_waits() {
        let error = |open: &[SessionAskView]| unknown_ask("7", open).into_message_and_hint();
        let nothing = ("there is no request `7`; nothing waits for your decision".to_owned(), None);
        assert_eq!(error(&[]), nothing);
        let queued = Some(AskDecision::Deny { message: String::new() });
        assert_eq!(error(&[SessionAskView { queued_decision: queued, ..ask(1, 1, AskState::Open) }]), nothing);
        let (message, hint) = error(&[ask(1, 1, AskState::Open)]);
        assert_eq!(message, "there is no request `7`");
        assert!(hint.is_some_and(|hint| hint.contains("`bosun approvals` lists")));
    }

    #[test]
    fn number_of_a_recently_decided_ask_is_ambiguous() {
        let all = [ask(1, 2, decided(5_000)), ask(2, 2, AskState::Open)];
        assert!(resolve(&all, "2", 6_000).unwrap_err().contains("(no longer open)"));
        assert_eq!(resolve(&all, "2", 5_000 + 600_000), Ok(AskId("22abcdef012345".into())));
    }
}

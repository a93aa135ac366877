//! Sessions to talk to: how one is opened, and what is said about it first.

use std::sync::Arc;

use host::{Clock, Home, SystemClock};
use net::Secret;
use protocol::{Block, Envelope, Event, Origin, PermissionMode, SessionId, SessionMode, TaskId};
use runtime::slash::Registry;
use runtime::{Session, Settings, Start};
use store::{Index, Reader, SessionsWanted, StoreError};

use super::text::{Lead, Row, Span, fit, wrap};
use crate::args::{AskWait, PermitArgs, RunArgs};
use crate::exact::exact;
use crate::failure::Failure;
use crate::setup::Setup;
use crate::style::Role;
use crate::{current, print, sessions, time};

/// How many sessions are listed.
const LISTED: usize = 10;

/// How many events are looked through at a time for the last exchange.
const PAGE: u64 = 512;

/// A session that can be opened: everything that may go wrong before has gone well.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) settings: Settings,
    pub(super) start: Start,
}

impl Prepared {
    /// Reads what the session is to be run with. `mode` is stronger than flags and what the session had.
    pub(super) fn new(
        setup: &Setup,
        args: &RunArgs,
        start: Start,
        mode: Option<PermissionMode>,
    ) -> Result<Prepared, Failure> {
        let before = match start {
            Start::New => None,
            Start::Resume(id) | Start::Fork(id) => Some(Reader::open(&setup.home, id)?.session_view()?),
        };
        // Somebody is there to decide, however long that takes.
        let mut args = RunArgs { ask_wait: Some(AskWait::ForEver), ..args.clone() };
        if let Some(mode) = mode {
            args.permit = PermitArgs { allow_all: false, permission_mode: Some(mode), ..args.permit };
        }
        Ok(Prepared { settings: setup.settings(&args, before.as_ref())?, start })
    }

    pub(super) async fn open(self) -> Result<Opened, Failure> {
        let Prepared { settings, start } = self;
        let (model, mode, secrets) = (settings.model_spec.clone(), settings.policy.mode, Arc::clone(&settings.secrets));
        let (cwd, slashes) = (settings.cwd.display().to_string(), Registry::of(&settings.catalog));
        let session = Session::open(settings, start).await?;
        current::set(session.id());
        let steering = session.mode().await?;
        Ok(Opened { session, slashes, start, model, cwd, mode, steering, secrets })
    }
}

/// A session that was opened, and what it is run with.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) session: Session,
    /// The slash commands it has.
    pub(super) slashes: Registry,
    pub(super) start: Start,
    pub(super) model: String,
    pub(super) cwd: String,
    pub(super) mode: PermissionMode,
    /// How far the session's own agent went by itself when it was opened.
    pub(super) steering: SessionMode,
    /// What must not be kept.
    pub(super) secrets: Arc<[Secret]>,
}

/// Fails if another process runs the session.
pub(super) fn expect_free(home: &Home, id: SessionId) -> Result<(), Failure> {
    let reader = Reader::open(home, id)?;
    if sessions::is_live(&reader)? {
        let pid = reader.session_view()?.owner_pid.map_or_else(String::new, |pid| format!(" ({pid})"));
        return Err(Failure::usage(format!("another process{pid} runs session {id}")));
    }
    Ok(())
}

/// What a person should know before the first word.
pub(super) fn greeting(opened: &Opened, columns: usize) -> Vec<Row> {
    let rows = [
        ("model", exact(&opened.model)),
        ("folder", exact(&opened.cwd)),
        ("mode", format!("{}: {}", opened.mode, about(opened.mode))),
    ];
    let mut shown = vec![vec![Span::new(Role::Strong, &format!("bosun {}", env!("CARGO_PKG_VERSION")))]];
    let steering = match opened.steering {
        SessionMode::Interactive => None,
        SessionMode::Plan => Some(("how", "in plan mode: nothing is changed until you approve a plan".to_owned())),
        SessionMode::Autopilot => Some(("how", "on autopilot: it goes on until the objective is met".to_owned())),
    };
    for (name, value) in rows.into_iter().chain(steering) {
        let lead = Lead::hanging(Span::new(Role::Dim, &format!("{name:<7}")));
        shown.extend(wrap(&[Span::plain(&value)], columns, &lead));
    }
    for notice in opened.session.notices() {
        let words = exact(&format!("{}: {}", notice.path.display(), notice.text));
        shown.extend(wrap(&[Span::new(Role::Bad, &words)], columns, &Lead::hanging(Span::new(Role::Bad, "! "))));
    }
    let hint = "/help shows what you can type; Ctrl-D leaves";
    shown.extend(wrap(&[Span::new(Role::Dim, hint)], columns, &Lead::default()));
    shown
}

/// What a mode allows.
pub(super) fn about(mode: PermissionMode) -> &'static str {
    match mode {
        PermissionMode::Default => "looking is allowed, everything else asks you",
        PermissionMode::AcceptEdits => "looking and edits in this folder are allowed, everything else asks you",
        PermissionMode::Plan => "looking is allowed, edits and commands are not",
        PermissionMode::AllowAll => "everything is allowed that no rule asks about or denies",
    }
}

/// The other sessions of a session's folder, newest first.
pub(super) fn listed(opened: &Opened, columns: usize) -> Result<Vec<Row>, Failure> {
    let (home, current) = (opened.session.home(), opened.session.id());
    let limit = u64::try_from(LISTED).unwrap_or(u64::MAX).saturating_add(1);
    let wanted = SessionsWanted { cwd: Some(opened.cwd.clone()), limit: Some(limit), ..SessionsWanted::default() };
    let rows = Index::open(home)?.agree(home)?.page(home, &wanted)?.rows;
    let now = SystemClock.now();
    let mut shown = Vec::new();
    for row in rows.iter().filter(|row| row.id != current).take(LISTED) {
        let title = exact(&print::one_line(&row.title, 100));
        let line = format!("{}  {:>4}  {title}", row.id, time::ago(row.updated_at, now));
        shown.push(vec![Span::plain(&fit(&line, columns.max(44)))]);
    }
    let words = match shown.is_empty() {
        true => "no other session was begun in this folder",
        false => "go on with one: /resume ID, of which the beginning is enough",
    };
    shown.extend(wrap(&[Span::new(Role::Dim, words)], columns, &Lead::default()));
    Ok(shown)
}

/// What the person and the model last said to each other.
pub(super) fn last_exchange(home: &Home, id: SessionId, root: TaskId) -> Result<(String, String), StoreError> {
    let reader = Reader::open(home, id)?;
    let mut exchange = (String::new(), String::new());
    let mut end = reader.session_view()?.events;
    while end > 0 && exchange.0.is_empty() {
        let start = end.saturating_sub(PAGE);
        let page = reader.events_after(start, usize::try_from(end - start).unwrap_or(usize::MAX))?;
        for envelope in page.iter().rev().filter(|envelope| envelope.entry.task == root) {
            take(envelope, &mut exchange);
        }
        end = start;
    }
    Ok(exchange)
}

fn take(envelope: &Envelope, (asked, answered): &mut (String, String)) {
    match &envelope.entry.event {
        Event::MailAdmitted { from: Origin::User, body, .. } if asked.is_empty() => {
            *asked = body.shown().unwrap_or_default().to_owned();
        }
        // What was said before the last question is no answer to it.
        Event::TurnAnswered { content, .. } if asked.is_empty() && answered.is_empty() => {
            *answered = content.iter().filter_map(said).collect();
        }
        _other => {}
    }
}

fn said(block: &Block) -> Option<&str> {
    match block {
        Block::Text { text } => Some(text),
        Block::Thinking { .. } | Block::Call(_) | Block::Opaque { .. } => None,
    }
}

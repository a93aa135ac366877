//! Projections: the current state of the log as rows for views. Each event updates them in the transaction that appends
//! it, so a view never disagrees with the log.

use protocol::api::{CancelView, MailState};
use protocol::{Cost, Event, LogEntry, SessionConfig, SessionId, TaskState, Timestamp, Usage};
use rusqlite::{Connection, OptionalExtension};

use crate::error::unreadable;
use crate::event::to_json;
use crate::mail::AdmittedMail;
use crate::turn_rows::RequestUsage;
use crate::{asks, mail, tasks, todos, turn_rows};

/// Brings the projections up to date with one event.
pub(crate) fn project(conn: &Connection, entry: &LogEntry) -> rusqlite::Result<()> {
    let LogEntry { task, at, event } = entry;
    let (task, at) = (*task, *at);
    match event {
        Event::SessionOpened(config) => open_session(conn, config, at),
        Event::SessionAdopted { config, .. } => {
            set_config(conn, config)?;
            tasks::set_session_model(conn, &config.model)?;
            tasks::touch(conn, task, at)
        }
        Event::SessionForked { from } => fork_session(conn, *from, at).and_then(|()| tasks::touch(conn, task, at)),
        Event::TaskCreated(spec) => tasks::create(conn, task, spec, at),
        Event::TaskPromoted => tasks::promote(conn, task, at),
        Event::TaskParked { until_at, why } => {
            tasks::set_state(conn, task, &TaskState::Parked { until_at: *until_at, why: *why }, at)
        }
        Event::TaskInterrupted => tasks::set_state(conn, task, &TaskState::Interrupted, at),
        Event::TaskRequeued => tasks::set_state(conn, task, &TaskState::Queued, at),
        Event::TaskFinished { outcome } => tasks::finish(conn, task, outcome, at),
        Event::CancelRequested { by, how, until_at } => {
            tasks::cancel(conn, task, &CancelView { by: *by, how: *how, until_at: *until_at }, at)
        }
        Event::TaskStalled { since_at } => tasks::stall(conn, task, Some(*since_at), at),
        Event::TaskUnstalled => tasks::stall(conn, task, None, at),
        Event::TaskForgotten => tasks::forget(conn, task, at),
        Event::ActivationStarted { activation, attempt } => {
            tasks::start_activation(conn, task, *activation, *attempt, at)
        }
        Event::ActivationEnded { outcome, text, .. } => tasks::end_activation(conn, task, outcome, text, at),
        Event::MailAdmitted { mail, from, delivery, body } => {
            mail::admit(conn, &AdmittedMail { mail: *mail, task, from, delivery: *delivery, body, at })
        }
        Event::MailDelivered { mail } => mail::mark_moved(conn, task, mail, MailState::Delivered, at),
        Event::MailExpired { mail } => mail::mark_moved(conn, task, &[*mail], MailState::Expired, at),
        Event::TurnBegun { turn, model, price, .. } => {
            turn_rows::begin_turn(conn, task, *turn, model, *price, at).and_then(|()| tasks::touch(conn, task, at))
        }
        Event::TurnAnswered { turn, usage, cost, model, .. } => {
            // If the provider does not report usage, the whole cost is an estimate.
            let lost = if usage.total() == 0 { *cost } else { Cost::ZERO };
            let request_usage = RequestUsage { reported_model: Some(model), usage: *usage, cost: *cost, lost };
            turn_rows::add_request(conn, task, *turn, &request_usage, at)
        }
        Event::TurnFailed { turn, cost, .. } => {
            let request_usage =
                RequestUsage { reported_model: None, usage: Usage::default(), cost: *cost, lost: *cost };
            turn_rows::add_request(conn, task, *turn, &request_usage, at)
        }
        Event::AskOpened(ask) => asks::open(conn, task, ask, at).and_then(|()| tasks::touch(conn, task, at)),
        Event::AskDecided { ask, decision, by, .. } => {
            asks::decide(conn, ask, decision, *by, at).and_then(|()| tasks::touch(conn, task, at))
        }
        Event::CallAnswered { call, evidence, .. } => {
            asks::withdraw(conn, task, call).and_then(|()| tasks::count_evidence(conn, task, evidence, at))
        }
        Event::CallProgressed { tool, progress, .. } => tasks::report_progress(conn, task, tool, progress, at),
        Event::IntentReported { intent } => tasks::report_intent(conn, task, intent, at),
        Event::TodosChanged { .. }
        | Event::TodoClaimed { .. }
        | Event::TodoReturned { .. }
        | Event::TodoDone { .. }
        | Event::TodoBlocked { .. }
        | Event::TodoUnblocked { .. }
        | Event::FleetBegan(_)
        | Event::FleetEnded { .. } => todos::project(conn, entry).and_then(|()| tasks::touch(conn, task, at)),
        Event::ModeChanged { mode, .. } => {
            set_meta(conn, "mode", &to_json(mode)?).and_then(|()| tasks::touch(conn, task, at))
        }
        Event::ModelChanged { model, effort, .. } => {
            set_meta(conn, "model", model)?;
            if effort.is_some() {
                set_meta(conn, "effort", &to_json(effort)?)?;
            }
            tasks::set_session_model(conn, model)?;
            tasks::set_root_model(conn, task, model)?;
            tasks::touch(conn, task, at)
        }
        Event::SessionTitled { title } => set_meta(conn, "title", title).and_then(|()| tasks::touch(conn, task, at)),
        Event::AgentSelected { agent, model, .. } => tasks::select_agent(conn, task, agent, model.as_ref(), at),
        Event::ExternalTaskReported { report } => tasks::report_external(conn, task, report, at),
        Event::McpTaskReported { report } => tasks::report_mcp(conn, task, report, at),
        Event::AutopilotContinued { .. }
        | Event::AutopilotStopped { .. }
        | Event::McpServerToggled { .. }
        | Event::WakeDelayed { .. }
        | Event::AdmissionClosed
        | Event::AdmissionOpened
        | Event::SlotRegained
        | Event::CallStarted { .. }
        | Event::WaitBegan { .. }
        | Event::WaitEnded { .. }
        | Event::ModelDiffered { .. }
        | Event::BudgetLow { .. }
        | Event::BudgetAwaited
        | Event::TurnReservationRaised { .. }
        | Event::WrapUpBegan { .. }
        | Event::Compacted(_)
        | Event::ConversationCut { .. }
        | Event::AgentDefined { .. }
        | Event::StartHooksRan { .. }
        | Event::StopHooksRan { .. }
        | Event::StopBlocked { .. }
        | Event::CallRewritten { .. }
        | Event::ToolsLoaded { .. }
        | Event::PromptSuggested { .. }
        | Event::ItemChanged { .. }
        | Event::WorkCheckedOut { .. }
        | Event::WorkSealed { .. }
        | Event::WorkMerged { .. }
        | Event::FleetMerged(_)
        | Event::Unknown => tasks::touch(conn, task, at),
    }
}

/// Reads one of the session's properties.
pub(crate) fn meta(conn: &Connection, key: &str) -> rusqlite::Result<Option<String>> {
    conn.prepare_cached("SELECT value FROM bosun_meta WHERE key = ?1")?.query_row([key], |row| row.get(0)).optional()
}

fn set_meta(conn: &Connection, key: &str, value: &str) -> rusqlite::Result<()> {
    conn.prepare_cached("INSERT OR REPLACE INTO bosun_meta (key, value) VALUES (?1, ?2)")?.execute([key, value])?;
    Ok(())
}

fn open_session(conn: &Connection, config: &SessionConfig, at: Timestamp) -> rusqlite::Result<()> {
    set_config(conn, config)?;
    set_meta(conn, "created_at", &at.0.to_string())
}

fn set_config(conn: &Connection, config: &SessionConfig) -> rusqlite::Result<()> {
    set_meta(conn, "cwd", &config.cwd)?;
    set_meta(conn, "model", &config.model)?;
    set_meta(conn, "permission", &to_json(&config.permission)?)?;
    set_meta(conn, "rules", &to_json(&config.rules)?)?;
    set_meta(conn, "roots", &to_json(&config.roots)?)?;
    set_meta(conn, "ask_user", &to_json(&config.ask_user)?)?;
    set_meta(conn, "max_turns", &to_json(&config.max_turns)?)?;
    set_meta(conn, "limits", &to_json(&config.limits)?)?;
    set_meta(conn, "budget", &to_json(&config.budget)?)?;
    set_meta(conn, "effort", &to_json(&config.effort)?)?;
    set_meta(conn, "list", &to_json(&config.list)?)?;
    set_meta(conn, "version", &config.version)
}

/// Marks the file as a fork, until its log has the event that says so.
pub(crate) fn begin_fork(conn: &Connection, from: SessionId) -> rusqlite::Result<()> {
    set_meta(conn, "forking_from", &from.to_string())
}

/// The session that the file is a fork of, until its log has the event that says so.
pub(crate) fn pending_fork(conn: &Connection) -> rusqlite::Result<Option<SessionId>> {
    meta(conn, "forking_from")?.map(|from| from.parse().map_err(unreadable)).transpose()
}

fn fork_session(conn: &Connection, from: SessionId, at: Timestamp) -> rusqlite::Result<()> {
    conn.prepare_cached("DELETE FROM bosun_meta WHERE key = 'forking_from'")?.execute([])?;
    set_meta(conn, "forked_from", &from.to_string())?;
    set_meta(conn, "created_at", &at.0.to_string())
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use protocol::{
        Ask, AskDecision, AskId, AskSubject, CallId, ContentBlock, DecidedBy, MailBody, MailDelivery, MailId,
        Principal, QuotedTokens, StopReason, TaskId, TaskSpec, TaskType, ToolCallRequest, ToolResult, ToolResultStatus,
        Turn,
    };

    use super::*;
    use crate::event;
    use crate::log_digest::LogDigest;
    use crate::schema::SESSION;

    fn task(n: u128) -> TaskId {
        TaskId::new(uuid::Uuid::from_u128(n))
    }

    /// The events of a turn of a task: mail, a model request, its answer with a call that asks a person a question, and
    /// the call's answer.
    fn turn(task: TaskId, n: u32) -> Vec<LogEntry> {
        let call = CallId(format!("call-{n}"));
        let body = MailBody::text("go on");
        let usage = Usage { input: 1, ..Usage::default() };
        let call_block =
            ContentBlock::Call(ToolCallRequest { id: call.clone(), tool: "view".into(), input: "{}".into() });
        let (ask, mail) = (AskId(format!("ask-{task}-{n}")), MailId(u64::from(n)));
        let subject = AskSubject::Question { question: "may I?".into(), choices: Vec::new() };
        let opened_ask = Ask { id: ask.clone(), call: call.clone(), subject, until_at: None };
        let decision = AskDecision::Reply { text: "yes".into() };
        let model = || "script/m".to_owned();
        let answer = ToolResult { status: ToolResultStatus::Done, text: "it is there".into() };
        let events = [
            Event::MailAdmitted { mail, from: Principal::User, delivery: MailDelivery::Steer, body },
            Event::MailDelivered { mail: vec![mail] },
            Event::TurnBegun {
                turn: Turn(n),
                model: model(),
                reserved: Cost::ZERO,
                price: None,
                max_output: None,
                quoted: QuotedTokens::default(),
            },
            Event::TurnAnswered {
                turn: Turn(n),
                content: vec![call_block],
                stop: StopReason::Calls,
                usage,
                cost: Cost::ZERO,
                model: model(),
            },
            Event::AskOpened(opened_ask),
            Event::AskDecided { ask, call: call.clone(), decision, by: DecidedBy::User },
            Event::CallStarted { call: call.clone() },
            Event::CallAnswered { call, answer, evidence: Vec::new() },
        ];
        events.into_iter().map(|event| LogEntry { task, at: Timestamp(u64::from(n)), event }).collect()
    }

    /// No statement of a turn scans the rows of earlier turns, other tasks or old mail: it takes as many database steps
    /// after thousands of them as after a few.
    #[test]
    fn the_database_steps_of_a_turn_do_not_grow_with_the_log() {
        let mut conn = Connection::open_in_memory().unwrap();
        SESSION.migrate(&mut conn, Path::new("x.db")).unwrap();
        let steps = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&steps);
        let count_step = move || {
            count.fetch_add(1, Ordering::Relaxed);
            false
        };
        conn.progress_handler(1, Some(count_step)).unwrap();
        let create = |id: TaskId, name: &str, parent: Option<TaskId>| {
            let kind = if name == "root" { TaskType::Main } else { TaskType::Agent };
            let spec = TaskSpec { parent, ..TaskSpec::new(kind, "general", name) };
            LogEntry { task: id, at: Timestamp(0), event: Event::TaskCreated(Box::new(spec)) }
        };
        let mut log_digest = LogDigest::EMPTY;
        let mut write = |entries: Vec<LogEntry>| {
            let before = steps.load(Ordering::Relaxed);
            for entry in entries {
                log_digest = event::insert(&conn, log_digest, &entry).unwrap();
                project(&conn, &entry).unwrap();
            }
            event::task_events(&conn, SessionId::new(task(1).uuid()), task(1), log_digest.seq - 1).unwrap();
            steps.load(Ordering::Relaxed) - before
        };
        write(vec![create(task(1), "root", None)]);
        let early: Vec<u64> = (1..=20).map(|n| write(turn(task(1), n))).collect();
        for n in 2..=500 {
            write(vec![create(task(n), &format!("w{n}"), Some(task(1)))]);
        }
        for n in 21..=3_000 {
            write(turn(task(1), n));
        }
        let late = write(turn(task(1), 3_001));
        let most = early.iter().max().copied().unwrap();
        // Scanning any table would take hundreds of steps more; the count varies only by a few.
        assert!(late < most + 50, "{late} steps after 3,000 turns, at most {most} in the first 20");
    }
}

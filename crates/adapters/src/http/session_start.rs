//! Beginning, resuming and copying sessions: what a client wants, in the words of the command line.

use std::path::PathBuf;
use std::sync::Arc;

use hyper::StatusCode;
use protocol::api::{Method, SendParams, SessionView};
use protocol::{MailDelivery, ReasoningEffort, SessionMode};
use rpc::RpcClient;
use runtime::SessionStart;
use serde_json::json;

use super::HttpLimits;
use super::payloads::SessionOptions;
use super::problem::HttpProblem;
use super::running_sessions::RunningSessions;
use super::session_access::{SessionAccess, call};
use crate::OpenRequest;
use crate::flags::RunFlags;

/// Opens a session here, says its first words, and tells what it is then.
pub(super) async fn start_session(
    hall: &Arc<RunningSessions>,
    start: SessionStart,
    wanted: SessionOptions,
    limits: &HttpLimits,
) -> Result<SessionView, HttpProblem> {
    let prompt = wanted.prompt.clone();
    if let Some((client, _notifications)) = running_session(hall, start).await? {
        return send_first_prompt(&client, prompt, limits).await;
    }
    let (id, (client, _notifications)) = hall.open(open_request(start, wanted)?).await?;
    let begun = send_first_prompt(&client, prompt, limits).await;
    if begun.is_err() {
        // Whoever asked is not told of it, and would not stop it.
        hall.leave(id).await;
    }
    begun
}

/// Says the first words, if there are any, and tells what the session is then.
async fn send_first_prompt(
    client: &RpcClient,
    prompt: Option<String>,
    limits: &HttpLimits,
) -> Result<SessionView, HttpProblem> {
    if let Some(text) = prompt {
        let message =
            SendParams { task: None, text, images: Vec::new(), delivery: MailDelivery::FollowUp, display: None };
        let message = serde_json::to_value(message).map_err(HttpProblem::internal)?;
        call(client, Method::SessionSend, message, limits.answer_time).await?;
    }
    let view = call(client, Method::SessionGet, json!({}), limits.answer_time).await?;
    serde_json::from_value(view).map_err(HttpProblem::internal)
}

/// A connection to the session that is to go on, if it does already.
async fn running_session(
    hall: &RunningSessions,
    start: SessionStart,
) -> Result<Option<super::running_sessions::SessionConnection>, HttpProblem> {
    match start {
        SessionStart::New => Ok(None),
        SessionStart::Resume(id) => match hall.reach(id).await? {
            SessionAccess::Live(link) => Ok(Some(link)),
            SessionAccess::Stored(_) => Ok(None),
        },
        // Whether there is one to copy.
        SessionStart::Fork(id) => {
            store::SessionReader::open(hall.home(), id).map(|_reader| None).map_err(HttpProblem::from)
        }
    }
}

fn open_request(start: SessionStart, wanted: SessionOptions) -> Result<OpenRequest, HttpProblem> {
    let SessionOptions {
        prompt: _,
        cwd,
        model,
        effort,
        mode,
        permission,
        allow,
        ask,
        deny,
        add_dirs,
        max_turns,
        max_budget_usd,
        max_tokens,
        list,
        agent,
        agents,
        ask_user,
        ask_wait_seconds,
    } = wanted;
    let cwd = cwd.map(PathBuf::from);
    if let Some(cwd) = cwd.as_ref().filter(|cwd| !cwd.is_absolute()) {
        let detail = format!("cwd `{}` does not begin at the root", cwd.display());
        return Err(HttpProblem::new(StatusCode::UNPROCESSABLE_ENTITY, detail).remedy("write the whole path"));
    }
    let mut flags = RunFlags::default();
    flags.put("--model", model);
    flags.put("--effort", effort.map(effort_word));
    flags.put("--permission-mode", permission.map(|mode| mode.as_str()));
    flags.put("--max-turns", max_turns);
    flags.put("--max-budget-usd", max_budget_usd);
    flags.put("--max-tokens-total", max_tokens);
    flags.put("--list", list);
    flags.put("--agent", agent);
    flags.put("--agents", agents.map(serde_json::Value::Object));
    flags.put("--ask-wait", Some(ask_wait_seconds.map_or_else(|| "for-ever".into(), |seconds| format!("{seconds}s"))));
    flags.each("--allow", allow);
    flags.each("--ask", ask);
    flags.each("--deny", deny);
    flags.each("--add-dir", add_dirs);
    if ask_user == Some(false) {
        flags.set("--no-ask-user");
    }
    match mode {
        Some(SessionMode::Plan) => flags.set("--plan"),
        Some(SessionMode::Autopilot) => flags.set("--autopilot"),
        Some(SessionMode::Interactive) | None => {}
    }
    Ok(OpenRequest { cwd, flags: flags.into_args(), ..OpenRequest::new(start) })
}

fn effort_word(effort: ReasoningEffort) -> &'static str {
    match effort {
        ReasoningEffort::Low => "low",
        ReasoningEffort::Medium => "medium",
        ReasoningEffort::High => "high",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_client_wants_is_said_in_flags_that_no_value_can_break_out_of() {
        let wanted = json!({
            "model": "--allow-all", "mode": "plan", "permission": "acceptEdits", "allow": ["shell(git status)"],
            "maxTurns": 3, "maxBudgetUsd": 0.5, "askUser": false, "cwd": "/tmp",
        });
        let order = open_request(SessionStart::New, serde_json::from_value(wanted).unwrap()).unwrap();
        assert_eq!(
            order.flags,
            [
                "--model=--allow-all",
                "--permission-mode=accept-edits",
                "--max-turns=3",
                "--max-budget-usd=0.5",
                "--ask-wait=for-ever",
                "--allow=shell(git status)",
                "--no-ask-user",
                "--plan",
            ]
        );
        assert_eq!(order.cwd, Some("/tmp".into()));
    }

    #[test]
    fn a_folder_that_depends_on_where_the_server_stands_is_refused() {
        let wanted = SessionOptions { cwd: Some("work".into()), ..SessionOptions::default() };
        assert!(open_request(SessionStart::New, wanted).is_err());
    }
}

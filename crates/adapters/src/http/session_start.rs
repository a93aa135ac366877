//! Starts, resumes and forks sessions, translating the client's options into command-line flags.

use std::path::PathBuf;
use std::sync::Arc;

use client::SessionHandle;
use hyper::StatusCode;
use protocol::api::{Nothing, SendParams, SessionView, calls};
use protocol::{MailDelivery, ReasoningEffort, SessionMode};
use runtime::SessionStart;
use server::{OpenRequest, SessionHost};

use super::HttpLimits;
use super::payloads::SessionOptions;
use super::problem::HttpProblem;
use crate::flags::RunFlags;

/// Opens a session here, sends its first prompt, and returns its description.
pub(super) async fn start_session(
    sessions: &Arc<SessionHost>,
    start: SessionStart,
    options: SessionOptions,
    limits: &HttpLimits,
) -> Result<SessionView, HttpProblem> {
    let prompt = options.prompt.clone();
    if let Some(running) = running_session(sessions, start).await? {
        return send_first_prompt(&running, prompt, limits).await;
    }
    let held = sessions.open_and_resume(open_request(start, options)?).await?;
    let started = send_first_prompt(&sessions.handle(held.id()), prompt, limits).await;
    if started.is_err() {
        // The client does not learn the session's id and could not stop it.
        held.close().await.ok();
    }
    started
}

/// Sends the first prompt, if there is one, and returns the session's description.
async fn send_first_prompt(
    session: &SessionHandle,
    prompt: Option<String>,
    limits: &HttpLimits,
) -> Result<SessionView, HttpProblem> {
    if let Some(text) = prompt {
        let message =
            SendParams { task: None, text, images: Vec::new(), delivery: MailDelivery::FollowUp, display: None };
        session.call::<calls::SessionSend>(&message, limits.answer_time).await?;
    }
    Ok(session.call::<calls::SessionGet>(&Nothing {}, limits.answer_time).await?)
}

/// The session to be resumed, if it is running already.
async fn running_session(sessions: &SessionHost, start: SessionStart) -> Result<Option<SessionHandle>, HttpProblem> {
    match start {
        SessionStart::New => Ok(None),
        SessionStart::Resume(id) => {
            let session = sessions.handle(id);
            let owner = session.read(|stored| Ok(stored.owner()?)).await?;
            Ok(owner.map(|_pid| session))
        }
        // Check that the session to copy exists.
        SessionStart::Fork(id) => Ok(sessions.handle(id).read(|_stored| Ok(None)).await?),
    }
}

fn open_request(start: SessionStart, options: SessionOptions) -> Result<OpenRequest, HttpProblem> {
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
    } = options;
    let cwd = cwd.map(PathBuf::from);
    if let Some(cwd) = cwd.as_ref().filter(|cwd| !cwd.is_absolute()) {
        let detail = format!("cwd `{}` is not an absolute path", cwd.display());
        return Err(HttpProblem::new(StatusCode::UNPROCESSABLE_ENTITY, detail).remedy("write the full path"));
    }
    let mut flags = RunFlags::default();
    flags.put("--model", model);
    flags.put("--effort", effort.map(effort_name));
    flags.put("--permission-mode", permission.map(|mode| mode.as_str()));
    flags.put("--max-turns", max_turns);
    flags.put("--max-budget-usd", max_budget_usd);
    flags.put("--max-tokens-total", max_tokens);
    flags.put("--list", list);
    flags.put("--agent", agent);
    flags.put("--agents", agents.map(serde_json::Value::Object));
    flags.put("--ask-wait", Some(ask_wait_seconds.map_or_else(|| "for-ever".into(), |seconds| format!("{seconds}s"))));
    flags.put_each("--allow", allow);
    flags.put_each("--ask", ask);
    flags.put_each("--deny", deny);
    flags.put_each("--add-dir", add_dirs);
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

fn effort_name(effort: ReasoningEffort) -> &'static str {
    match effort {
        ReasoningEffort::Low => "low",
        ReasoningEffort::Medium => "medium",
        ReasoningEffort::High => "high",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn options_become_flags_that_values_cannot_escape() {
        let options = json!({
            "model": "--allow-all", "mode": "plan", "permission": "acceptEdits", "allow": ["shell(git status)"],
            "maxTurns": 3, "maxBudgetUsd": 0.5, "askUser": false, "cwd": "/tmp",
        });
        let request = open_request(SessionStart::New, serde_json::from_value(options).unwrap()).unwrap();
        assert_eq!(
            request.flags,
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
        assert_eq!(request.cwd, Some("/tmp".into()));
    }

    #[test]
    fn relative_folders_are_refused() {
        let options = SessionOptions { cwd: Some("work".into()), ..SessionOptions::default() };
        assert!(open_request(SessionStart::New, options).is_err());
    }
}

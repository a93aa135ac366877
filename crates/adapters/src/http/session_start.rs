//! Starts, resumes and forks sessions.

use std::sync::Arc;

use client::SessionHandle;
use hyper::StatusCode;
use protocol::api::{Nothing, SendParams, SessionView, calls};
use protocol::{MailDelivery, SessionOptions};
use runtime::SessionStart;
use server::{OpenRequest, SessionHost};

use super::HttpLimits;
use super::problem::HttpProblem;

/// Opens a session here, sends its first prompt, and returns its description.
pub(super) async fn start_session(
    sessions: &Arc<SessionHost>,
    start: SessionStart,
    mut options: SessionOptions,
    limits: &HttpLimits,
) -> Result<SessionView, HttpProblem> {
    let prompt = options.prompt.take();
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
            let owner = session.read(|session| Ok(session.owner_pid()?)).await?;
            Ok(owner.map(|_pid| session))
        }
        // Check that the session to copy exists.
        SessionStart::Fork(id) => {
            Ok(sessions.handle(id).read(|session| Ok(session.check_readable().map(|()| None)?)).await?)
        }
    }
}

fn open_request(start: SessionStart, options: SessionOptions) -> Result<OpenRequest, HttpProblem> {
    if let Some(cwd) = options.cwd.as_ref().filter(|cwd| !cwd.is_absolute()) {
        let detail = format!("cwd `{}` is not an absolute path", cwd.display());
        return Err(HttpProblem::new(StatusCode::UNPROCESSABLE_ENTITY, detail).remedy("write the full path"));
    }
    Ok(OpenRequest { options, ..OpenRequest::new(start) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_folders_are_refused() {
        let in_folder = |folder: &str| {
            let options = SessionOptions { cwd: Some(folder.into()), ..SessionOptions::default() };
            open_request(SessionStart::New, options)
        };
        assert!(in_folder("work").is_err());
        assert_eq!(in_folder("/tmp").unwrap().options.cwd, Some("/tmp".into()));
    }
}

//! Waiting for a run. Meanwhile the client learns of its progress, and its user decides what waits for a decision if
//! clients may.

use std::collections::BTreeSet;
use std::time::Duration;

use client::{ClientError, SessionHandle};
use protocol::api::{AskView, SessionWaitEnd, SessionWaitParams, calls};
use tokio::time::Instant;

use super::answers::{self, ANSWER_TIMEOUT};
use super::arguments::AgentToolError;
use super::background::BackgroundSessions;
use super::report::RunFacts;
use super::scope::AgentServerSettings;
use crate::mcp::{InputOutcome, McpReply, McpRequest};

/// How often progress is reported and asks are looked for.
const STEP: Duration = Duration::from_secs(1);

/// How long a session that no process runs is given to be resumed before it is looked at again.
const RESUME_PAUSE: Duration = Duration::from_millis(200);

/// How a wait ended.
pub(super) enum RunWaitEnd {
    /// The run is over, or the time is up: this is what is known of it.
    Facts(Box<RunFacts>),
    /// The client's user decides first.
    Reply(McpReply),
}

/// Waits for the end of a session's run.
pub(super) struct RunWaiter<'a> {
    pub(super) settings: &'a AgentServerSettings,
    pub(super) background: &'a dyn BackgroundSessions,
    pub(super) request: &'a McpRequest,
}

impl RunWaiter<'_> {
    /// Waits at most this long.
    pub(super) async fn wait(&self, session: &SessionHandle, limit: Duration) -> Result<RunWaitEnd, AgentToolError> {
        let until = Instant::now() + limit;
        // A form that the user closed is not shown again in the same call.
        let shown = self.request.responses().into_iter().flat_map(|all| all.keys().cloned());
        let mut shown: BTreeSet<String> = shown.collect();
        if let Some(responses) = self.request.responses().filter(|_| self.settings.may_answer(self.request)) {
            answers::decide_forms(session, responses).await?;
        }
        let mut reported = 0;
        loop {
            let facts = session.read(RunFacts::read).await?;
            if facts.view.events > reported {
                // Progress only grows.
                reported = facts.view.events;
                self.request.report_progress(reported, None, facts.status.as_str()).await;
            }
            if facts.report.open_asks > 0
                && let Some(reply) = self.ask_user(session, &mut shown).await?
            {
                return Ok(RunWaitEnd::Reply(reply));
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || self.is_over(&facts).await? {
                return Ok(RunWaitEnd::Facts(Box::new(facts)));
            }
            rest(session, left.min(STEP)).await?;
        }
    }

    /// Whether a run is over for good: one that the session host resumes is not.
    async fn is_over(&self, facts: &RunFacts) -> Result<bool, AgentToolError> {
        if !facts.status.is_at_rest() && facts.view.owner_pid.is_some() {
            return Ok(false);
        }
        if !facts.will_resume(&self.settings.home) {
            return Ok(true);
        }
        self.background.ensure_host().await?;
        tokio::time::sleep(RESUME_PAUSE).await;
        Ok(false)
    }

    /// Shows the client's user what waits for a decision; a reply if the client answers in another request.
    async fn ask_user(
        &self,
        session: &SessionHandle,
        shown: &mut BTreeSet<String>,
    ) -> Result<Option<McpReply>, AgentToolError> {
        if !self.settings.may_answer(self.request) || !self.request.client().can_elicit() {
            return Ok(None);
        }
        let asks = answers::open_asks(session).await?;
        let new: Vec<AskView> = asks.into_iter().filter(|ask| !shown.contains(&ask.ask.id.0)).collect();
        if new.is_empty() {
            return Ok(None);
        }
        shown.extend(new.iter().map(|ask| ask.ask.id.0.clone()));
        let id = session.id().to_string();
        match self.request.ask(answers::forms(&new), || Some(id)).await? {
            InputOutcome::Later(reply) => Ok(Some(reply)),
            InputOutcome::Answered(responses) => {
                answers::decide_forms(session, &responses).await?;
                Ok(None)
            }
        }
    }
}

/// Waits until nothing is left to do in a session, at most this long. A session that no process runs is looked at again
/// after a pause.
pub(super) async fn rest(session: &SessionHandle, limit: Duration) -> Result<(), AgentToolError> {
    let began = Instant::now();
    let timeout_ms = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
    let params = SessionWaitParams { timeout_ms: Some(timeout_ms), ..SessionWaitParams::default() };
    match session.call::<calls::SessionWait>(&params, ANSWER_TIMEOUT).await.map(|waited| waited.end) {
        Ok(SessionWaitEnd::TimedOut) => Ok(()),
        // The file may be a moment behind, a session may be resumed by another process, or is just being closed.
        Ok(
            SessionWaitEnd::Quiet | SessionWaitEnd::Background | SessionWaitEnd::Parked { .. } | SessionWaitEnd::Paused,
        )
        | Err(ClientError::NoAnswer { .. }) => {
            tokio::time::sleep(limit.min(RESUME_PAUSE).saturating_sub(began.elapsed())).await;
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

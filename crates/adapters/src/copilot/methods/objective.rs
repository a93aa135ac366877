//! `session.autopilotObjective.getState`: the objective in autopilot and its progress, derived from the log.

use protocol::api::{Method, TasksPage, TasksParams};
use protocol::{AutopilotStop, Envelope, Event, MailBody, Principal, SessionMode};
use rpc::ErrorObject;
use serde_json::{Value, json};

use super::unhandled;
use crate::copilot::connection::CopilotConnection;
use crate::copilot::hosted_session::HostedSession;

pub(crate) async fn call(
    _connection: &CopilotConnection,
    session: &HostedSession,
    method: &str,
    _params: Value,
) -> Result<Value, ErrorObject> {
    match method {
        "session.autopilotObjective.getState" => Ok(json!({ "state": state(session).await? })),
        other => Err(unhandled(other)),
    }
}

async fn state(session: &HostedSession) -> Result<Option<Value>, ErrorObject> {
    let query = TasksParams::root();
    let TasksPage { tasks, .. } = session.call(Method::TasksList, query).await?;
    let Some(root) = tasks.first().map(|task| task.id) else { return Ok(None) };
    let log = session.handle().read(move |session| Ok(session.task_events(root)?)).await?;
    Ok(log.into_iter().fold(ObjectiveProgress::default(), ObjectiveProgress::apply_event).into_state())
}

/// The progress of the current objective.
#[derive(Debug, Default)]
struct ObjectiveProgress {
    mode: SessionMode,
    /// How many objectives there have been.
    number: u64,
    objective: Option<String>,
    continuation_count: u32,
    stopped: Option<AutopilotStop>,
}

impl ObjectiveProgress {
    fn apply_event(mut self, envelope: Envelope) -> ObjectiveProgress {
        match envelope.entry.event {
            Event::ModeChanged { mode, .. } => self.mode = mode,
            Event::MailAdmitted { from: Principal::User, body: MailBody::Text { text, .. }, .. }
                if self.mode == SessionMode::Autopilot =>
            {
                let number = self.number + 1;
                return ObjectiveProgress {
                    mode: self.mode,
                    number,
                    objective: Some(text),
                    ..ObjectiveProgress::default()
                };
            }
            Event::AutopilotContinued { count, .. } => self.continuation_count = count,
            Event::AutopilotStopped { why, .. } => self.stopped = Some(why),
            _other => {}
        }
        self
    }

    fn into_state(self) -> Option<Value> {
        let mut state = json!({
            "id": self.number,
            "objective": self.objective?,
            "status": "active",
            "turnCount": self.continuation_count,
            "creditCountNanoAiu": "0",
        });
        match self.stopped {
            None => {}
            Some(AutopilotStop::Complete { summary }) => {
                (state["status"], state["completionSummary"]) = ("completed".into(), summary.into());
            }
            Some(why) => (state["status"], state["pauseReason"]) = ("paused".into(), why.as_str().into()),
        }
        Some(state)
    }
}

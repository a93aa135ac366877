//! `session.autopilotObjective.getState`: what the session's own agent is at on autopilot, as the log tells.

use protocol::api::{Method, TasksPage, TasksParams};
use protocol::{AutopilotStop, Body, Envelope, Event, Kind, Origin, SessionMode};
use rpc::ErrorObject;
use serde_json::{Value, json};
use store::Reader;

use super::unhandled;
use crate::copilot::held::Held;
use crate::copilot::visit::Visit;

pub(crate) async fn call(_visit: &Visit, session: &Held, method: &str, _params: Value) -> Result<Value, ErrorObject> {
    match method {
        "session.autopilotObjective.getState" => Ok(json!({ "state": state(session).await? })),
        other => Err(unhandled(other)),
    }
}

async fn state(session: &Held) -> Result<Option<Value>, ErrorObject> {
    let wanted = TasksParams { kind: Some(Kind::Main), ..TasksParams::default() };
    let TasksPage { tasks, .. } = session.call(Method::TasksList, wanted).await?;
    let Some(root) = tasks.first().map(|task| task.id) else { return Ok(None) };
    let (home, id) = (session.home().clone(), session.id());
    let reading = tokio::task::spawn_blocking(move || Reader::open(&home, id)?.task_events(root));
    let log = reading.await.map_err(ErrorObject::internal)?.map_err(ErrorObject::internal)?;
    Ok(log.into_iter().fold(Flight::default(), Flight::read).told())
}

/// Where the agent is with its objectives.
#[derive(Debug, Default)]
struct Flight {
    mode: SessionMode,
    /// How many objectives there were.
    number: u64,
    objective: Option<String>,
    continues: u32,
    stopped: Option<AutopilotStop>,
}

impl Flight {
    fn read(mut self, envelope: Envelope) -> Flight {
        match envelope.entry.event {
            Event::ModeChanged { mode, .. } => self.mode = mode,
            Event::MailAdmitted { from: Origin::User, body: Body::Text { text, .. }, .. }
                if self.mode == SessionMode::Autopilot =>
            {
                let number = self.number + 1;
                return Flight { mode: self.mode, number, objective: Some(text), ..Flight::default() };
            }
            Event::AutopilotContinued { count, .. } => self.continues = count,
            Event::AutopilotStopped { why, .. } => self.stopped = Some(why),
            _other => {}
        }
        self
    }

    fn told(self) -> Option<Value> {
        let mut state = json!({
            "id": self.number,
            "objective": self.objective?,
            "status": "active",
            "turnCount": self.continues,
            "creditCountNanoAiu": "0",
        });
        match self.stopped {
            None => {}
            Some(AutopilotStop::Complete { summary }) => {
                (state["status"], state["completionSummary"]) = ("completed".into(), summary.into());
            }
            Some(why) => (state["status"], state["pauseReason"]) = ("paused".into(), why.word().into()),
        }
        Some(state)
    }
}

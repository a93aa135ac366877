//! The copy of a session's state that its client keeps: the history, the plan, and the summaries. Bosun has the session
//! itself, and writes what has changed when a turn is over, and when the client leaves.

use std::sync::Arc;
use std::time::Duration;

use protocol::api::{Method, PlanResult, SessionView};
use rpc::ErrorObject;
use serde_json::{Value, json};

use super::history;
use super::hosted_session::HostedSession;
use super::methods::workspaces::{checkpoint_title, checkpoints_of, workspace_view};
use super::state_provider::StateFiles;

/// How long a copy waits if nothing reports changes.
const PAUSE: Duration = Duration::from_secs(5);

/// The copy of a session's state.
#[derive(Debug)]
pub(crate) struct StateCopy {
    pub(crate) state: StateFiles,
    written: tokio::sync::Mutex<Option<WrittenState>>,
}

/// What the copy has.
#[derive(Debug, Default, PartialEq, Eq)]
struct WrittenState {
    /// The ids of its events, in order.
    events: Vec<String>,
    plan: Option<String>,
    workspace: String,
    checkpoints: usize,
}

impl StateCopy {
    pub(crate) fn new(state: StateFiles) -> StateCopy {
        StateCopy { state, written: tokio::sync::Mutex::default() }
    }

    /// Keeps the copy up to date until the client leaves.
    pub(crate) async fn follow(&self, session: &Arc<HostedSession>) {
        let (mut changes, mut has_failed) = (session.changes(), false);
        loop {
            match self.write_changes(session).await {
                Ok(()) => has_failed = false,
                Err(error) if !has_failed => {
                    has_failed = true;
                    let message = format!("the copy of the session's state is incomplete: {}", error.message);
                    session.emit("session.warning", json!({ "warningType": "sessionFs", "message": message }));
                }
                Err(_told_before) => {}
            }
            changes.changed(PAUSE).await;
            session.wait_until_quiet().await;
            if session.is_local() && !session.is_held() {
                // The call that closed it has written the rest.
                return;
            }
        }
    }

    /// Writes what has changed.
    pub(crate) async fn write_changes(&self, session: &HostedSession) -> Result<(), ErrorObject> {
        let mut written = self.written.lock().await;
        let before = match written.take() {
            Some(before) => before,
            None => {
                self.state.create_folder(&self.state.path(&["checkpoints"])).await?;
                WrittenState::default()
            }
        };
        let is_first = before == WrittenState::default();
        let view: SessionView = session.call(Method::SessionGet, json!({})).await?;
        let events = history::recorded_events(session.home(), session.id()).await?;
        let ids = self.write_events(&before.events, &events).await?;
        let workspace = yaml(&workspace_view(session, &view));
        if workspace != before.workspace {
            self.state.write(&self.state.path(&["workspace.yaml"]), &workspace).await?;
        }
        let PlanResult { text: plan } = session.call(Method::PlanRead, json!({})).await?;
        self.write_plan(before.plan.as_deref(), plan.as_deref()).await?;
        let summaries = checkpoints_of(&events);
        if is_first || summaries.len() != before.checkpoints {
            self.write_checkpoints(&summaries).await?;
        }
        *written = Some(WrittenState { events: ids, plan, workspace, checkpoints: summaries.len() });
        Ok(())
    }

    /// Appends new events, or writes all anew if the history was cut; returns their ids.
    async fn write_events(&self, before: &[String], events: &[Value]) -> Result<Vec<String>, ErrorObject> {
        let ids: Vec<String> = events.iter().map(|event| event["id"].as_str().unwrap_or_default().to_owned()).collect();
        let path = self.state.path(&["events.jsonl"]);
        let lines = |events: &[Value]| events.iter().map(|event| format!("{event}\n")).collect::<String>();
        match ids.strip_prefix(before) {
            Some([]) if !before.is_empty() => {}
            Some(_new) if !before.is_empty() => {
                self.state.append(&path, &lines(events.get(before.len()..).unwrap_or_default())).await?;
            }
            Some(_) | None => self.state.write(&path, &lines(events)).await?,
        }
        Ok(ids)
    }

    async fn write_plan(&self, before: Option<&str>, now: Option<&str>) -> Result<(), ErrorObject> {
        let path = self.state.path(&["plan.md"]);
        match now {
            Some(plan) if before != now => self.state.write(&path, plan).await,
            None if before.is_some() => self.state.remove(&path).await,
            Some(_) | None => Ok(()),
        }
    }

    async fn write_checkpoints(&self, summaries: &[String]) -> Result<(), ErrorObject> {
        let mut index = "# Checkpoints\n\n".to_owned();
        for (number, summary) in (1..).zip(summaries) {
            let name = format!("{number:03}.md");
            self.state.write(&self.state.path(&["checkpoints", &name]), summary).await?;
            index.push_str(&format!("- {name}: {}\n", checkpoint_title(summary)));
        }
        self.state.write(&self.state.path(&["checkpoints", "index.md"]), &index).await
    }
}

/// The fields of an object as YAML, in which JSON's texts are texts too.
fn yaml(object: &Value) -> String {
    let fields = object.as_object().into_iter().flatten();
    fields.map(|(name, value)| format!("{name}: {value}\n")).collect()
}

//! What every run of a session works with.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use host::{Guardian, Workspace};
use model::ToolSpec;
use net::fetch::Fetcher;
use policy::Policy;
use protocol::{Activation, Clip, Event, Kind, Outcome, TaskId};
use store::{Reader, StoreError};
use tools::{Stamps, Tool};

use crate::agent::{AgentRun, Deadline};
use crate::bus::Bus;
use crate::conversation::{Conversation, Results};
use crate::governor::Governor;
use crate::grants::Grants;
use crate::redact::Redactor;
use crate::settings::Settings;
use crate::shells;
use crate::space::Tables;
use crate::supervisor::{Link, Perform};

/// Most bytes of another task's result that join a conversation.
const RESULT_MAX: usize = 16 * 1024;

/// What every run of a session works with.
#[derive(Debug)]
pub(crate) struct Desk {
    pub(crate) settings: Settings,
    pub(crate) session: protocol::SessionId,
    pub(crate) system: Arc<str>,
    pub(crate) toolbox: Vec<Arc<dyn Tool>>,
    /// Tools that are not offered: with them goes on what began under an owner that offered them.
    pub(crate) withheld: Vec<Arc<dyn Tool>>,
    /// The toolbox as a model is told of it.
    pub(crate) specs: Arc<[ToolSpec]>,
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) guardian: Guardian,
    pub(crate) env: Arc<Vec<(std::ffi::OsString, std::ffi::OsString)>>,
    pub(crate) tables: Arc<Tables>,
    pub(crate) fetcher: Fetcher,
    pub(crate) deadline: Deadline,
    pub(crate) grants: Arc<Grants>,
    pub(crate) redactor: Redactor,
    pub(crate) governor: Governor,
    pub(crate) bus: Bus,
    pub(crate) stamps: Mutex<HashMap<TaskId, Arc<Stamps>>>,
}

/// A desk that runs can be performed at.
#[derive(Debug)]
pub(crate) struct Performer(pub(crate) Arc<Desk>);

impl Perform for Performer {
    fn perform(&self, link: Link, kind: Kind) -> tools::BoxFuture<'static, ()> {
        let desk = Arc::clone(&self.0);
        Box::pin(async move {
            let stop = link.stop.clone();
            let run = async move {
                match kind {
                    Kind::Main | Kind::Agent => AgentRun::new(desk, link).run().await,
                    Kind::Shell => shells::run(desk, link).await,
                }
            };
            tokio::select! {
                biased;
                () = stop.cancelled() => {}
                () = run => {}
            }
        })
    }
}

impl Desk {
    pub(crate) fn reader(&self) -> Result<Reader, StoreError> {
        Reader::open(&self.settings.home, self.session)
    }

    /// A task's conversation as the log has it.
    pub(crate) fn conversation(&self, task: TaskId) -> Result<Conversation, StoreError> {
        let reader = self.reader()?;
        let mut conversation = Conversation::default();
        for envelope in reader.task_events(task)? {
            conversation.read(&envelope, self);
        }
        Ok(conversation)
    }

    /// What calls may do now, with what was granted since the session began.
    pub(crate) fn policy(&self) -> Arc<Policy> {
        self.grants.policy()
    }

    pub(crate) fn tool(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.toolbox.iter().find(|tool| tool.spec().name == name)
    }

    /// What one agent has read of the workspace, in all its activations here; what another has read does not let
    /// it write.
    pub(crate) fn stamps(&self, task: TaskId) -> Arc<Stamps> {
        let mut stamps = self.stamps.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(stamps.entry(task).or_default())
    }
}

impl Results for Desk {
    fn result(&self, task: TaskId, activation: Activation) -> String {
        match self.reader().and_then(|reader| reader.task_events(task)) {
            Ok(log) => describe(&log, activation),
            Err(error) => format!("{task} has ended, but its result cannot be read: {error}"),
        }
    }
}

/// An activation's end in words.
fn describe(log: &[protocol::Envelope], activation: Activation) -> String {
    let mut name = String::new();
    let mut ended: Option<(&Outcome, &str)> = None;
    for envelope in log {
        match &envelope.entry.event {
            Event::TaskCreated(spec) => name.clone_from(&spec.name),
            Event::ActivationEnded { activation: which, outcome, text } if *which == activation => {
                ended = Some((outcome, text));
            }
            Event::TaskFinished { outcome } if ended.is_none() => ended = Some((outcome, "")),
            _other => {}
        }
    }
    let Some((outcome, text)) = ended else { return format!("{name} has ended") };
    let detail = match outcome {
        Outcome::Failed { message, .. } => format!(" ({message})"),
        Outcome::Completed
        | Outcome::Cancelled { .. }
        | Outcome::TimedOut { .. }
        | Outcome::BudgetExhausted
        | Outcome::Lost => String::new(),
    };
    format!("{name}: {}{detail}\n{}", outcome.word(), Clip::new(text, RESULT_MAX))
}

//! What every run of a session works with.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use host::Guardian;
use kernel::{Ending, Point, Report};
use net::fetch::Fetcher;
use policy::Policy;
use protocol::{Activation, Envelope, FailKind, Kind, TaskId};
use store::{Reader, StoreError};
use tools::{Stamps, Tool};

use super::kept::Conversations;
use crate::agent::{AgentRun, Deadline};
use crate::bus::Bus;
use crate::conversation::{Conversation, Results};
use crate::crew;
use crate::expects::Snapshot;
use crate::governor::Governor;
use crate::grants::Grants;
use crate::hooks::Listeners;
use crate::instructions::Instructions;
use crate::lists::SharedList;
use crate::outfit::Outfits;
use crate::own::Given;
use crate::redact::Redactor;
use crate::roster::{Roster, Words};
use crate::settings::Settings;
use crate::shells;
use crate::sites::{self, Sites};
use crate::space::Tables;
use crate::supervisor::{Link, Perform};
use crate::todos::Todos;
use crate::watch::Wards;

/// What every run of a session works with.
#[derive(Debug)]
pub(crate) struct Desk {
    pub(crate) settings: Settings,
    pub(crate) session: protocol::SessionId,
    /// The user's instruction files.
    pub(crate) instructions: Instructions,
    /// What every task is and did.
    pub(crate) roster: Arc<Roster>,
    pub(crate) outfits: Outfits,
    /// The models that the session was given while it ran.
    pub(crate) given: Given,
    /// Whether somebody may answer a question.
    pub(crate) asks_user: bool,
    /// Tools that are not offered: with them goes on what began under an owner that offered them.
    pub(crate) withheld: Vec<Arc<dyn Tool>>,
    /// Where tasks work.
    pub(crate) sites: Sites,
    pub(crate) guardian: Guardian,
    pub(crate) tables: Tables,
    /// The way to have changes of the todos taken over.
    pub(crate) todos: Todos,
    pub(crate) fetcher: Fetcher,
    pub(crate) deadline: Deadline,
    pub(crate) grants: Arc<Grants>,
    pub(crate) redactor: Redactor,
    pub(crate) governor: Governor,
    /// Who is told what happens.
    pub(crate) listeners: Listeners,
    pub(crate) bus: Bus,
    pub(crate) stamps: Mutex<HashMap<TaskId, Arc<Stamps>>>,
    /// The list that the session's agents share.
    pub(crate) list: Arc<SharedList>,
    /// The runs that are watched over.
    pub(crate) wards: Arc<Wards>,
    /// Tasks whose conversation a person wants compacted.
    pub(crate) compactions: Mutex<HashSet<TaskId>>,
    /// What files looked like that tasks are to change, when this process first ran the task.
    pub(crate) snapshots: Mutex<HashMap<TaskId, Arc<Snapshot>>>,
    /// Folders in which there are too many files to look for what a command changed.
    pub(crate) large: Mutex<HashSet<PathBuf>>,
    /// A reader that stays open: every activation begins with one look at the log.
    pub(crate) log: Mutex<Option<Reader>>,
    /// What agents that rest go on with.
    pub(crate) conversations: Conversations,
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
                    Kind::Main | Kind::Agent => agent(desk, link).await,
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

/// Runs an agent, or ends it if what it works with cannot be had.
async fn agent(desk: Arc<Desk>, link: Link) {
    let _watched = desk.wards.enter(&link);
    let outfit = match sites::place(&desk, &link).await {
        Ok(()) => desk.outfit(link.run.task).map_err(|message| (FailKind::Model, message)),
        Err(unplaced) => Err((FailKind::Internal, unplaced.to_string())),
    };
    match outfit {
        Ok(outfit) => AgentRun::new(desk, link, outfit).run().await,
        Err((kind, message)) => {
            let ending = Ending::Failed { kind, message };
            // Mail that is not heard would wake the task again, for the same end.
            for report in [Report::Boundary(Point::Between), Report::Ended { ending, text: String::new() }] {
                if let Err(rejected) = link.supervisor.report(link.run, report).await {
                    tracing::info!(run = %link.run, %rejected, "the run stops");
                }
            }
        }
    }
}

impl Desk {
    pub(crate) fn reader(&self) -> Result<Reader, StoreError> {
        Reader::open(&self.settings.home, self.session)
    }

    /// A task's conversation as the log has it.
    pub(crate) fn conversation(&self, task: TaskId) -> Result<Conversation, StoreError> {
        let mut conversation = Conversation::default();
        for envelope in self.log_of(task, 0)? {
            conversation.read(&envelope, self);
        }
        Ok(conversation)
    }

    /// The events of a task after `seq`.
    pub(super) fn log_of(&self, task: TaskId, seq: u64) -> Result<Vec<Envelope>, StoreError> {
        self.ask_log(|reader| reader.task_events_after(task, seq))
    }

    fn ask_log<T>(&self, ask: impl FnOnce(&Reader) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let mut open = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        let reader = match open.take() {
            Some(reader) => reader,
            None => self.reader()?,
        };
        // One that failed is not asked again.
        let told = ask(&reader)?;
        *open = Some(reader);
        Ok(told)
    }

    /// What a task said and left behind; from the log, if that is not held any more.
    pub(crate) fn words(&self, task: TaskId) -> Arc<Words> {
        if let Some(words) = self.roster.words(task) {
            return words;
        }
        match self.ask_log(|reader| reader.task_traces(task)) {
            Ok(log) => Arc::new(Words::of_log(&log)),
            Err(error) => {
                tracing::warn!(%task, %error, "what a task said cannot be read");
                Arc::default()
            }
        }
    }

    /// What calls may do now, with what was granted since the session began.
    pub(crate) fn policy(&self) -> Arc<Policy> {
        self.grants.policy()
    }

    /// Has a task's conversation compacted before its next turn.
    pub(crate) fn ask_compaction(&self, task: TaskId) {
        self.compactions.lock().unwrap_or_else(PoisonError::into_inner).insert(task);
    }

    /// Whether somebody asked for that; the wish is fulfilled then.
    pub(crate) fn take_compaction(&self, task: TaskId) -> bool {
        self.compactions.lock().unwrap_or_else(PoisonError::into_inner).remove(&task)
    }

    /// Whether it is known what files looked like that a task is to change.
    pub(crate) fn is_remembered(&self, task: TaskId) -> bool {
        self.remembered(task).is_some()
    }

    /// What files looked like that a task is to change.
    pub(crate) fn remembered(&self, task: TaskId) -> Option<Arc<Snapshot>> {
        self.snapshots.lock().unwrap_or_else(PoisonError::into_inner).get(&task).cloned()
    }

    /// Keeps what they look like before it begins.
    pub(crate) fn remember(&self, task: TaskId, snapshot: Snapshot) {
        let mut snapshots = self.snapshots.lock().unwrap_or_else(PoisonError::into_inner);
        self.let_go(&mut snapshots);
        snapshots.insert(task, Arc::new(snapshot));
    }

    /// All files of a folder as they are; nothing where there are too many of them.
    pub(crate) async fn snapshot(self: &Arc<Self>, folder: PathBuf) -> Option<Snapshot> {
        if self.large.lock().unwrap_or_else(PoisonError::into_inner).contains(&folder) {
            return None;
        }
        let looked = folder.clone();
        let snapshot = tokio::task::spawn_blocking(move || Snapshot::small(&looked)).await.ok()?;
        if snapshot.is_none() {
            self.large.lock().unwrap_or_else(PoisonError::into_inner).insert(folder);
        }
        snapshot
    }

    /// What one agent has read of the workspace, in all its activations here; what another has read does not let
    /// it write.
    pub(crate) fn stamps(&self, task: TaskId) -> Arc<Stamps> {
        let mut stamps = self.stamps.lock().unwrap_or_else(PoisonError::into_inner);
        self.let_go(&mut stamps);
        Arc::clone(stamps.entry(task).or_default())
    }

    /// Makes room among what is held of tasks: those that have been at rest for long begin anew, as they would in
    /// another process.
    fn let_go<T>(&self, held: &mut HashMap<TaskId, T>) {
        if held.len() == held.capacity() {
            held.retain(|task, _| self.roster.is_recent(*task));
        }
    }
}

impl Results for Desk {
    fn result(&self, task: TaskId, activation: Activation) -> String {
        crew::ended(self, task, activation).unwrap_or_else(|| format!("{} has ended", self.roster.path(task)))
    }

    fn message(&self, from: TaskId, text: &str) -> String {
        crew::message(self, from, text)
    }
}

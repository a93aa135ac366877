//! The talk with a client whose session is open: what the client says, what happens in the session, and what comes back
//! from chores, one thing after the other.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use host::Home;
use protocol::api::{Method, StatusView};
use protocol::{CallId, Event, Kind, MailId, Origin, SessionId, TaskId};
use rpc::{CallError, Client};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use store::StoreError;
use tokio::task::{AbortHandle, JoinSet};
use uuid::Uuid;

use super::chore::Chore;
use super::frames::{self, Ending, Introduction};
use super::inbox::{Inbox, Said};
use super::ledger::Ledger;
use super::opening::{News, Opened, Run};
use super::prompt::Prompt;
use super::scribe::{Scribe, Wants};
use super::state;
use super::structured::Structured;
use super::watch::Watch;
use super::wire::{Control, Gone};
use crate::{Ended, session_uuid};

/// How often a client that says nothing more is looked after: one that died does not take what it is sent.
const PROBE: Duration = Duration::from_millis(500);

/// What a client is told whose session is another's, when that one has left.
const OWNER_LEFT: &str = "the session ended because the client that owns it left; resume the session to go on";

/// How the client wants to be treated.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Manner {
    /// What it is shown.
    pub(super) wants: Wants,
    /// Whether it decides about calls.
    pub(super) decides: bool,
    /// Whether it gets its own messages back.
    pub(super) replays: bool,
    /// Whether a policy forbids the mode in which every call runs.
    pub(super) forbids_bypass: bool,
}

/// The talk with a client.
pub(super) struct Talk {
    pub(super) session: Uuid,
    pub(super) root: TaskId,
    pub(super) api: Arc<Client>,
    pub(super) control: Arc<Control>,
    pub(super) intro: Introduction,
    pub(super) manner: Manner,
    pub(super) scribe: Scribe,
    pub(super) ledger: Ledger,
    pub(super) watch: Watch,
    /// The form that answers must have, if the client wants one.
    pub(super) structured: Option<Structured>,
    pub(super) chores: JoinSet<Chore>,
    /// The chores that wait for a decision of the client's.
    pub(super) asking: HashMap<(TaskId, CallId), AbortHandle>,
    /// Messages that wait for their turn.
    pub(super) queue: VecDeque<Prompt>,
    /// Whether a message of the client's is under way, from its sending to the end of its turn.
    pub(super) asked: bool,
    /// Whether the message that is under way is to be broken off as soon as it is read.
    pub(super) breaks: bool,
    /// Whether the root's activation has read a message of a user's.
    pub(super) heard: bool,
    /// Whether the root's activation has read of something that it left running.
    pub(super) woken: bool,
    /// Messages to the root that it has not read, and who sent them.
    pub(super) mails: HashMap<MailId, Origin>,
    /// What sort of work every task is.
    pub(super) crew: HashMap<TaskId, Kind>,
    /// Agents below the root that are at work.
    pub(super) busy: HashSet<TaskId>,
    /// The session's state, as it was last told.
    pub(super) status: Option<StatusView>,
    /// The last event that was shown.
    pub(super) seq: u64,
    /// How the last turn ended.
    pub(super) last: Option<Ending>,
    /// The model that the session was opened with.
    pub(super) model: String,
    /// Whether something waits for a decision that the client will not make.
    pub(super) is_unanswered: bool,
    /// Whether the client says nothing more.
    is_over: bool,
}

/// Why a talk ends.
pub(super) enum Over {
    /// The client has all it asked for, and wants no more.
    Done,
    /// The client is gone, or will not say what is waited for.
    Left,
    /// The session is another client's, which has left.
    OwnerLeft,
    /// What the client says cannot be read, or the session is gone.
    Broken(String),
}

impl From<Gone> for Over {
    fn from(_: Gone) -> Over {
        Over::Left
    }
}

impl Talk {
    /// The talk about a session that was opened, and the parts that stay with whoever runs it.
    pub(super) fn new(
        opened: Opened,
        control: Arc<Control>,
        manner: Manner,
        watch: Watch,
        structured: Option<Structured>,
    ) -> Option<(Talk, Run, News)> {
        let Opened { id, run, api, news, tasks, intro, .. } = opened;
        let root = tasks.first()?.id;
        let session = session_uuid(id);
        let talk = Talk {
            session,
            root,
            api,
            control,
            model: intro.model.clone(),
            intro,
            manner,
            scribe: Scribe::new(session, root, manner.wants),
            ledger: Ledger::new(root),
            watch,
            structured,
            chores: JoinSet::new(),
            asking: HashMap::new(),
            queue: VecDeque::new(),
            asked: false,
            breaks: false,
            heard: false,
            woken: false,
            crew: tasks.into_iter().map(|task| (task.id, task.kind)).collect(),
            mails: HashMap::new(),
            busy: HashSet::new(),
            status: None,
            seq: 0,
            last: None,
            is_unanswered: false,
            is_over: false,
        };
        Some((talk, run, news))
    }

    /// Takes in what happened before.
    pub(super) fn catch_up(&mut self, home: &Home, id: SessionId, upto: u64) -> Result<(), StoreError> {
        let (root, scribe, mails) = (self.root, &mut self.scribe, &mut self.mails);
        self.watch.catch_up(home, id, upto, |envelope| match &envelope.entry.event {
            Event::TaskCreated(_) => {
                scribe.event(envelope);
            }
            // What a user said before was said by another client, or in another life.
            Event::MailAdmitted { mail, from: from @ Origin::Task { .. }, .. } if envelope.entry.task == root => {
                mails.insert(*mail, *from);
            }
            Event::MailDelivered { mail } if envelope.entry.task == root => {
                mails.retain(|unread, _from| !mail.contains(unread));
            }
            _other => {}
        })
    }

    /// Talks until the client is done or gone.
    pub(super) async fn run(mut self, mut inbox: Inbox, first: Option<Value>, mut news: News) -> Ended {
        if self.begin(first).await.is_err() {
            return Ended::Well;
        }
        let over = loop {
            if let Err(over) = self.step(&mut inbox, &mut news).await {
                break over;
            }
        };
        self.chores.shutdown().await;
        match over {
            Over::Left => Ended::Well,
            Over::Done if self.last.as_ref().is_some_and(Ending::is_failure) => Ended::Failed,
            Over::Done => Ended::Well,
            // One that has all it asked for has lost nothing.
            Over::OwnerLeft if !self.asked && self.queue.is_empty() => {
                if !self.is_over {
                    self.fail(OWNER_LEFT.into()).await;
                }
                Ended::Well
            }
            Over::OwnerLeft => {
                self.fail(OWNER_LEFT.into()).await;
                Ended::Failed
            }
            Over::Broken(words) => {
                tracing::error!("{words}");
                self.fail(words).await;
                Ended::Failed
            }
        }
    }

    /// Tells the client why the session is over. One that is gone needs no result.
    async fn fail(&mut self, words: String) {
        let figures = self.ledger.close();
        self.show(frames::result(self.session, Ending::Failed(words), figures)).await.ok();
    }

    /// Begins with what waits, and with the first message if there is one.
    async fn begin(&mut self, first: Option<Value>) -> Result<(), Gone> {
        self.show_all(self.watch.tasks().recap()).await?;
        self.ask_again().await?;
        match first {
            Some(frame) => self.prompt(frame).await,
            None => Ok(()),
        }
    }

    async fn step(&mut self, inbox: &mut Inbox, news: &mut News) -> Result<(), Over> {
        let control = Arc::clone(&self.control);
        tokio::select! {
            () = control.writer().gone() => Err(Over::Left),
            said = inbox.next(), if !self.is_over => self.said(said).await,
            told = news.next() => match told {
                Ok(notice) => self.told(notice).await,
                Err(_closed) if self.intro.visits => Err(Over::OwnerLeft),
                Err(closed) => Err(Over::Broken(closed.to_string())),
            },
            Some(chore) = self.chores.join_next() => match chore {
                Ok(chore) => Ok(self.came_back(chore).await?),
                Err(error) if error.is_cancelled() => Ok(()),
                Err(error) => Err(Over::Broken(error.to_string())),
            },
            () = tokio::time::sleep(PROBE), if self.is_over => {
                Ok(self.show(json!({ "type": "keep_alive" })).await?)
            }
        }?;
        self.is_done()
    }

    async fn said(&mut self, said: Said) -> Result<(), Over> {
        match said {
            Said::Request { id, request } => Ok(self.request(&id, request).await?),
            Said::User(frame) => Ok(self.prompt(frame).await?),
            Said::End => {
                self.is_over = true;
                Ok(())
            }
            Said::Broken(error) => Err(Over::Broken(error.to_string())),
        }
    }

    /// Whether there is nothing left to do for a client that says nothing more.
    fn is_done(&self) -> Result<(), Over> {
        if self.is_over && self.is_unanswered {
            return Err(Over::Left);
        }
        let Some(status) = self.status.as_ref().filter(|status| self.is_over && status.seq >= self.seq) else {
            return Ok(());
        };
        let has_all = !self.asked && self.queue.is_empty() && self.chores.is_empty();
        // What another process runs goes on without this client.
        let may_go = self.intro.visits || (self.busy.is_empty() && state::rests(status));
        if has_all && may_go { Err(Over::Done) } else { Ok(()) }
    }

    /// Tells the client how the session stands. A message of the client's that is on its way is work to come.
    pub(super) async fn show_state(&mut self) -> Result<(), Gone> {
        let messages = self.queue.len() + usize::from(self.asked);
        let shown = self.status.as_ref().and_then(|status| self.watch.status(status, messages));
        self.show_all(shown.into_iter().collect()).await
    }

    /// Tells the client of the mode.
    pub(super) async fn show_mode(&self) -> Result<(), Gone> {
        let told = json!({ "status": null, "permissionMode": self.intro.mode.word() });
        self.show(frames::system(self.session, "status", told)).await
    }

    /// Shows the client frames.
    pub(super) async fn show_all(&self, frames: Vec<Value>) -> Result<(), Gone> {
        for frame in frames {
            self.show(frame).await?;
        }
        Ok(())
    }

    /// Shows the client a frame.
    pub(super) async fn show(&self, frame: Value) -> Result<(), Gone> {
        self.control.writer().show(frame).await
    }

    /// Calls the session's API.
    pub(super) async fn call<R: DeserializeOwned>(
        &self,
        method: Method,
        params: impl serde::Serialize,
    ) -> Result<R, CallError> {
        self.api.call(method, params).await
    }
}

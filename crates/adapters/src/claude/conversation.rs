//! The talk with a client whose session is open: what the client says, what happens in the session, and what comes back
//! from background work, one thing after the other.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use host::Home;
use protocol::api::{Method, StatusView};
use protocol::{CallId, Event, MailId, Principal, SessionId, TaskId, TaskType};
use rpc::{CallError, RpcClient};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use store::StoreError;
use tokio::task::{AbortHandle, JoinSet};
use uuid::Uuid;

use super::background::BackgroundOutcome;
use super::follower::SessionFollower;
use super::frame_writer::{FrameOptions, FrameWriter};
use super::frames::{self, SessionInfo, TurnResult};
use super::inbox::{ClientInbox, ClientMessage};
use super::open_session::{EventFeed, OpenedSession, SessionOwner};
use super::prompt::ClientPrompt;
use super::state;
use super::structured::StructuredOutputState;
use super::turn_stats::TurnStatsCollector;
use super::wire::{ClientGone, ControlChannel};
use crate::{AdapterExit, session_uuid};

/// How often a client that says nothing more is looked after: one that died does not take what it is sent.
const PROBE: Duration = Duration::from_millis(500);

/// What a client is told whose session is another's, when that one has left.
const OWNER_LEFT: &str = "the session ended because the client that owns it left; resume the session to go on";

/// How the client wants to be treated.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ClientOptions {
    /// What it is shown.
    pub(super) frames: FrameOptions,
    /// Whether it decides about calls.
    pub(super) decides: bool,
    /// Whether it gets its own messages back.
    pub(super) replays: bool,
    /// Whether a policy forbids the mode in which every call runs.
    pub(super) forbids_bypass: bool,
}

/// The talk with a client.
pub(super) struct ClientConversation {
    pub(super) session: Uuid,
    pub(super) root: TaskId,
    pub(super) api: Arc<RpcClient>,
    pub(super) control: Arc<ControlChannel>,
    pub(super) info: SessionInfo,
    pub(super) options: ClientOptions,
    pub(super) frame_writer: FrameWriter,
    pub(super) stats: TurnStatsCollector,
    pub(super) follower: SessionFollower,
    /// The form that answers must have, if the client wants one.
    pub(super) structured: Option<StructuredOutputState>,
    pub(super) background: JoinSet<BackgroundOutcome>,
    /// The background work that waits for a decision of the client's.
    pub(super) open_asks: HashMap<(TaskId, CallId), AbortHandle>,
    /// Messages that wait for their turn.
    pub(super) queue: VecDeque<ClientPrompt>,
    /// Whether a message of the client's is under way, from its sending to the end of its turn.
    pub(super) is_prompt_pending: bool,
    /// Whether the message that is under way is to be broken off as soon as it is read.
    pub(super) interrupt_when_read: bool,
    /// Whether the root's activation has read a message of a user's.
    pub(super) has_read_prompt: bool,
    /// Whether the root's activation has read of something that it left running.
    pub(super) was_woken: bool,
    /// Messages to the root that it has not read, and who sent them.
    pub(super) unread_mail: HashMap<MailId, Principal>,
    /// What sort of work every task is.
    pub(super) task_kinds: HashMap<TaskId, TaskType>,
    /// Agents below the root that are at work.
    pub(super) busy_agents: HashSet<TaskId>,
    /// The session's state, as it was last told.
    pub(super) status: Option<StatusView>,
    /// The last event that was shown.
    pub(super) seq: u64,
    /// How the last turn ended.
    pub(super) last_result: Option<TurnResult>,
    /// The model that the session was opened with.
    pub(super) model: String,
    /// Whether something waits for a decision that the client will not make.
    pub(super) is_unanswered: bool,
    /// Whether the client says nothing more.
    is_input_closed: bool,
}

/// Why a talk ends.
pub(super) enum ConversationEnd {
    /// The client has all it asked for, and wants no more.
    Done,
    /// The client is gone, or will not say what is waited for.
    Left,
    /// The session is another client's, which has left.
    OwnerLeft,
    /// What the client says cannot be read, or the session is gone.
    Broken(String),
}

impl From<ClientGone> for ConversationEnd {
    fn from(_: ClientGone) -> ConversationEnd {
        ConversationEnd::Left
    }
}

impl ClientConversation {
    /// The talk about a session that was opened, and the parts that stay with whoever runs it.
    pub(super) fn new(
        opened: OpenedSession,
        control: Arc<ControlChannel>,
        manner: ClientOptions,
        watch: SessionFollower,
        structured: Option<StructuredOutputState>,
    ) -> Option<(ClientConversation, SessionOwner, EventFeed)> {
        let OpenedSession { id, owner: run, api, events: news, tasks, info: intro, .. } = opened;
        let root = tasks.first()?.id;
        let session = session_uuid(id);
        let talk = ClientConversation {
            session,
            root,
            api,
            control,
            model: intro.model.clone(),
            info: intro,
            options: manner,
            frame_writer: FrameWriter::new(session, root, manner.frames),
            stats: TurnStatsCollector::new(root),
            follower: watch,
            structured,
            background: JoinSet::new(),
            open_asks: HashMap::new(),
            queue: VecDeque::new(),
            is_prompt_pending: false,
            interrupt_when_read: false,
            has_read_prompt: false,
            was_woken: false,
            task_kinds: tasks.into_iter().map(|task| (task.id, task.kind)).collect(),
            unread_mail: HashMap::new(),
            busy_agents: HashSet::new(),
            status: None,
            seq: 0,
            last_result: None,
            is_unanswered: false,
            is_input_closed: false,
        };
        Some((talk, run, news))
    }

    /// Takes in what happened before.
    pub(super) fn catch_up(&mut self, home: &Home, id: SessionId, upto: u64) -> Result<(), StoreError> {
        let (root, writer, mails) = (self.root, &mut self.frame_writer, &mut self.unread_mail);
        self.follower.catch_up(home, id, upto, |envelope| match &envelope.entry.event {
            Event::TaskCreated(_) => {
                writer.event(envelope);
            }
            // What a user said before was said by another client, or in another life.
            Event::MailAdmitted { mail, from: from @ Principal::Task { .. }, .. } if envelope.entry.task == root => {
                mails.insert(*mail, *from);
            }
            Event::MailDelivered { mail } if envelope.entry.task == root => {
                mails.retain(|unread, _from| !mail.contains(unread));
            }
            _other => {}
        })
    }

    /// Talks until the client is done or gone.
    pub(super) async fn run(
        mut self,
        mut inbox: ClientInbox,
        first: Option<Value>,
        mut news: EventFeed,
    ) -> AdapterExit {
        if self.begin(first).await.is_err() {
            return AdapterExit::Success;
        }
        let over = loop {
            if let Err(over) = self.step(&mut inbox, &mut news).await {
                break over;
            }
        };
        self.background.shutdown().await;
        match over {
            ConversationEnd::Left => AdapterExit::Success,
            ConversationEnd::Done if self.last_result.as_ref().is_some_and(TurnResult::is_failure) => {
                AdapterExit::Failed
            }
            ConversationEnd::Done => AdapterExit::Success,
            // One that has all it asked for has lost nothing.
            ConversationEnd::OwnerLeft if !self.is_prompt_pending && self.queue.is_empty() => {
                if !self.is_input_closed {
                    self.fail(OWNER_LEFT.into()).await;
                }
                AdapterExit::Success
            }
            ConversationEnd::OwnerLeft => {
                self.fail(OWNER_LEFT.into()).await;
                AdapterExit::Failed
            }
            ConversationEnd::Broken(words) => {
                tracing::error!("{words}");
                self.fail(words).await;
                AdapterExit::Failed
            }
        }
    }

    /// Tells the client why the session is over. One that is gone needs no result.
    async fn fail(&mut self, words: String) {
        let figures = self.stats.finish_turn();
        self.show(frames::result_frame(self.session, TurnResult::Failed(words), figures)).await.ok();
    }

    /// Begins with what waits, and with the first message if there is one.
    async fn begin(&mut self, first: Option<Value>) -> Result<(), ClientGone> {
        self.show_all(self.follower.tasks().recap()).await?;
        self.ask_again().await?;
        match first {
            Some(frame) => self.prompt(frame).await,
            None => Ok(()),
        }
    }

    async fn step(&mut self, inbox: &mut ClientInbox, news: &mut EventFeed) -> Result<(), ConversationEnd> {
        let control = Arc::clone(&self.control);
        tokio::select! {
            () = control.writer().gone() => Err(ConversationEnd::Left),
            said = inbox.next(), if !self.is_input_closed => self.handle_message(said).await,
            told = news.next() => match told {
                Ok(notice) => self.told(notice).await,
                Err(_closed) if self.info.is_attached => Err(ConversationEnd::OwnerLeft),
                Err(closed) => Err(ConversationEnd::Broken(closed.to_string())),
            },
            Some(outcome) = self.background.join_next() => match outcome {
                Ok(outcome) => Ok(self.came_back(outcome).await?),
                Err(error) if error.is_cancelled() => Ok(()),
                Err(error) => Err(ConversationEnd::Broken(error.to_string())),
            },
            () = tokio::time::sleep(PROBE), if self.is_input_closed => {
                Ok(self.show(json!({ "type": "keep_alive" })).await?)
            }
        }?;
        self.is_done()
    }

    async fn handle_message(&mut self, said: ClientMessage) -> Result<(), ConversationEnd> {
        match said {
            ClientMessage::Request { id, request } => Ok(self.request(&id, request).await?),
            ClientMessage::User(frame) => Ok(self.prompt(frame).await?),
            ClientMessage::End => {
                self.is_input_closed = true;
                Ok(())
            }
            ClientMessage::Broken(error) => Err(ConversationEnd::Broken(error.to_string())),
        }
    }

    /// Whether there is nothing left to do for a client that says nothing more.
    fn is_done(&self) -> Result<(), ConversationEnd> {
        if self.is_input_closed && self.is_unanswered {
            return Err(ConversationEnd::Left);
        }
        let Some(status) = self.status.as_ref().filter(|status| self.is_input_closed && status.seq >= self.seq) else {
            return Ok(());
        };
        let has_all = !self.is_prompt_pending && self.queue.is_empty() && self.background.is_empty();
        // What another process runs goes on without this client.
        let may_go = self.info.is_attached || (self.busy_agents.is_empty() && state::is_resting(status));
        if has_all && may_go { Err(ConversationEnd::Done) } else { Ok(()) }
    }

    /// Tells the client how the session stands. A message of the client's that is on its way is work to come.
    pub(super) async fn show_state(&mut self) -> Result<(), ClientGone> {
        let messages = self.queue.len() + usize::from(self.is_prompt_pending);
        let shown = self.status.as_ref().and_then(|status| self.follower.status(status, messages));
        self.show_all(shown.into_iter().collect()).await
    }

    /// Tells the client of the mode.
    pub(super) async fn show_mode(&self) -> Result<(), ClientGone> {
        let told = json!({ "status": null, "permissionMode": self.info.mode.as_str() });
        self.show(frames::system(self.session, "status", told)).await
    }

    /// Shows the client frames.
    pub(super) async fn show_all(&self, frames: Vec<Value>) -> Result<(), ClientGone> {
        for frame in frames {
            self.show(frame).await?;
        }
        Ok(())
    }

    /// Shows the client a frame.
    pub(super) async fn show(&self, frame: Value) -> Result<(), ClientGone> {
        self.control.writer().send(frame).await
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

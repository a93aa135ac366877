//! The conversation with a client whose session is open: handles the client's messages, the session's events and the
//! results of background work, one after the other.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use client::StoreError;
use host::Home;
use protocol::api::{Method, RenameSessionParams, StatusView};
use protocol::{CallId, Event, MailId, Principal, ReasoningEffort, SessionId, TaskId, TaskType};
use rpc::{CallError, RpcClient};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use server::SessionHost;
use tokio::task::{AbortHandle, JoinSet};
use uuid::Uuid;

use super::background::BackgroundOutcome;
use super::client_setup::ClientSetup;
use super::deciding_tool::DecidingTool;
use super::follower::SessionFollower;
use super::frame_writer::{FrameOptions, FrameWriter};
use super::frames::{self, SessionInfo, TurnResult};
use super::inbox::{ClientInbox, ClientMessage};
use super::mcp_servers::ServerConnector;
use super::mode::ClaudePermissionMode;
use super::open_session::{EventFeed, OpenedSession, SessionOwner};
use super::own_mail::OwnMail;
use super::prompt::ClientPrompt;
use super::state;
use super::structured::StructuredOutputState;
use super::turn_stats::TurnStatsCollector;
use super::wire::{ClientGone, ControlChannel};
use crate::{AdapterExit, session_uuid};

/// How often to probe a client that has closed its input: writing to a dead client fails.
const PROBE_INTERVAL: Duration = Duration::from_millis(500);

/// Sent to an attached client when the client that owns the session has left.
const OWNER_LEFT: &str = "the session ended because the client that owns it left; resume the session to continue";

/// Options of the client.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ClientOptions {
    /// Which frames it receives.
    pub(super) frames: FrameOptions,
    /// Whether it decides about calls.
    pub(super) decides: bool,
    /// Whether its own messages are replayed to it.
    pub(super) replays: bool,
    /// Whether a policy forbids the mode that allows every call.
    pub(super) forbids_bypass: bool,
    /// Whether it may restore files.
    pub(super) keeps_checkpoints: bool,
    /// Whether calls that need a decision are denied without asking it.
    pub(super) denies_instead_of_asking: bool,
    /// Whether it wants to know what the user may say next.
    pub(super) wants_suggestions: bool,
    /// The reasoning effort at the start, if it names one.
    pub(super) effort: Option<ReasoningEffort>,
}

/// The conversation with a client.
pub(super) struct ClientConversation {
    pub(super) session: Uuid,
    pub(super) root: TaskId,
    pub(super) api: Arc<RpcClient>,
    pub(super) control: Arc<ControlChannel>,
    pub(super) sessions: Arc<SessionHost>,
    pub(super) info: SessionInfo,
    pub(super) options: ClientOptions,
    pub(super) frame_writer: FrameWriter,
    pub(super) stats: TurnStatsCollector,
    pub(super) follower: SessionFollower,
    /// The MCP servers of the session and of the client.
    pub(super) servers: ServerConnector,
    /// The state of structured output, if the client wants it.
    pub(super) structured_output: Option<StructuredOutputState>,
    pub(super) background: JoinSet<BackgroundOutcome>,
    /// Background work that waits for the client's decision.
    pub(super) open_asks: HashMap<(TaskId, CallId), AbortHandle>,
    /// Queued messages.
    pub(super) queue: VecDeque<ClientPrompt>,
    /// The message that ends the conversation, so that a new one begins.
    pub(super) clearing: Option<ClientPrompt>,
    /// The messages that the client has sent, by its ids.
    pub(super) sent: HashMap<String, MailId>,
    /// The messages that are the client's own.
    pub(super) own_mail: OwnMail,
    /// The ends of activations that may have read the message that is being sent, and what they have read.
    pub(super) unsettled_ends: Vec<(TurnResult, Vec<MailId>)>,
    /// Messages that want no answer; the next one that does takes them along.
    pub(super) held_prompts: Vec<ClientPrompt>,
    /// The tool that decides about calls, if the client names one.
    pub(super) decider: Option<DecidingTool>,
    /// The title that the client gives the session.
    title: Option<String>,
    /// Who wrote the message that is being processed, as the client marks it.
    pub(super) prompt_origin: Option<Value>,
    /// What the client must know about its options; sent with its first turn.
    pub(super) warnings: Vec<String>,
    /// Whether a message of the client is being processed, from its sending to the end of its turn.
    pub(super) is_prompt_pending: bool,
    /// Whether to interrupt the current message as soon as the root reads it.
    pub(super) interrupt_when_read: bool,
    /// Whether the root's activation has read a user's message.
    pub(super) has_read_prompt: bool,
    /// Whether the root's activation has read a message from a background task or the runtime.
    pub(super) was_woken: bool,
    /// Unread messages to the root, and their senders.
    pub(super) unread_mail: HashMap<MailId, Principal>,
    /// The type of every task.
    pub(super) task_kinds: HashMap<TaskId, TaskType>,
    /// Agents below the root that are working.
    pub(super) busy_agents: HashSet<TaskId>,
    /// The session's last reported state.
    pub(super) status: Option<StatusView>,
    /// The last event that was sent to the client.
    pub(super) last_seq: u64,
    /// How the last turn ended.
    pub(super) last_result: Option<TurnResult>,
    /// The model that the session was opened with.
    pub(super) model: String,
    /// Whether an ask waits for a decision that the client will not make.
    pub(super) is_unanswered: bool,
    /// Whether the client has closed its input.
    is_input_closed: bool,
    /// Whether the client has cleared the conversation before this one.
    follows_another: bool,
}

/// How a conversation ended.
pub(super) enum ConversationExit {
    /// The adapter ends, too.
    Ended(AdapterExit),
    /// The client cleared it: another one follows.
    Cleared(ClearedConversation),
}

/// What a conversation hands over to the one that follows it.
#[derive(Debug)]
pub(super) struct ClearedConversation {
    /// The id of the next session.
    pub(super) next: Uuid,
    /// Messages that are for it.
    queue: VecDeque<ClientPrompt>,
    /// The model, unless another process runs the session.
    pub(super) model: Option<String>,
    /// The permission mode.
    pub(super) mode: ClaudePermissionMode,
    is_input_closed: bool,
}

/// Why a conversation ends.
pub(super) enum ConversationEnd {
    /// The client has received everything it asked for.
    Done,
    /// The client has cleared it.
    Cleared(ClientPrompt),
    /// The client is gone, or will not answer a pending ask.
    Left,
    /// The client that owns the session has left.
    OwnerLeft,
    /// The client's input cannot be read, or the session is gone.
    Broken(String),
}

impl From<ClientGone> for ConversationEnd {
    fn from(_: ClientGone) -> ConversationEnd {
        ConversationEnd::Left
    }
}

impl ClientConversation {
    /// Starts a conversation about an opened session. Also returns the parts that the caller keeps. `None` if the
    /// session has no tasks.
    pub(super) fn new(
        opened: OpenedSession,
        (sessions, control): (Arc<SessionHost>, Arc<ControlChannel>),
        options: ClientOptions,
        follower: SessionFollower,
        setup: &ClientSetup,
    ) -> Option<(ClientConversation, SessionOwner, EventFeed)> {
        let OpenedSession { id, owner, api, events, tasks, info, .. } = opened;
        let root = tasks.first()?.id;
        let session = session_uuid(id);
        let servers = ServerConnector::new(Arc::clone(&api), Arc::clone(&control), Arc::clone(&setup.servers));
        let conversation = ClientConversation {
            session,
            root,
            api,
            control,
            sessions,
            model: info.model.clone(),
            info,
            options,
            frame_writer: FrameWriter::new(session, root, options.frames),
            stats: TurnStatsCollector::new(root),
            follower,
            servers,
            structured_output: setup.structured.as_ref().map(StructuredOutputState::restarted),
            background: JoinSet::new(),
            open_asks: HashMap::new(),
            queue: VecDeque::new(),
            clearing: None,
            sent: HashMap::new(),
            own_mail: OwnMail::default(),
            unsettled_ends: Vec::new(),
            held_prompts: Vec::new(),
            decider: setup.decider.clone(),
            title: setup.title.clone(),
            prompt_origin: None,
            warnings: setup.warnings.clone(),
            is_prompt_pending: false,
            interrupt_when_read: false,
            has_read_prompt: false,
            was_woken: false,
            task_kinds: tasks.into_iter().map(|task| (task.id, task.kind)).collect(),
            unread_mail: HashMap::new(),
            busy_agents: HashSet::new(),
            status: None,
            last_seq: 0,
            last_result: None,
            is_unanswered: false,
            is_input_closed: false,
            follows_another: false,
        };
        Some((conversation, owner, events))
    }

    /// Continues after a conversation that the client cleared.
    pub(super) fn follow(&mut self, earlier: ClearedConversation) {
        self.queue = earlier.queue;
        self.is_input_closed = earlier.is_input_closed;
        self.follows_another = true;
        self.warnings.clear();
    }

    /// Processes the events up to `upto` without sending frames.
    pub(super) fn catch_up(&mut self, home: &Home, id: SessionId, upto: u64) -> Result<(), StoreError> {
        let (root, writer, mails) = (self.root, &mut self.frame_writer, &mut self.unread_mail);
        self.follower.catch_up(home, id, upto, |envelope| match &envelope.entry.event {
            Event::TaskCreated(_) => {
                writer.event_frames(envelope);
            }
            // Earlier messages of a user came from another client or a previous process.
            Event::MailAdmitted { mail, from: from @ Principal::Task { .. }, .. } if envelope.entry.task == root => {
                mails.insert(*mail, *from);
            }
            Event::MailDelivered { mail } if envelope.entry.task == root => {
                mails.retain(|unread, _from| !mail.contains(unread));
            }
            _other => {}
        })
    }

    /// Runs until the client is done or gone.
    pub(super) async fn run(
        mut self,
        inbox: &mut ClientInbox,
        first_prompt: Option<Value>,
        mut events: EventFeed,
    ) -> ConversationExit {
        if self.begin(first_prompt).await.is_err() {
            return ConversationExit::Ended(AdapterExit::Success);
        }
        let end = loop {
            if let Some(prompt) = self.clearing.take() {
                break ConversationEnd::Cleared(prompt);
            }
            if let Err(end) = self.step(inbox, &mut events).await {
                break end;
            }
        };
        self.background.shutdown().await;
        ConversationExit::Ended(match end {
            ConversationEnd::Cleared(prompt) => return self.hand_over(&prompt).await,
            ConversationEnd::Left => AdapterExit::Success,
            ConversationEnd::Done if self.last_result.as_ref().is_some_and(TurnResult::is_failure) => {
                AdapterExit::Failed
            }
            ConversationEnd::Done => AdapterExit::Success,
            // A client without pending messages has lost nothing.
            ConversationEnd::OwnerLeft if !self.is_prompt_pending && self.queue.is_empty() => {
                if !self.is_input_closed {
                    self.send_failure(OWNER_LEFT.into()).await;
                }
                AdapterExit::Success
            }
            ConversationEnd::OwnerLeft => {
                self.send_failure(OWNER_LEFT.into()).await;
                AdapterExit::Failed
            }
            ConversationEnd::Broken(message) => {
                tracing::error!("{message}");
                self.send_failure(message).await;
                AdapterExit::Failed
            }
        })
    }

    /// Tells the client that a new conversation follows.
    async fn hand_over(mut self, prompt: &ClientPrompt) -> ConversationExit {
        let next = Uuid::now_v7();
        if self.send_frame(frames::reset_frame(self.session, next, prompt.uuid())).await.is_err() {
            return ConversationExit::Ended(AdapterExit::Success);
        }
        ConversationExit::Cleared(ClearedConversation {
            next,
            queue: std::mem::take(&mut self.queue),
            model: (!self.info.is_attached).then(|| self.info.model.clone()),
            mode: self.info.mode,
            is_input_closed: self.is_input_closed,
        })
    }

    /// Reports to the client why the session ended. A client that is gone needs no result.
    async fn send_failure(&mut self, message: String) {
        let stats = self.stats.finish_turn();
        self.send_frame(frames::result_frame(self.session, TurnResult::Failed(message), stats)).await.ok();
    }

    /// Sends pending tasks and asks to the client, then processes its first message if there is one.
    async fn begin(&mut self, first_prompt: Option<Value>) -> Result<(), ClientGone> {
        if !self.info.is_attached {
            self.servers.connect_own().await;
        }
        let mirrored = self.follower.take_mirror_frames();
        self.send_frames(mirrored).await?;
        self.send_frames(self.follower.tasks().running_task_frames()).await?;
        self.send_open_asks().await?;
        if let Some(title) = self.title.take().filter(|_| !self.info.is_attached) {
            self.call_or_warn(Method::SessionRename, json!(RenameSessionParams { title })).await;
        }
        if self.follows_another {
            self.answer_clearing().await?;
        }
        match first_prompt {
            Some(frame) => self.accept_prompt(frame).await,
            None => Ok(()),
        }
    }

    async fn step(&mut self, inbox: &mut ClientInbox, events: &mut EventFeed) -> Result<(), ConversationEnd> {
        let control = Arc::clone(&self.control);
        tokio::select! {
            () = control.writer().gone() => Err(ConversationEnd::Left),
            message = inbox.next(), if !self.is_input_closed => self.handle_message(message).await,
            notification = events.next() => match notification {
                Ok(notification) => self.handle_notification(notification).await,
                Err(_closed) if self.info.is_attached => Err(ConversationEnd::OwnerLeft),
                Err(closed) => Err(ConversationEnd::Broken(closed.to_string())),
            },
            Some(outcome) = self.background.join_next() => match outcome {
                Ok(outcome) => Ok(self.handle_outcome(outcome).await?),
                Err(error) if error.is_cancelled() => Ok(()),
                Err(error) => Err(ConversationEnd::Broken(error.to_string())),
            },
            () = tokio::time::sleep(PROBE_INTERVAL), if self.is_input_closed => {
                Ok(self.send_frame(json!({ "type": "keep_alive" })).await?)
            }
        }?;
        self.check_done()
    }

    async fn handle_message(&mut self, message: ClientMessage) -> Result<(), ConversationEnd> {
        match message {
            ClientMessage::Request { id, request } => Ok(self.handle_request(&id, request).await?),
            ClientMessage::User(frame) => Ok(self.accept_prompt(frame).await?),
            ClientMessage::End => {
                self.is_input_closed = true;
                Ok(())
            }
            ClientMessage::Broken(error) => Err(ConversationEnd::Broken(error.to_string())),
        }
    }

    /// Returns an error when there is nothing left to do for a client that has closed its input.
    fn check_done(&self) -> Result<(), ConversationEnd> {
        if self.is_input_closed && self.is_unanswered {
            return Err(ConversationEnd::Left);
        }
        let Some(status) = self.status.as_ref().filter(|status| self.is_input_closed && status.seq >= self.last_seq)
        else {
            return Ok(());
        };
        let is_complete = !self.is_prompt_pending && self.queue.is_empty() && self.background.is_empty();
        // A session that another process runs continues without this client.
        let may_leave = self.info.is_attached || (self.busy_agents.is_empty() && state::is_root_idle(status));
        if is_complete && may_leave { Err(ConversationEnd::Done) } else { Ok(()) }
    }

    /// Sends the session's state. A message of the client that is being processed counts as pending work.
    pub(super) async fn send_state(&mut self) -> Result<(), ClientGone> {
        let messages = self.queue.len() + usize::from(self.is_prompt_pending);
        let frame = self.status.as_ref().and_then(|status| self.follower.status_frame(status, messages));
        self.send_frames(frame.into_iter().collect()).await
    }

    /// Sends the permission mode.
    pub(super) async fn send_mode(&self) -> Result<(), ClientGone> {
        let fields = json!({ "status": null, "permissionMode": self.info.mode.as_str() });
        self.send_frame(frames::system_frame(self.session, "status", fields)).await
    }

    /// Sends frames to the client.
    pub(super) async fn send_frames(&self, frames: Vec<Value>) -> Result<(), ClientGone> {
        for frame in frames {
            self.send_frame(frame).await?;
        }
        Ok(())
    }

    /// Sends a frame to the client.
    pub(super) async fn send_frame(&self, frame: Value) -> Result<(), ClientGone> {
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

//! Follows a session's events: from its file up to the last one, then from the process that runs it; if that is this
//! process, from its owner, who shares them. Every event is returned once, in order, even if that process ends and
//! another one adopts the session.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use protocol::api::{Method, Nothing, StatusView, SubscribeParams};
use protocol::{Envelope, TaskId, Turn};
use rpc::{CallError, Notifications, RpcClient, RpcNotification};
use serde::Deserialize;
use store::StoreError;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::{ClientError, InProcessMessages, InProcessSession, SessionHandle, StoredSession};

/// The number of events read per page.
pub(crate) const EVENTS_PER_PAGE: usize = 512;

/// How long an owner may take from closing its socket to releasing the file, and from adopting the session to listening.
const REACHABLE_TIMEOUT: Duration = Duration::from_secs(5);

/// How often an owner that cannot be reached is tried again.
const RETRY_PAUSE: Duration = Duration::from_millis(20);

/// How long the next session host may take to adopt the sessions of one that ended.
const ADOPTION_TIMEOUT: Duration = Duration::from_secs(30);

/// How often the file of a session without an owner is checked for a new one.
const NEW_OWNER_POLL: Duration = Duration::from_millis(100);

/// A message of a session to its followers.
#[derive(Debug, Clone, PartialEq)]
pub enum SessionMessage {
    /// A committed event.
    Event(Arc<Envelope>),
    /// More text of a streamed answer.
    Text {
        /// The agent that answers.
        task: TaskId,
        /// Its turn.
        turn: Turn,
        /// The text.
        text: String,
    },
    /// The session's status, after the events that led to it.
    Status(StatusView),
}

/// How to follow a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FollowOptions {
    /// The least time between two batches of messages; later ones are sent together.
    pub pause: Duration,
    /// How long to wait for another process to adopt the session after its owner has left.
    pub new_owner_wait: Duration,
}

/// The events of a session after a sequence number. Dropping the future of [`EventStream::next`] loses nothing.
#[derive(Debug)]
pub struct EventStream {
    session: SessionHandle,
    options: FollowOptions,
    last_seq: u64,
    /// Events that were read from the file but not returned yet.
    unread: VecDeque<Envelope>,
    /// The last status that was returned.
    status: Option<StatusView>,
    source: EventSource,
}

/// Where the next events come from.
#[derive(Debug)]
enum EventSource {
    /// The file.
    File(FileSource),
    /// The process that runs the session.
    Owner(OwnerSource),
    /// The owner in this process.
    InProcess(Box<dyn InProcessMessages>),
    /// There are no more.
    End,
}

#[derive(Debug, Default)]
struct FileSource {
    /// The file, between two pages.
    stored: Option<StoredSession>,
    /// A page that is being read.
    page: Option<JoinHandle<Result<FilePage, StoreError>>>,
    /// What has been missing since when.
    missing: Option<(MissingPeer, Instant)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MissingPeer {
    /// No process runs the session.
    Owner,
    /// A process runs the session, and its socket cannot be reached.
    Socket,
}

/// A page of the log, and the process that ran the session before the page was read: an owner that is gone by then has
/// written all its events.
#[derive(Debug)]
struct FilePage {
    /// The file it was read from.
    stored: StoredSession,
    owner: Option<u32>,
    events: Vec<Envelope>,
}

type Subscribing = Pin<Box<dyn Future<Output = Result<Nothing, CallError>> + Send + Sync>>;

struct OwnerSource {
    notifications: Notifications,
    /// The call that subscribes, until it is answered.
    subscribing: Option<Subscribing>,
    _client: Arc<RpcClient>,
}

impl fmt::Debug for OwnerSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnerSource").field("is_subscribed", &self.subscribing.is_none()).finish_non_exhaustive()
    }
}

/// More text of a streamed answer, as it is sent.
#[derive(Deserialize)]
struct TextDelta {
    task: TaskId,
    turn: Turn,
    text: String,
}

impl EventStream {
    pub(crate) fn new(session: SessionHandle, after: u64, options: FollowOptions) -> EventStream {
        let source = EventSource::File(FileSource::default());
        EventStream { session, options, last_seq: after, unread: VecDeque::new(), status: None, source }
    }

    pub(crate) fn in_process(
        handle: SessionHandle,
        session: &dyn InProcessSession,
        after: u64,
        options: FollowOptions,
    ) -> EventStream {
        let source = EventSource::InProcess(session.messages(after, options.pause));
        EventStream { source, ..EventStream::new(handle, after, options) }
    }

    /// The sequence number of the last event that was returned.
    pub fn last_seq(&self) -> u64 {
        self.last_seq
    }

    /// The session's status now, as far as it is known here: exactly, if this process runs the session.
    pub fn status(&self) -> Option<StatusView> {
        match &self.source {
            EventSource::InProcess(messages) => Some(messages.status()),
            EventSource::File(_) | EventSource::Owner(_) | EventSource::End => self.status.clone(),
        }
    }

    /// The next message; none when no process runs the session and every event has been returned.
    pub async fn next(&mut self) -> Result<Option<SessionMessage>, ClientError> {
        loop {
            if let Some(event) = self.unread.pop_front() {
                self.last_seq = event.seq;
                return Ok(Some(SessionMessage::Event(Arc::new(event))));
            }
            match &mut self.source {
                EventSource::End => return Ok(None),
                EventSource::File(_) => self.read_file().await?,
                EventSource::Owner(owner) => match owner.next().await? {
                    Some(notification) => {
                        if let Some(message) = self.accept(notification)? {
                            return Ok(Some(message));
                        }
                    }
                    None => self.source = EventSource::File(FileSource::default()),
                },
                EventSource::InProcess(messages) => match messages.next().await? {
                    Some(message) => {
                        if let SessionMessage::Event(event) = &message {
                            self.last_seq = event.seq;
                        }
                        return Ok(Some(message));
                    }
                    None => {
                        self.status = Some(messages.status());
                        self.source = self.source_after_owner();
                    }
                },
            }
        }
    }

    /// Where events come from when the owner in this process has left the session, after its last event.
    fn source_after_owner(&self) -> EventSource {
        match self.new_owner_wait().is_zero() {
            true => EventSource::End,
            false => EventSource::File(FileSource::default()),
        }
    }

    /// How long to wait for another process to adopt the session.
    fn new_owner_wait(&self) -> Duration {
        match self.session.home().is_held(self.session.id()) {
            true => self.options.new_owner_wait.max(ADOPTION_TIMEOUT),
            false => self.options.new_owner_wait,
        }
    }

    /// Reads the next page of the file; after the last one, connects to the owner. Everything that was reached stays in
    /// `self`, so that the next call continues there.
    async fn read_file(&mut self) -> Result<(), ClientError> {
        let EventSource::File(file) = &mut self.source else { return Ok(()) };
        let (session, after) = (&self.session, self.last_seq);
        let stored = &mut file.stored;
        let reading = file.page.get_or_insert_with(|| {
            let (session, stored) = (session.clone(), stored.take());
            tokio::task::spawn_blocking(move || FilePage::read(stored.map_or_else(|| session.stored(), Ok)?, after))
        });
        let page = reading.await;
        file.page = None;
        let FilePage { stored, owner, events } = page.map_err(ClientError::internal)??;
        // The file stays open only while the stream catches up: an open file may show an old state once its owner has gone.
        file.stored = (events.len() == EVENTS_PER_PAGE).then_some(stored);
        if !events.is_empty() {
            file.missing = None;
            self.unread = events.into();
            return Ok(());
        }
        let Some(pid) = owner else {
            let missing = file.missing_for(MissingPeer::Owner);
            if missing >= self.new_owner_wait() {
                self.source = EventSource::End;
            } else {
                tokio::time::sleep(NEW_OWNER_POLL).await;
            }
            return Ok(());
        };
        match session.connect().await {
            Ok((client, notifications)) => {
                let pause_ms = u64::try_from(self.options.pause.as_millis()).unwrap_or(u64::MAX);
                let from = SubscribeParams { after, pause_ms };
                self.source = EventSource::Owner(OwnerSource::subscribe(client, notifications, from));
            }
            Err(error) if file.missing_for(MissingPeer::Socket) > REACHABLE_TIMEOUT => {
                return Err(ClientError::NoAnswer { pid, why: error.to_string() });
            }
            Err(_not_listening) => tokio::time::sleep(RETRY_PAUSE).await,
        }
        Ok(())
    }

    /// The message of a notification, unless it was returned already.
    fn accept(&mut self, notification: RpcNotification) -> Result<Option<SessionMessage>, ClientError> {
        let RpcNotification { method, params } = notification;
        let unreadable = |error| ClientError::Call(CallError::Answer(error));
        match method.as_str() {
            "event" => {
                let event: Envelope = serde_json::from_value(params).map_err(unreadable)?;
                if event.seq > self.last_seq + 1 {
                    // The file has every event that an owner sends.
                    self.source = EventSource::File(FileSource::default());
                    return Ok(None);
                }
                if event.seq <= self.last_seq {
                    return Ok(None);
                }
                self.last_seq = event.seq;
                Ok(Some(SessionMessage::Event(Arc::new(event))))
            }
            "text" => {
                let TextDelta { task, turn, text } = serde_json::from_value(params).map_err(unreadable)?;
                Ok(Some(SessionMessage::Text { task, turn, text }))
            }
            "status" => {
                let status: StatusView = serde_json::from_value(params).map_err(unreadable)?;
                self.status = Some(status.clone());
                Ok(Some(SessionMessage::Status(status)))
            }
            _newer => Ok(None),
        }
    }
}

impl FileSource {
    /// How long something has been missing.
    fn missing_for(&mut self, peer: MissingPeer) -> Duration {
        let since = match self.missing {
            Some((missing, since)) if missing == peer => since,
            Some(_) | None => Instant::now(),
        };
        self.missing = Some((peer, since));
        since.elapsed()
    }
}

impl FilePage {
    fn read(stored: StoredSession, after: u64) -> Result<FilePage, StoreError> {
        let owner = stored.owner()?;
        let events = stored.events_after(after, EVENTS_PER_PAGE)?;
        Ok(FilePage { stored, owner, events })
    }
}

impl OwnerSource {
    fn subscribe(client: RpcClient, notifications: Notifications, from: SubscribeParams) -> OwnerSource {
        let client = Arc::new(client);
        let caller = Arc::clone(&client);
        let subscribing = async move { caller.call::<Nothing>(Method::EventsSubscribe, from).await };
        OwnerSource { notifications, subscribing: Some(Box::pin(subscribing)), _client: client }
    }

    /// The next notification; none when the owner has closed the connection.
    async fn next(&mut self) -> Result<Option<RpcNotification>, ClientError> {
        loop {
            tokio::select! {
                answer = answer_of(&mut self.subscribing) => {
                    self.subscribing = None;
                    match answer {
                        Ok(Nothing {}) => {}
                        Err(CallError::Refused(refused)) => return Err(ClientError::Refused(refused)),
                        Err(CallError::Closed(_)) => return Ok(None),
                        Err(error) => return Err(ClientError::Call(error)),
                    }
                }
                notification = self.notifications.next() => return Ok(notification.ok()),
            }
        }
    }
}

/// The answer to the call that subscribes; never returns once it is answered.
async fn answer_of(subscribing: &mut Option<Subscribing>) -> Result<Nothing, CallError> {
    match subscribing {
        Some(call) => call.await,
        None => std::future::pending().await,
    }
}

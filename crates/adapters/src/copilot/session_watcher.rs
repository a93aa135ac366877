//! One client's view of one session: it is told of everything in order, and asked what only it can answer.

use std::collections::HashSet;
use std::sync::Arc;

use host::{Ids, TimeIds};
use protocol::api::{AsksParams, AsksResult, Method, StatusView, SubscribeParams};
use protocol::{Ask, AskId, Envelope, Event, TaskId, Turn};
use rpc::{Notifications, RpcClient, RpcNotification};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use uuid::Uuid;

use super::events::{CopilotEvent, EventTranslator, message_id};
use super::hosted_session::HostedSession;
use super::idle::{IdleReport, IdleTracker};
use super::session_clients::{EphemeralEvent, SessionClient};

/// What a watch is begun with.
pub(crate) struct WatcherStart {
    pub(crate) session: Arc<HostedSession>,
    pub(crate) member: Arc<SessionClient>,
    pub(crate) ephemeral_events: mpsc::Receiver<EphemeralEvent>,
    /// It knows what the client is not told.
    pub(crate) translator: EventTranslator,
    /// Whether the client is told that the session was taken up again.
    pub(crate) tells_resume: bool,
}

/// One client's view of one session.
pub(crate) struct SessionWatcher {
    pub(super) session: Arc<HostedSession>,
    pub(super) member: Arc<SessionClient>,
    translator: EventTranslator,
    tells_resume: bool,
    /// Asides whose call was not told of yet.
    early: Vec<EphemeralEvent>,
    /// The message that is being streamed, by its task and turn.
    streamed: HashSet<(TaskId, Turn)>,
    /// Calls of the client's tools that it was told of.
    announced: HashSet<Uuid>,
    /// Asks that were put to the client.
    pub(super) put: HashSet<AskId>,
    idle: IdleTracker,
    pub(super) questions: JoinSet<()>,
}

/// The client has left.
struct WatcherGone;

#[derive(Deserialize)]
struct TextNotification {
    task: TaskId,
    turn: Turn,
    text: String,
}

impl SessionWatcher {
    pub(crate) fn new(
        start: WatcherStart,
    ) -> (SessionWatcher, mpsc::Receiver<EphemeralEvent>, watch::Receiver<IdleReport>) {
        let WatcherStart { session: held, member, ephemeral_events: asides, translator, tells_resume } = start;
        let (resting, rests) = IdleTracker::new();
        let watch = SessionWatcher {
            session: held,
            member,
            translator,
            tells_resume,
            early: Vec::new(),
            streamed: HashSet::new(),
            announced: HashSet::new(),
            put: HashSet::new(),
            idle: resting,
            questions: JoinSet::new(),
        };
        (watch, asides, rests)
    }

    /// Tells the client of everything until it or the session is gone.
    pub(crate) async fn run(mut self, mut asides: mpsc::Receiver<EphemeralEvent>) {
        let (client, mut notifications) = match self.session.connect().await {
            Ok(link) => link,
            Err(error) => return tracing::warn!(%error, "a session cannot be watched"),
        };
        // Only a client that has left ends it early.
        let _gone = self.follow(&client, &mut notifications, &mut asides).await;
    }

    async fn follow(
        &mut self,
        client: &RpcClient,
        notifications: &mut Notifications,
        asides: &mut mpsc::Receiver<EphemeralEvent>,
    ) -> Result<(), WatcherGone> {
        self.replay_pending().await?;
        let from = SubscribeParams::after(self.translator.seq());
        if let Err(error) = client.call::<Value>(Method::EventsSubscribe, from).await {
            tracing::warn!(%error, "a session cannot be watched");
            return Ok(());
        }
        let member = Arc::clone(&self.member);
        loop {
            tokio::select! {
                biased;
                notification = notifications.next() => match notification {
                    Ok(notification) => self.handle_notification(notification).await?,
                    Err(_closed) => return Ok(()),
                },
                Some(aside) = asides.recv() => self.send_ephemeral(aside).await?,
                () = member.recheck_requested() => self.recheck().await?,
                Some(_) = self.questions.join_next() => {}
            }
        }
    }

    /// What waited before the client came: it is told again of whatever needs an answer.
    async fn replay_pending(&mut self) -> Result<(), WatcherGone> {
        if self.translator.seq() == 0 {
            return Ok(());
        }
        self.announce_tool_calls().await?;
        let open = self.session.call::<AsksResult>(Method::AsksList, AsksParams::default()).await;
        for row in open.map(|open| open.asks).unwrap_or_default() {
            // What is asked from now on is told as an event.
            if !self.translator.has_asked(&row.ask.id) {
                continue;
            }
            let wire = self.translator.question(&row.ask);
            self.send_event(CopilotEvent { ephemeral: true, ..wire }).await?;
            self.put(row.ask);
        }
        Ok(())
    }

    /// Takes over what another client was to answer, and what this one was not told of.
    async fn recheck(&mut self) -> Result<(), WatcherGone> {
        self.announce_tool_calls().await?;
        let open = self.session.call::<AsksResult>(Method::AsksList, AsksParams::default()).await;
        for row in open.map(|open| open.asks).unwrap_or_default() {
            // What it has not heard of yet is put to it when it does.
            if self.translator.has_asked(&row.ask.id) {
                self.put(row.ask);
            }
        }
        Ok(())
    }

    /// Tells of every call that waits for a client and that this one was not told of.
    async fn announce_tool_calls(&mut self) -> Result<(), WatcherGone> {
        let waiting = self.session.tool_calls.pending_events();
        self.announced.retain(|id| waiting.iter().any(|aside| aside.id == *id));
        for aside in waiting {
            self.send_ephemeral(aside).await?;
        }
        Ok(())
    }

    async fn handle_notification(
        &mut self,
        RpcNotification { method, params }: RpcNotification,
    ) -> Result<(), WatcherGone> {
        match method.as_str() {
            "event" => match serde_json::from_value(params) {
                Ok(envelope) => self.event(envelope).await,
                Err(error) => {
                    tracing::warn!(%error, "an event is not understood");
                    Ok(())
                }
            },
            "text" if self.member.capabilities.streaming => match serde_json::from_value(params) {
                Ok(text) => self.text(text).await,
                Err(_) => Ok(()),
            },
            "status" => match serde_json::from_value(params) {
                Ok(status) => self.status(status).await,
                Err(_) => Ok(()),
            },
            _other => Ok(()),
        }
    }

    async fn event(&mut self, envelope: Envelope) -> Result<(), WatcherGone> {
        let ask = self.track(&envelope);
        let is_resume = matches!(envelope.entry.event, Event::SessionAdopted { .. });
        for event in self.translator.read(envelope) {
            if is_resume && !self.tells_resume {
                continue;
            }
            self.idle.observe_event(&event);
            self.send(event).await?;
        }
        if let Some(ask) = ask {
            self.put(ask);
        }
        for aside in std::mem::take(&mut self.early) {
            self.send_ephemeral(aside).await?;
        }
        Ok(())
    }

    /// Keeps what is told of later; gives what the entry asks.
    fn track(&mut self, envelope: &Envelope) -> Option<Ask> {
        self.idle.observe_entry(envelope, self.translator.is_root(envelope.entry.task));
        match &envelope.entry.event {
            Event::TurnAnswered { turn, .. } | Event::TurnFailed { turn, .. } => {
                self.streamed.remove(&(envelope.entry.task, *turn));
                None
            }
            Event::AskOpened(ask) => Some(ask.clone()),
            _other => None,
        }
    }

    async fn text(&mut self, TextNotification { task, turn, text }: TextNotification) -> Result<(), WatcherGone> {
        let whose = (!self.translator.is_root(task)).then_some(task);
        let message = message_id(task, turn);
        if self.streamed.insert((task, turn)) {
            self.send_event(
                CopilotEvent::transient("assistant.message_start", json!({ "messageId": message })).for_agent(whose),
            )
            .await?;
        }
        let content = json!({ "messageId": message, "deltaContent": text });
        self.send_event(CopilotEvent::transient("assistant.message_delta", content).for_agent(whose)).await
    }

    async fn status(&mut self, status: StatusView) -> Result<(), WatcherGone> {
        if let Some(why) = &status.paused {
            self.idle.mark_paused(why);
            self.send_event(CopilotEvent::transient("session.error", json!({ "errorType": "paused", "message": why })))
                .await?;
        }
        if let Some(aborted) = self.idle.check_idle(&status) {
            let content = if aborted { json!({ "aborted": true }) } else { json!({}) };
            let event =
                self.translator.unlogged_event(CopilotEvent::transient("session.idle", content), TimeIds.uuid());
            self.send(event.clone()).await?;
            self.idle.mark_announced(event);
        }
        Ok(())
    }

    async fn send_ephemeral(&mut self, aside: EphemeralEvent) -> Result<(), WatcherGone> {
        let is_early = aside.after.as_ref().is_some_and(|(task, call)| !self.translator.has_call_begun(*task, call));
        if is_early {
            self.early.push(aside);
            return Ok(());
        }
        if aside.after.is_some() && !self.announced.insert(aside.id) {
            return Ok(());
        }
        let event = self.translator.unlogged_event(CopilotEvent::transient(aside.kind, aside.content), aside.id);
        self.send(event).await
    }

    async fn send_event(&self, wire: CopilotEvent) -> Result<(), WatcherGone> {
        let event = self.translator.unlogged_event(wire, TimeIds.uuid());
        self.send(event).await
    }

    async fn send(&self, event: Value) -> Result<(), WatcherGone> {
        let told = json!({ "sessionId": self.session.called(), "event": event });
        if self.member.peer.notify("session.event", told).await { Ok(()) } else { Err(WatcherGone) }
    }
}

//! Sends one session's events to one client, in order, and the asks that this client must answer.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

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

/// The initial state of a watcher.
pub(crate) struct WatcherStart {
    pub(crate) session: Arc<HostedSession>,
    pub(crate) session_client: Arc<SessionClient>,
    pub(crate) ephemeral_events: mpsc::Receiver<EphemeralEvent>,
    /// Has already read the entries that are not sent to the client.
    pub(crate) translator: EventTranslator,
    /// Whether the client receives an event for the resumption of the session.
    pub(crate) reports_resume: bool,
}

/// Sends one session's events to one client.
pub(crate) struct SessionWatcher {
    pub(super) session: Arc<HostedSession>,
    pub(super) session_client: Arc<SessionClient>,
    translator: EventTranslator,
    reports_resume: bool,
    /// Ephemeral events whose call has not been announced yet.
    early_events: Vec<EphemeralEvent>,
    /// The messages that are being streamed, by task and turn.
    streamed: HashSet<(TaskId, Turn)>,
    /// Calls of client tools that were announced to the client.
    announced_calls: HashSet<Uuid>,
    /// Asks that were sent to the client.
    pub(super) sent_asks: HashSet<AskId>,
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
        let WatcherStart { session, session_client, ephemeral_events, translator, reports_resume: tells_resume } =
            start;
        let (idle, reports) = IdleTracker::new();
        let watcher = SessionWatcher {
            session,
            session_client,
            translator,
            reports_resume: tells_resume,
            early_events: Vec::new(),
            streamed: HashSet::new(),
            announced_calls: HashSet::new(),
            sent_asks: HashSet::new(),
            idle,
            questions: JoinSet::new(),
        };
        (watcher, ephemeral_events, reports)
    }

    /// Runs until the client or the session is gone.
    pub(crate) async fn run(mut self, mut ephemeral_events: mpsc::Receiver<EphemeralEvent>) {
        let (client, mut notifications) = match self.session.connect().await {
            Ok(connection) => connection,
            Err(error) => return tracing::warn!(%error, "cannot watch a session"),
        };
        // Fails only if the client has left.
        let _gone = self.follow(&client, &mut notifications, &mut ephemeral_events).await;
    }

    async fn follow(
        &mut self,
        client: &RpcClient,
        notifications: &mut Notifications,
        ephemeral_events: &mut mpsc::Receiver<EphemeralEvent>,
    ) -> Result<(), WatcherGone> {
        self.replay_pending().await?;
        let from = SubscribeParams::after(self.translator.seq());
        if let Err(error) = client.call::<Value>(Method::EventsSubscribe, from).await {
            tracing::warn!(%error, "cannot watch a session");
            return Ok(());
        }
        let session_client = Arc::clone(&self.session_client);
        loop {
            tokio::select! {
                biased;
                notification = notifications.next() => match notification {
                    Ok(notification) => self.handle_notification(notification).await?,
                    Err(_closed) => break,
                },
                Some(event) = ephemeral_events.recv() => self.send_ephemeral(event).await?,
                () = session_client.recheck_requested() => self.recheck().await?,
                Some(_) = self.questions.join_next() => {}
            }
        }
        // The end of the session itself may be among them.
        while let Ok(event) = ephemeral_events.try_recv() {
            self.send_ephemeral(event).await?;
        }
        Ok(())
    }

    /// Sends the client everything that was waiting for an answer before it connected.
    async fn replay_pending(&mut self) -> Result<(), WatcherGone> {
        if self.translator.seq() == 0 {
            return Ok(());
        }
        self.announce_tool_calls().await?;
        let open = self.session.call::<AsksResult>(Method::AsksList, AsksParams::default()).await;
        for row in open.map(|open| open.asks).unwrap_or_default() {
            // Newer asks are sent as events.
            if !self.translator.is_ask_open(&row.ask.id) {
                continue;
            }
            let event = self.translator.ask_event(&row.ask);
            self.send_event(CopilotEvent { ephemeral: true, ..event }).await?;
            self.send_ask(row.ask);
        }
        Ok(())
    }

    /// Takes over requests that another client should have answered, or that this one missed.
    async fn recheck(&mut self) -> Result<(), WatcherGone> {
        self.announce_tool_calls().await?;
        let open = self.session.call::<AsksResult>(Method::AsksList, AsksParams::default()).await;
        for row in open.map(|open| open.asks).unwrap_or_default() {
            // Asks that are not announced yet are sent with their announcement.
            if self.translator.is_ask_open(&row.ask.id) {
                self.send_ask(row.ask);
            }
        }
        Ok(())
    }

    /// Announces every pending tool call that this client has not seen.
    async fn announce_tool_calls(&mut self) -> Result<(), WatcherGone> {
        let pending = self.session.tool_calls.pending_events();
        self.announced_calls.retain(|id| pending.iter().any(|event| event.id == *id));
        for event in pending {
            self.send_ephemeral(event).await?;
        }
        Ok(())
    }

    async fn handle_notification(
        &mut self,
        RpcNotification { method, params }: RpcNotification,
    ) -> Result<(), WatcherGone> {
        match method.as_str() {
            "event" => match serde_json::from_value(params) {
                Ok(envelope) => self.handle_event(envelope).await,
                Err(error) => {
                    tracing::warn!(%error, "cannot read an event");
                    Ok(())
                }
            },
            "text" if self.session_client.capabilities.streaming => match serde_json::from_value(params) {
                Ok(text) => self.handle_text(text).await,
                Err(_) => Ok(()),
            },
            "status" => match serde_json::from_value(params) {
                Ok(status) => self.handle_status(status).await,
                Err(_) => Ok(()),
            },
            _other => Ok(()),
        }
    }

    async fn handle_event(&mut self, envelope: Envelope) -> Result<(), WatcherGone> {
        let ask = self.update_state(&envelope);
        let is_resume = matches!(envelope.entry.event, Event::SessionAdopted { .. });
        if matches!(envelope.entry.event, Event::MailDelivered { .. }) {
            // The attachments of a message are known once it is sent.
            drop(self.session.attaching.read().await);
        }
        let seq = envelope.seq;
        let mut has_stored = false;
        for mut event in self.translator.translate_entry(envelope) {
            if is_resume && !self.reports_resume {
                continue;
            }
            self.session.client_events.complete(seq, &mut event);
            if event["type"] == "permission.requested" && self.session.approves_all.load(Ordering::Acquire) {
                // The client has decided already, and is not asked.
                event["data"]["resolvedByHook"] = true.into();
            }
            self.idle.observe_event(&event);
            has_stored |= event["ephemeral"] != true;
            self.send(event).await?;
        }
        if has_stored {
            self.send_updated().await?;
        }
        if let Some(ask) = ask {
            self.send_ask(ask);
        }
        for event in std::mem::take(&mut self.early_events) {
            self.send_ephemeral(event).await?;
        }
        Ok(())
    }

    /// Updates the state from a log entry; returns the ask that it opens.
    fn update_state(&mut self, envelope: &Envelope) -> Option<Ask> {
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

    async fn handle_text(
        &mut self,
        TextNotification { task, turn, text }: TextNotification,
    ) -> Result<(), WatcherGone> {
        let agent = (!self.translator.is_root(task)).then_some(task);
        let message = message_id(task, turn);
        if self.streamed.insert((task, turn)) {
            self.send_event(
                CopilotEvent::transient("assistant.message_start", json!({ "messageId": message })).for_agent(agent),
            )
            .await?;
        }
        let content = json!({ "messageId": message, "deltaContent": text });
        self.send_event(CopilotEvent::transient("assistant.message_delta", content).for_agent(agent)).await
    }

    async fn handle_status(&mut self, status: StatusView) -> Result<(), WatcherGone> {
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

    async fn send_ephemeral(&mut self, ephemeral: EphemeralEvent) -> Result<(), WatcherGone> {
        let is_early =
            ephemeral.after.as_ref().is_some_and(|(task, call)| !self.translator.has_call_begun(*task, call));
        if is_early {
            self.early_events.push(ephemeral);
            return Ok(());
        }
        if ephemeral.after.is_some() && !self.announced_calls.insert(ephemeral.id) {
            return Ok(());
        }
        let event = self.translator.unlogged_event(ephemeral.to_copilot(), ephemeral.id);
        self.send(event).await?;
        if ephemeral.is_stored { self.send_updated().await } else { Ok(()) }
    }

    /// Tells the client that the session's history has grown.
    async fn send_updated(&self) -> Result<(), WatcherGone> {
        let update = json!({ "type": "session.updated", "sessionId": self.session.name_for_clients() });
        if self.session_client.peer.notify("session.lifecycle", update).await { Ok(()) } else { Err(WatcherGone) }
    }

    async fn send_event(&self, event: CopilotEvent) -> Result<(), WatcherGone> {
        let event = self.translator.unlogged_event(event, TimeIds.uuid());
        self.send(event).await
    }

    async fn send(&self, event: Value) -> Result<(), WatcherGone> {
        let params = json!({ "sessionId": self.session.name_for_clients(), "event": event });
        if self.session_client.peer.notify("session.event", params).await { Ok(()) } else { Err(WatcherGone) }
    }
}

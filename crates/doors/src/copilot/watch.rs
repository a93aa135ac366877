//! One client's view of one session: it is told of everything in order, and asked what only it can answer.

use std::collections::HashSet;
use std::sync::Arc;

use host::{Clock, SystemClock};
use protocol::api::{AsksParams, AsksResult, Method, StatusView, SubscribeParams};
use protocol::{Ask, Envelope, Event, MailId, Outcome, TaskId, Turn};
use rpc::{Client, Notification, Notifications};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use uuid::Uuid;

use super::audience::{Aside, Member};
use super::events::{Translator, Wire, message_id};
use super::held::Held;

/// How the session came to rest last.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rest {
    /// The last of its own mail that was read before.
    pub(crate) read: Option<MailId>,
    /// The event that told of it.
    pub(crate) event: Option<Value>,
    /// What its own agent said last.
    pub(crate) said: Option<Value>,
    /// Why it could not go on.
    pub(crate) error: Option<String>,
    pub(crate) aborted: bool,
}

/// What a watch is begun with.
pub(crate) struct Start {
    pub(crate) held: Arc<Held>,
    pub(crate) member: Arc<Member>,
    pub(crate) asides: mpsc::Receiver<Aside>,
    /// It knows what the client is not told.
    pub(crate) translator: Translator,
    /// Whether the client is told that the session was taken up again.
    pub(crate) tells_resume: bool,
}

/// One client's view of one session.
pub(crate) struct Watch {
    pub(super) held: Arc<Held>,
    pub(super) member: Arc<Member>,
    translator: Translator,
    tells_resume: bool,
    /// Asides whose call was not told of yet.
    early: Vec<Aside>,
    /// The message that is being streamed, by its task and turn.
    streamed: HashSet<(TaskId, Turn)>,
    /// Calls of the client's tools that it was told of.
    announced: HashSet<Uuid>,
    is_busy: bool,
    rest: Rest,
    rests: watch::Sender<Rest>,
    pub(super) questions: JoinSet<()>,
}

/// The client has left.
struct Gone;

#[derive(Deserialize)]
struct Text {
    task: TaskId,
    turn: Turn,
    text: String,
}

impl Watch {
    pub(crate) fn new(start: Start) -> (Watch, mpsc::Receiver<Aside>, watch::Receiver<Rest>) {
        let Start { held, member, asides, translator, tells_resume } = start;
        let (rests, resting) = watch::channel(Rest::default());
        let watch = Watch {
            held,
            member,
            translator,
            tells_resume,
            early: Vec::new(),
            streamed: HashSet::new(),
            announced: HashSet::new(),
            is_busy: false,
            rest: Rest::default(),
            rests,
            questions: JoinSet::new(),
        };
        (watch, asides, resting)
    }

    /// Tells the client of everything until it or the session is gone.
    pub(crate) async fn run(mut self, mut asides: mpsc::Receiver<Aside>) {
        let (client, mut notifications) = match self.held.link().await {
            Ok(link) => link,
            Err(error) => return tracing::warn!(%error, "a session cannot be watched"),
        };
        // Only a client that has left ends it early.
        let _gone = self.attend(&client, &mut notifications, &mut asides).await;
    }

    async fn attend(
        &mut self,
        client: &Client,
        notifications: &mut Notifications,
        asides: &mut mpsc::Receiver<Aside>,
    ) -> Result<(), Gone> {
        self.repeat().await?;
        let from = SubscribeParams { after: self.translator.seq() };
        if let Err(error) = client.call::<Value>(Method::EventsSubscribe, from).await {
            tracing::warn!(%error, "a session cannot be watched");
            return Ok(());
        }
        loop {
            tokio::select! {
                biased;
                notification = notifications.next() => match notification {
                    Ok(notification) => self.notified(notification).await?,
                    Err(_closed) => return Ok(()),
                },
                Some(aside) = asides.recv() => {
                    self.aside(aside).await?;
                    if self.member.takes_miss() {
                        self.announce().await?;
                    }
                }
                Some(_) = self.questions.join_next() => {}
            }
        }
    }

    /// What waited before the client came: it is told again of whatever needs an answer.
    async fn repeat(&mut self) -> Result<(), Gone> {
        if self.translator.seq() == 0 {
            return Ok(());
        }
        self.announce().await?;
        let open = self.held.call::<AsksResult>(Method::AsksList, AsksParams::default()).await;
        for row in open.map(|open| open.asks).unwrap_or_default() {
            // What is asked from now on is told as an event.
            if !self.translator.has_asked(&row.ask.id) {
                continue;
            }
            let wire = self.translator.question(&row.ask);
            self.say(Wire { ephemeral: true, ..wire }).await?;
            self.put(row.ask);
        }
        Ok(())
    }

    /// Tells of every call that waits for a client and that this one was not told of.
    async fn announce(&mut self) -> Result<(), Gone> {
        let waiting = self.held.bench.waiting();
        self.announced.retain(|id| waiting.iter().any(|aside| aside.id == *id));
        for aside in waiting {
            self.aside(aside).await?;
        }
        Ok(())
    }

    async fn notified(&mut self, Notification { method, params }: Notification) -> Result<(), Gone> {
        match method.as_str() {
            "event" => match serde_json::from_value(params) {
                Ok(envelope) => self.event(envelope).await,
                Err(error) => {
                    tracing::warn!(%error, "an event is not understood");
                    Ok(())
                }
            },
            "text" if self.member.abilities.streaming => match serde_json::from_value(params) {
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

    async fn event(&mut self, envelope: Envelope) -> Result<(), Gone> {
        let ask = self.note(&envelope);
        let is_resume = matches!(envelope.entry.event, Event::SessionAdopted { .. });
        for event in self.translator.read(envelope) {
            if is_resume && !self.tells_resume {
                continue;
            }
            if event["type"] == "assistant.message" && event["agentId"].is_null() {
                self.rest.said = Some(event.clone());
            }
            if event["type"] == "session.error" {
                self.rest.error = event["data"]["message"].as_str().map(str::to_owned);
            }
            self.send(event).await?;
        }
        if let Some(ask) = ask {
            self.put(ask);
        }
        for aside in std::mem::take(&mut self.early) {
            self.aside(aside).await?;
        }
        Ok(())
    }

    /// Keeps what the next rest is told with; gives what the entry asks.
    fn note(&mut self, envelope: &Envelope) -> Option<Ask> {
        let is_root = self.translator.is_root(envelope.entry.task);
        match &envelope.entry.event {
            Event::ActivationStarted { .. } => {
                self.is_busy = true;
                if is_root {
                    self.rest = Rest { read: self.rest.read, ..Rest::default() };
                }
            }
            Event::MailAdmitted { .. } => self.is_busy = true,
            Event::MailDelivered { mail } if is_root => self.rest.read = mail.iter().copied().max().max(self.rest.read),
            Event::ActivationEnded { outcome: Outcome::Cancelled { .. }, .. } if is_root => self.rest.aborted = true,
            Event::AdmissionClosed => self.rest.aborted = true,
            Event::TurnAnswered { turn, .. } | Event::TurnFailed { turn, .. } => {
                self.streamed.remove(&(envelope.entry.task, *turn));
            }
            Event::Asked(ask) => return Some(ask.clone()),
            _other => {}
        }
        None
    }

    async fn text(&mut self, Text { task, turn, text }: Text) -> Result<(), Gone> {
        let whose = (!self.translator.is_root(task)).then_some(task);
        let message = message_id(task, turn);
        if self.streamed.insert((task, turn)) {
            self.say(Wire::told("assistant.message_start", json!({ "messageId": message })).of(whose)).await?;
        }
        let content = json!({ "messageId": message, "deltaContent": text });
        self.say(Wire::told("assistant.message_delta", content).of(whose)).await
    }

    /// The session is at rest when everything in it is, and the next thing would have to come from outside.
    async fn status(&mut self, status: StatusView) -> Result<(), Gone> {
        if let Some(why) = &status.paused {
            let content = json!({ "errorType": "paused", "message": why });
            self.rest.error = Some(why.clone());
            self.say(Wire::told("session.error", content)).await?;
        }
        if !status.quiet || status.continuation_due {
            self.is_busy = true;
            return Ok(());
        }
        if !std::mem::take(&mut self.is_busy) {
            return Ok(());
        }
        let content = if self.rest.aborted { json!({ "aborted": true }) } else { json!({}) };
        let event = self.translator.placed(Wire::told("session.idle", content), SystemClock.now());
        self.rest.event = Some(event.clone());
        self.send(event).await?;
        self.rests.send_replace(self.rest.clone());
        Ok(())
    }

    async fn aside(&mut self, aside: Aside) -> Result<(), Gone> {
        let is_early = aside.after.as_ref().is_some_and(|(task, call)| !self.translator.has_begun(*task, call));
        if is_early {
            self.early.push(aside);
            return Ok(());
        }
        if aside.after.is_some() && !self.announced.insert(aside.id) {
            return Ok(());
        }
        let wire = Wire::told(aside.kind, aside.content);
        let event = wire.placed(aside.id, self.translator.last(), SystemClock.now());
        self.send(event).await
    }

    async fn say(&mut self, wire: Wire) -> Result<(), Gone> {
        let event = self.translator.placed(wire, SystemClock.now());
        self.send(event).await
    }

    async fn send(&self, event: Value) -> Result<(), Gone> {
        let told = json!({ "sessionId": self.held.uuid(), "event": event });
        if self.member.peer.tell("session.event", told).await { Ok(()) } else { Err(Gone) }
    }
}

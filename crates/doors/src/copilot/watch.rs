//! One client's view of one session: it is told of everything in order, and asked what only it can answer.

use std::collections::HashSet;
use std::sync::Arc;

use host::{Ids, TimeIds};
use protocol::api::{AsksParams, AsksResult, Method, StatusView, SubscribeParams};
use protocol::{Ask, AskId, Envelope, Event, TaskId, Turn};
use rpc::{Client, Notification, Notifications};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use uuid::Uuid;

use super::audience::{Aside, Member};
use super::events::{Translator, Wire, message_id};
use super::held::Held;
use super::rest::{Rest, Resting};

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
    /// Asks that were put to the client.
    pub(super) put: HashSet<AskId>,
    resting: Resting,
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
        let (resting, rests) = Resting::new();
        let watch = Watch {
            held,
            member,
            translator,
            tells_resume,
            early: Vec::new(),
            streamed: HashSet::new(),
            announced: HashSet::new(),
            put: HashSet::new(),
            resting,
            questions: JoinSet::new(),
        };
        (watch, asides, rests)
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
                    Ok(notification) => self.notified(notification).await?,
                    Err(_closed) => return Ok(()),
                },
                Some(aside) = asides.recv() => self.aside(aside).await?,
                () = member.must_look() => self.look().await?,
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

    /// Takes over what another client was to answer, and what this one was not told of.
    async fn look(&mut self) -> Result<(), Gone> {
        self.announce().await?;
        let open = self.held.call::<AsksResult>(Method::AsksList, AsksParams::default()).await;
        for row in open.map(|open| open.asks).unwrap_or_default() {
            // What it has not heard of yet is put to it when it does.
            if self.translator.has_asked(&row.ask.id) {
                self.put(row.ask);
            }
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
            self.resting.hear(&event);
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

    /// Keeps what is told of later; gives what the entry asks.
    fn note(&mut self, envelope: &Envelope) -> Option<Ask> {
        self.resting.read(envelope, self.translator.is_root(envelope.entry.task));
        match &envelope.entry.event {
            Event::TurnAnswered { turn, .. } | Event::TurnFailed { turn, .. } => {
                self.streamed.remove(&(envelope.entry.task, *turn));
                None
            }
            Event::Asked(ask) => Some(ask.clone()),
            _other => None,
        }
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

    async fn status(&mut self, status: StatusView) -> Result<(), Gone> {
        if let Some(why) = &status.paused {
            self.resting.is_paused(why);
            self.say(Wire::told("session.error", json!({ "errorType": "paused", "message": why }))).await?;
        }
        if let Some(aborted) = self.resting.comes(&status) {
            let content = if aborted { json!({ "aborted": true }) } else { json!({}) };
            let event = self.translator.beside(Wire::told("session.idle", content), TimeIds.uuid());
            self.send(event.clone()).await?;
            self.resting.is_told(event);
        }
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
        let event = self.translator.beside(Wire::told(aside.kind, aside.content), aside.id);
        self.send(event).await
    }

    async fn say(&self, wire: Wire) -> Result<(), Gone> {
        let event = self.translator.beside(wire, TimeIds.uuid());
        self.send(event).await
    }

    async fn send(&self, event: Value) -> Result<(), Gone> {
        let told = json!({ "sessionId": self.held.called(), "event": event });
        if self.member.peer.tell("session.event", told).await { Ok(()) } else { Err(Gone) }
    }
}

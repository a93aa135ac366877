//! Reads a session's log from disk.

use client::SessionHandle;
use host::Home;
use protocol::{Envelope, Event, SessionId};
use rpc::ErrorObject;
use serde_json::Value;

use super::client_events::{self, StoredEvents};
use super::events::EventTranslator;
use super::session_names;

/// How many entries are read at once.
const ENTRIES_PER_PAGE: usize = 512;

/// Returns a translator that has read the log up to and including entry `last_seq`, or all of it if there is no
/// `last_seq`.
pub(crate) async fn translator(
    home: &Home,
    id: SessionId,
    last_seq: Option<u64>,
) -> Result<EventTranslator, ErrorObject> {
    read_log(home, id, last_seq, |_seq, _step| {}).await
}

/// An event of the history, and the number of the log entry that it comes from or follows.
pub(crate) type NumberedEvent = (u64, Value);

/// Returns all events of the session's history, which are those that are not ephemeral.
pub(crate) async fn recorded_events(home: &Home, id: SessionId) -> Result<Vec<Value>, ErrorObject> {
    Ok(numbered_events(home, id).await?.into_iter().map(|(_, event)| event).collect())
}

/// Like [`recorded_events`], with the numbers of log entries.
pub(crate) async fn numbered_events(home: &Home, id: SessionId) -> Result<Vec<NumberedEvent>, ErrorObject> {
    let (sender, receiver) = std::sync::mpsc::channel();
    let stored_home = home.clone();
    let reading = tokio::task::spawn_blocking(move || client_events::read_stored(&stored_home, id));
    let StoredEvents { events: mut of_clients, fields } = reading.await.map_err(ErrorObject::internal)?;
    let mut reported = Vec::new();
    read_log(home, id, None, move |seq, step| {
        while let Some(event) = of_clients.pop_front_if(|(after, _)| *after < seq) {
            reported.push(event);
        }
        match step {
            LogStep::Events(events) => {
                for mut event in events.into_iter().filter(|event| event["ephemeral"] != true) {
                    fields.complete(seq, &mut event);
                    reported.push((seq, event));
                }
            }
            LogStep::Cut { after } => reported.retain(|(seq, _)| *seq <= after),
            // Cannot fail: the receiver is read below.
            LogStep::End => drop(sender.send(std::mem::take(&mut reported))),
        }
    })
    .await?;
    Ok(receiver.into_iter().flatten().collect())
}

/// What the next entry of a log adds to the history.
enum LogStep {
    /// Its events.
    Events(Vec<Value>),
    /// Everything after an earlier entry is removed.
    Cut { after: u64 },
    /// Nothing follows.
    End,
}

/// The last entry that still counts, if this one removes the end of the root's conversation.
fn cut_of(envelope: &Envelope, translator: &EventTranslator) -> Option<u64> {
    match &envelope.entry.event {
        Event::ConversationCut { after } if translator.is_root(envelope.entry.task) => Some(*after),
        _other => None,
    }
}

async fn read_log(
    home: &Home,
    id: SessionId,
    last_seq: Option<u64>,
    mut on_step: impl FnMut(u64, LogStep) + Send + 'static,
) -> Result<EventTranslator, ErrorObject> {
    let name = session_names::session_name(home, id);
    let session = SessionHandle::new(home, id);
    let reading = session.read(move |session| {
        let mut translator = EventTranslator::new(id, name);
        loop {
            let page = session.events_after(translator.seq(), ENTRIES_PER_PAGE)?;
            if page.is_empty() {
                on_step(u64::MAX, LogStep::End);
                return Ok(translator);
            }
            for envelope in page {
                if last_seq.is_some_and(|last_seq| envelope.seq > last_seq) {
                    return Ok(translator);
                }
                let (seq, cut) = (envelope.seq, cut_of(&envelope, &translator));
                let events = translator.translate_entry(envelope);
                on_step(seq, cut.map_or(LogStep::Events(events), |after| LogStep::Cut { after }));
            }
        }
    });
    Ok(reading.await?)
}

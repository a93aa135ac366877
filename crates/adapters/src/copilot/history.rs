//! Reads a session's log from disk.

use client::SessionHandle;
use host::Home;
use protocol::SessionId;
use rpc::ErrorObject;
use serde_json::Value;

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
    read_log(home, id, last_seq, |_events| {}).await
}

/// Returns all events of the session's history, which are those that are not ephemeral.
pub(crate) async fn recorded_events(home: &Home, id: SessionId) -> Result<Vec<Value>, ErrorObject> {
    let (sender, receiver) = std::sync::mpsc::channel();
    read_log(home, id, None, move |events| {
        for event in events.into_iter().filter(|event| event["ephemeral"] != true) {
            // Cannot fail: the receiver is read below.
            sender.send(event).ok();
        }
    })
    .await?;
    Ok(receiver.into_iter().collect())
}

async fn read_log(
    home: &Home,
    id: SessionId,
    last_seq: Option<u64>,
    mut on_events: impl FnMut(Vec<Value>) + Send + 'static,
) -> Result<EventTranslator, ErrorObject> {
    let name = session_names::session_name(home, id);
    let session = SessionHandle::new(home, id);
    let reading = session.read(move |session| {
        let mut translator = EventTranslator::new(id, name);
        loop {
            let page = session.events_after(translator.seq(), ENTRIES_PER_PAGE)?;
            if page.is_empty() {
                return Ok(translator);
            }
            for envelope in page {
                if last_seq.is_some_and(|last_seq| envelope.seq > last_seq) {
                    return Ok(translator);
                }
                on_events(translator.translate_entry(envelope));
            }
        }
    });
    Ok(reading.await?)
}

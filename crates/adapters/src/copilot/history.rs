//! Reads a session's log from disk.

use host::Home;
use protocol::SessionId;
use rpc::ErrorObject;
use serde_json::Value;
use store::SessionReader;

use super::events::EventTranslator;
use super::session_names;

/// How many entries are read at once.
const PAGE: usize = 512;

/// A translator that has read the log up to an entry, or all of it.
pub(crate) async fn translator(home: &Home, id: SessionId, upto: Option<u64>) -> Result<EventTranslator, ErrorObject> {
    read(home, id, upto, |_events| {}).await
}

/// All events of the history.
pub(crate) async fn recorded_events(home: &Home, id: SessionId) -> Result<Vec<Value>, ErrorObject> {
    let (sender, receiver) = std::sync::mpsc::channel();
    read(home, id, None, move |events| {
        for event in events.into_iter().filter(|event| event["ephemeral"] != true) {
            // The receiver waits below.
            sender.send(event).ok();
        }
    })
    .await?;
    Ok(receiver.into_iter().collect())
}

async fn read(
    home: &Home,
    id: SessionId,
    upto: Option<u64>,
    mut take: impl FnMut(Vec<Value>) + Send + 'static,
) -> Result<EventTranslator, ErrorObject> {
    let home = home.clone();
    let reading = tokio::task::spawn_blocking(move || -> Result<EventTranslator, store::StoreError> {
        let reader = SessionReader::open(&home, id)?;
        let mut translator = EventTranslator::new(id, session_names::session_name(&home, id));
        loop {
            let page = reader.events_after(translator.seq(), PAGE)?;
            if page.is_empty() {
                return Ok(translator);
            }
            for envelope in page {
                if upto.is_some_and(|upto| envelope.seq > upto) {
                    return Ok(translator);
                }
                take(translator.read(envelope));
            }
        }
    });
    reading.await.map_err(ErrorObject::internal)?.map_err(ErrorObject::internal)
}

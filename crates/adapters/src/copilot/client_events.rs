//! Events of a session that its clients caused and that Bosun's log does not have, and fields that clients added to
//! events that it does have. They are stored in a file next to the log, so that every client reads the same history.
//! The most recent ephemeral events are held in memory, for clients that read the event log instead of listening.

use std::collections::{HashMap, VecDeque};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use host::Home;
use protocol::SessionId;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tokio::sync::watch;

/// Maximum bytes of the file. Later events are sent but not stored.
const MAX_FILE_BYTES: u64 = 8 << 20;

/// How many ephemeral events are held.
const MAX_EPHEMERAL: usize = 256;

/// One line of the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
enum StoredLine {
    /// An event, and the number of the log entry that it follows.
    Event { after: u64, event: Value },
    /// Fields that are added to the data of an event of the log.
    Fields { of: String, fields: Map<String, Value> },
}

/// What a session's clients added to its events.
#[derive(Debug)]
pub(crate) struct ClientEvents {
    file: PathBuf,
    state: Mutex<ClientEventState>,
    /// The number of changes so far.
    changes: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct ClientEventState {
    fields: AddedFields,
    ephemeral: VecDeque<Value>,
    /// The number of ephemeral events so far, including those that are not held any more.
    ephemeral_count: u64,
}

/// Fields that are added to events, by the key of the event.
#[derive(Debug, Clone, Default)]
pub(crate) struct AddedFields(HashMap<String, Map<String, Value>>);

/// The stored events and fields of a session.
#[derive(Debug, Default)]
pub(crate) struct StoredEvents {
    /// The events with the numbers of the log entries that they follow, oldest first.
    pub(crate) events: VecDeque<(u64, Value)>,
    pub(crate) fields: AddedFields,
}

/// The key of the event about a message.
pub(crate) fn message_key(message: &str) -> String {
    format!("message/{message}")
}

/// The key of the event about the end of a call.
pub(crate) fn call_key(call: &str) -> String {
    format!("call/{call}")
}

/// The key of the event about a resumption, which is a log entry with this number.
pub(crate) fn resume_key(seq: u64) -> String {
    format!("resume/{seq}")
}

impl ClientEvents {
    pub(crate) fn new(home: &Home, id: SessionId) -> ClientEvents {
        ClientEvents { file: events_file(home, id), state: Mutex::default(), changes: watch::Sender::new(0) }
    }

    /// Stores an event that follows a log entry.
    pub(crate) fn store_event(&self, after: u64, event: Value) -> io::Result<()> {
        let stored = self.append(&StoredLine::Event { after, event });
        self.mark_changed();
        stored
    }

    /// Adds fields to an event of the log, which may not have been sent yet.
    pub(crate) fn add_fields(&self, of: String, fields: Map<String, Value>) -> io::Result<()> {
        self.state().fields.0.insert(of.clone(), fields.clone());
        self.append(&StoredLine::Fields { of, fields })
    }

    /// Completes an event of the log with the fields that clients added to it.
    pub(crate) fn complete(&self, seq: u64, event: &mut Value) {
        self.state().fields.complete(seq, event);
    }

    /// Holds an ephemeral event for clients that read the event log.
    pub(crate) fn hold_ephemeral(&self, event: Value) {
        let mut state = self.state();
        if state.ephemeral.len() >= MAX_EPHEMERAL {
            state.ephemeral.pop_front();
        }
        state.ephemeral.push_back(event);
        state.ephemeral_count += 1;
        drop(state);
        self.mark_changed();
    }

    /// The held ephemeral events after the first `count`, and the number of all so far.
    pub(crate) fn ephemeral_after(&self, count: u64) -> (Vec<Value>, u64) {
        let state = self.state();
        let new = usize::try_from(state.ephemeral_count.saturating_sub(count)).unwrap_or(usize::MAX);
        let skipped = state.ephemeral.len().saturating_sub(new);
        (state.ephemeral.iter().skip(skipped).cloned().collect(), state.ephemeral_count)
    }

    /// Notifies of changes.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    fn append(&self, line: &StoredLine) -> io::Result<()> {
        let mut text = serde_json::to_string(line)?;
        text.push('\n');
        // The lock keeps lines of this process apart; one write of a line keeps them apart from other processes.
        let _lock = self.state();
        let mut file = OpenOptions::new().append(true).create(true).open(&self.file)?;
        if file.metadata()?.len() + text.len() as u64 > MAX_FILE_BYTES {
            return Err(io::Error::other(format!("{} is full", self.file.display())));
        }
        file.write_all(text.as_bytes())
    }

    fn mark_changed(&self) {
        self.changes.send_modify(|count| *count += 1);
    }

    fn state(&self) -> MutexGuard<'_, ClientEventState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AddedFields {
    /// Adds the fields of an event to its data.
    pub(crate) fn complete(&self, seq: u64, event: &mut Value) {
        if self.0.is_empty() {
            return;
        }
        let Some(fields) = key_of(seq, event).and_then(|key| self.0.get(&key)) else { return };
        for (name, value) in fields {
            match (&mut event["data"][name], value) {
                (Value::Object(known), Value::Object(more)) => known.extend(more.clone()),
                (field, value) => *field = value.clone(),
            }
        }
    }
}

/// The key of an event to which clients can add fields.
fn key_of(seq: u64, event: &Value) -> Option<String> {
    match event["type"].as_str()? {
        "user.message" => event["data"]["messageId"].as_str().map(message_key),
        "tool.execution_complete" => event["data"]["toolCallId"].as_str().map(call_key),
        "session.resume" => Some(resume_key(seq)),
        _other => None,
    }
}

/// Reads what the clients of a session stored. Damaged lines are left out: they may be cut off by a crash.
pub(crate) fn read_stored(home: &Home, id: SessionId) -> StoredEvents {
    let mut stored = StoredEvents::default();
    let text = read_file(&events_file(home, id)).unwrap_or_default();
    for line in text.split(|byte| *byte == b'\n') {
        match serde_json::from_slice(line) {
            Ok(StoredLine::Event { after, event }) => stored.events.push_back((after, event)),
            Ok(StoredLine::Fields { of, fields }) => drop(stored.fields.0.insert(of, fields)),
            Err(_) => {}
        }
    }
    stored
}

fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_FILE_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Copies what clients stored up to a log entry to a fork of the session.
pub(crate) fn copy_stored(home: &Home, from: SessionId, to: SessionId, last_seq: u64) -> io::Result<()> {
    let text = match read_file(&events_file(home, from)) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let is_copied = |line: &&[u8]| match serde_json::from_slice(line) {
        Ok(StoredLine::Event { after, .. }) => after <= last_seq,
        Ok(StoredLine::Fields { .. }) => true,
        Err(_) => false,
    };
    let lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').filter(is_copied).collect();
    let mut copy = lines.join(&b'\n');
    copy.push(b'\n');
    fs::write(events_file(home, to), copy)
}

fn events_file(home: &Home, id: SessionId) -> PathBuf {
    home.session_dir(id).join("client-events")
}

/// The fields of one object.
pub(crate) fn fields_of(object: Value) -> Map<String, Value> {
    match object {
        Value::Object(fields) => fields,
        other => Map::from_iter([("value".to_owned(), json!(other))]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session() -> (tempfile::TempDir, Home, SessionId) {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path().to_owned()).unwrap();
        let id: SessionId = "ses-01900000-0000-7000-8000-000000000001".parse().unwrap();
        fs::create_dir_all(home.session_dir(id)).unwrap();
        (folder, home, id)
    }

    #[test]
    fn stored_events_and_fields_are_read_again() {
        let (_folder, home, id) = session();
        let events = ClientEvents::new(&home, id);
        events.store_event(3, json!({ "type": "session.info" })).unwrap();
        events.add_fields(call_key("c1"), fields_of(json!({ "error": { "code": "denied" } }))).unwrap();
        OpenOptions::new().append(true).open(events_file(&home, id)).unwrap().write_all(b"{\"type\":\"ev").unwrap();
        let stored = read_stored(&home, id);
        assert_eq!(stored.events, [(3, json!({ "type": "session.info" }))]);
        let ended = |call: &str| {
            let mut event = json!({ "type": "tool.execution_complete", "data": { "toolCallId": call,
                "error": { "code": "refused", "message": "no" } } });
            stored.fields.complete(9, &mut event);
            event["data"]["error"].clone()
        };
        assert_eq!(ended("c1"), json!({ "code": "denied", "message": "no" }));
        assert_eq!(ended("c2"), json!({ "code": "refused", "message": "no" }));
    }

    #[test]
    fn a_fork_has_the_events_before_it() {
        let (_folder, home, id) = session();
        let copy: SessionId = "ses-01900000-0000-7000-8000-000000000002".parse().unwrap();
        fs::create_dir_all(home.session_dir(copy)).unwrap();
        copy_stored(&home, id, copy, 9).unwrap();
        assert!(read_stored(&home, copy).events.is_empty(), "there is nothing to copy");
        let events = ClientEvents::new(&home, id);
        for after in [1, 5, 12] {
            events.store_event(after, json!({ "type": "session.info" })).unwrap();
        }
        copy_stored(&home, id, copy, 9).unwrap();
        assert_eq!(read_stored(&home, copy).events.iter().map(|(after, _)| *after).collect::<Vec<_>>(), [1, 5]);
    }

    #[test]
    fn only_recent_ephemeral_events_are_held() {
        let (_folder, home, id) = session();
        let events = ClientEvents::new(&home, id);
        let changes = events.changes();
        for number in 0..MAX_EPHEMERAL + 2 {
            events.hold_ephemeral(json!(number));
        }
        assert!(changes.has_changed().unwrap());
        let (all, count) = events.ephemeral_after(0);
        assert_eq!((all.len(), count), (MAX_EPHEMERAL, MAX_EPHEMERAL as u64 + 2));
        assert_eq!(events.ephemeral_after(count - 1), (vec![json!(MAX_EPHEMERAL + 1)], count));
        assert_eq!(events.ephemeral_after(count), (Vec::new(), count));
    }
}

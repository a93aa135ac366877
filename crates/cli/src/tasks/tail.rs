//! Follows a task: first what its session's file holds, then what its owner tells.

use std::time::{Duration, Instant};

use host::Home;
use protocol::api::{Method, SubscribeParams};
use protocol::{Envelope, TaskId, Turn};
use rpc::{Client, Notifications};
use serde::Deserialize;
use serde_json::Value;
use store::Reader;

use super::follow::Follow;
use super::place::Chosen;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::print;
use crate::sessions::is_live;

/// How many events are read from a file at a time.
const PAGE: usize = 512;

/// How long an owner may take from closing its door to letting go of the file, and how often is looked meanwhile.
const LEAVING: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(20);

/// What is to be followed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    pub(super) tree: bool,
    pub(super) after: u64,
    pub(super) json: bool,
}

/// More of an answer that is still arriving.
#[derive(Debug, Deserialize)]
struct Text {
    task: TaskId,
    turn: Turn,
    text: String,
}

pub(super) async fn tail(home: &Home, chosen: &Chosen, wanted: Wanted) -> Result<Exit, Failure> {
    let mut follow = Follow::new(&chosen.task, wanted);
    // Before the file is read: an owner that leaves meanwhile has written everything that it told.
    let live = is_live(&chosen.reader)?;
    let seen = from_file(&chosen.reader, 0, &mut follow)?;
    if live && !follow.is_over() {
        let seen = from_owner(home, chosen, seen, &mut follow).await?;
        from_file(&chosen.reader, seen, &mut follow)?;
    }
    follow.end();
    Ok(Exit::Success)
}

/// Shows what the file holds after `seq`; the number of the last event.
fn from_file(reader: &Reader, mut seq: u64, follow: &mut Follow) -> Result<u64, Failure> {
    loop {
        let page = reader.events_after(seq, PAGE)?;
        let Some(last) = page.last() else { return Ok(seq) };
        seq = last.seq;
        page.iter().for_each(|envelope| follow.event(envelope));
        if follow.is_over() || print::is_over() {
            return Ok(seq);
        }
    }
}

/// A way to hear the owner, unless it has left. One that leaves closes its door before it lets go of the file.
async fn knock(home: &Home, chosen: &Chosen) -> Result<Option<(Client, Notifications)>, Failure> {
    let began = Instant::now();
    loop {
        if let Ok(open) = Client::connect(&home.socket(chosen.session)).await {
            return Ok(Some(open));
        }
        if !is_live(&chosen.reader)? {
            return Ok(None);
        }
        if began.elapsed() > LEAVING {
            return Err(Failure::failed(format!("the process that runs {} does not answer", chosen.session)));
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Shows what the owner tells, until there is nothing more to follow, or nobody reads it, or the owner leaves.
async fn from_owner(home: &Home, chosen: &Chosen, mut seen: u64, follow: &mut Follow) -> Result<u64, Failure> {
    // One that has left meanwhile has written what it did to the file.
    let Some((client, mut notifications)) = knock(home, chosen).await? else { return Ok(seen) };
    let subscribed = client.call::<Value>(Method::EventsSubscribe, SubscribeParams::after(seen));
    tokio::pin!(subscribed);
    let mut answered = false;
    while !follow.is_over() && !print::is_over() {
        tokio::select! {
            result = &mut subscribed, if !answered => {
                result.map_err(Failure::failed)?;
                answered = true;
            }
            told = notifications.next() => match told {
                Ok(told) if told.method == "event" => {
                    let envelope: Envelope = serde_json::from_value(told.params).map_err(Failure::failed)?;
                    seen = envelope.seq;
                    follow.event(&envelope);
                }
                Ok(told) => {
                    if let Ok(Text { task, turn, text }) = serde_json::from_value(told.params) {
                        follow.text(task, turn, &text);
                    }
                }
                Err(_owner_left) => return Ok(seen),
            },
        }
    }
    Ok(seen)
}

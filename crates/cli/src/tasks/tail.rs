//! Follows a task: first what its session's file holds, then what its owner tells.

use std::time::{Duration, Instant};

use host::Home;
use protocol::api::{Method, SubscribeParams};
use protocol::{Envelope, TaskId, Turn};
use rpc::{Notifications, RpcClient};
use serde::Deserialize;
use serde_json::Value;
use store::SessionReader;

use super::follow::TaskFollower;
use super::selection::SelectedTask;
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::print;
use crate::sessions::is_live;

/// How many events are read from a file at a time.
const PAGE: usize = 512;

/// How long an owner may take from closing its socket to letting go of the file, and how often is looked meanwhile.
const OWNER_EXIT_GRACE: Duration = Duration::from_secs(5);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// What is to be followed.
#[derive(Debug, Clone, Copy)]
pub(super) struct TailOptions {
    pub(super) tree: bool,
    pub(super) after: u64,
    pub(super) json: bool,
}

/// More of an answer that is still arriving.
#[derive(Debug, Deserialize)]
struct TailTextDelta {
    task: TaskId,
    turn: Turn,
    text: String,
}

pub(super) async fn tail(home: &Home, chosen: &SelectedTask, wanted: TailOptions) -> Result<CommandExit, CliError> {
    let mut follow = TaskFollower::new(&chosen.task, wanted);
    // Before the file is read: an owner that leaves meanwhile has written everything that it told.
    let live = is_live(&chosen.reader)?;
    let seen = show_from_file(&chosen.reader, 0, &mut follow)?;
    if live && !follow.is_over() {
        let seen = show_from_owner(home, chosen, seen, &mut follow).await?;
        show_from_file(&chosen.reader, seen, &mut follow)?;
    }
    follow.flush();
    Ok(CommandExit::Success)
}

/// Shows what the file holds after `seq`; the number of the last event.
fn show_from_file(reader: &SessionReader, mut seq: u64, follow: &mut TaskFollower) -> Result<u64, CliError> {
    loop {
        let page = reader.events_after(seq, PAGE)?;
        let Some(last) = page.last() else { return Ok(seq) };
        seq = last.seq;
        page.iter().for_each(|envelope| follow.show_event(envelope));
        if follow.is_over() || print::is_stdout_closed() {
            return Ok(seq);
        }
    }
}

/// A way to hear the owner, unless it has left. One that leaves closes its socket before it lets go of the file.
async fn connect_owner(home: &Home, chosen: &SelectedTask) -> Result<Option<(RpcClient, Notifications)>, CliError> {
    let began = Instant::now();
    loop {
        if let Ok(open) = RpcClient::connect(&home.socket(chosen.session)).await {
            return Ok(Some(open));
        }
        if !is_live(&chosen.reader)? {
            return Ok(None);
        }
        if began.elapsed() > OWNER_EXIT_GRACE {
            return Err(CliError::failed(format!("the process that runs {} does not answer", chosen.session)));
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

/// Shows what the owner tells, until there is nothing more to follow, or nobody reads it, or the owner leaves.
async fn show_from_owner(
    home: &Home,
    chosen: &SelectedTask,
    mut seen: u64,
    follow: &mut TaskFollower,
) -> Result<u64, CliError> {
    // One that has left meanwhile has written what it did to the file.
    let Some((client, mut notifications)) = connect_owner(home, chosen).await? else { return Ok(seen) };
    let subscribed = client.call::<Value>(Method::EventsSubscribe, SubscribeParams::after(seen));
    tokio::pin!(subscribed);
    let mut answered = false;
    while !follow.is_over() && !print::is_stdout_closed() {
        tokio::select! {
            result = &mut subscribed, if !answered => {
                result.map_err(CliError::failed)?;
                answered = true;
            }
            told = notifications.next() => match told {
                Ok(told) if told.method == "event" => {
                    let envelope: Envelope = serde_json::from_value(told.params).map_err(CliError::failed)?;
                    seen = envelope.seq;
                    follow.show_event(&envelope);
                }
                Ok(told) => {
                    if let Ok(TailTextDelta { task, turn, text }) = serde_json::from_value(told.params) {
                        follow.show_text(task, turn, &text);
                    }
                }
                Err(_owner_left) => return Ok(seen),
            },
        }
    }
    Ok(seen)
}

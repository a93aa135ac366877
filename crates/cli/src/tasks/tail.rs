//! Follows a task: first from its session's file, then from the owner process.

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

/// The number of events read per page.
const EVENTS_PER_PAGE: usize = 512;

/// How long an owner may take from closing its socket to releasing the file, and how often to check meanwhile.
const OWNER_EXIT_GRACE: Duration = Duration::from_secs(5);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// What to follow, and how to show it.
#[derive(Debug, Clone, Copy)]
pub(super) struct TailOptions {
    /// Whether to include descendants.
    pub(super) tree: bool,
    /// Only events after this sequence number are shown.
    pub(super) after: u64,
    pub(super) json: bool,
}

/// More text of a streamed answer.
#[derive(Debug, Deserialize)]
struct TailTextDelta {
    task: TaskId,
    turn: Turn,
    text: String,
}

pub(super) async fn tail(home: &Home, chosen: &SelectedTask, options: TailOptions) -> Result<CommandExit, CliError> {
    let mut follower = TaskFollower::new(&chosen.task, options);
    // Check before reading the file: an owner that leaves meanwhile has written all its events.
    let is_running = is_live(&chosen.reader)?;
    let last_seq = show_from_file(&chosen.reader, 0, &mut follower)?;
    if is_running && !follower.is_finished() {
        let last_seq = show_from_owner(home, chosen, last_seq, &mut follower).await?;
        show_from_file(&chosen.reader, last_seq, &mut follower)?;
    }
    follower.flush();
    Ok(CommandExit::Success)
}

/// Shows the events in the file after `seq`; returns the number of the last one.
fn show_from_file(reader: &SessionReader, mut seq: u64, follower: &mut TaskFollower) -> Result<u64, CliError> {
    loop {
        let page = reader.events_after(seq, EVENTS_PER_PAGE)?;
        let Some(last) = page.last() else { return Ok(seq) };
        seq = last.seq;
        page.iter().for_each(|envelope| follower.show_event(envelope));
        if follower.is_finished() || print::is_stdout_closed() {
            return Ok(seq);
        }
    }
}

/// Connects to the owner, unless it has left. An owner closes its socket before it releases the file.
async fn connect_owner(home: &Home, chosen: &SelectedTask) -> Result<Option<(RpcClient, Notifications)>, CliError> {
    let started = Instant::now();
    loop {
        if let Ok(connection) = RpcClient::connect(&home.socket(chosen.session)).await {
            return Ok(Some(connection));
        }
        if !is_live(&chosen.reader)? {
            return Ok(None);
        }
        if started.elapsed() > OWNER_EXIT_GRACE {
            return Err(CliError::failed(format!("the process that runs {} does not answer", chosen.session)));
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

/// Shows the owner's messages until all tasks have finished, stdout is closed, or the owner leaves.
async fn show_from_owner(
    home: &Home,
    chosen: &SelectedTask,
    mut last_seq: u64,
    follower: &mut TaskFollower,
) -> Result<u64, CliError> {
    // An owner that has left meanwhile has written its events to the file.
    let Some((client, mut notifications)) = connect_owner(home, chosen).await? else { return Ok(last_seq) };
    let subscribed = client.call::<Value>(Method::EventsSubscribe, SubscribeParams::after(last_seq));
    tokio::pin!(subscribed);
    let mut is_subscribed = false;
    while !follower.is_finished() && !print::is_stdout_closed() {
        tokio::select! {
            result = &mut subscribed, if !is_subscribed => {
                result.map_err(CliError::failed)?;
                is_subscribed = true;
            }
            message = notifications.next() => match message {
                Ok(message) if message.method == "event" => {
                    let envelope: Envelope = serde_json::from_value(message.params).map_err(CliError::failed)?;
                    last_seq = envelope.seq;
                    follower.show_event(&envelope);
                }
                Ok(message) => {
                    if let Ok(TailTextDelta { task, turn, text }) = serde_json::from_value(message.params) {
                        follower.show_text(task, turn, &text);
                    }
                }
                Err(_owner_left) => return Ok(last_seq),
            },
        }
    }
    Ok(last_seq)
}

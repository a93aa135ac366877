//! Speaking to a session that another process runs, or that nobody runs yet.

use host::Home;
use protocol::api::{Command, CommandFate, Method, SendParams, SubscribeParams};
use protocol::{Delivery, SessionId};
use rpc::Client;
use serde_json::Value;
use store::Reader;

use super::is_live;
use crate::args::When;
use crate::deliver::{Delivered, deliver};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::print;

/// How many events are read from a file at a time.
const PAGE: usize = 512;

/// A message as a command.
pub(super) fn message(text: String, when: When) -> Result<Command, Failure> {
    if text.trim().is_empty() {
        return Err(Failure::usage("the message is empty"));
    }
    let delivery = match when {
        When::Steer => Delivery::Steer,
        When::FollowUp => Delivery::FollowUp,
        When::Interrupt => Delivery::Interrupt,
    };
    Ok(Command::Send(SendParams { task: None, text, images: Vec::new(), delivery, display: None }))
}

/// Gives a command to the process that runs the session; a message waits for the next one if there is none.
pub(crate) async fn command(home: &Home, id: SessionId, command: Command) -> Result<Exit, Failure> {
    let live = is_live(&Reader::open(home, id)?)?;
    if !live && !matches!(command, Command::Send(_) | Command::Stop | Command::StopFleet) {
        return Err(Failure::usage(format!("session {id} is not running")));
    }
    if !live && matches!(command, Command::Stop | Command::StopFleet) {
        print::note("the session is not running");
        return Ok(Exit::Success);
    }
    match deliver(home, id, &command).await? {
        Delivered::Answered(CommandFate::Applied { .. }) => print::note("delivered"),
        Delivered::Answered(CommandFate::Refused { message, .. }) => {
            return Err(Failure::usage(print::plain(&message)));
        }
        Delivered::Kept => {
            print::note(format_args!("kept for the session, which is not running; go on with: bosun --resume {id}"));
        }
    }
    Ok(Exit::Success)
}

/// Prints events as they are committed: from the owner while there is one, from the file otherwise. Ends when nobody
/// reads them any more.
pub(super) async fn watch(home: &Home, id: SessionId, after: u64) -> Result<Exit, Failure> {
    let reader = Reader::open(home, id)?;
    if !is_live(&reader)? {
        return from_file(&reader, after);
    }
    let mut seen = after;
    let (client, mut notifications) = Client::connect(&home.socket(id)).await.map_err(Failure::failed)?;
    let subscribed = client.call::<Value>(Method::EventsSubscribe, SubscribeParams::after(after));
    tokio::pin!(subscribed);
    let mut answered = false;
    loop {
        tokio::select! {
            result = &mut subscribed, if !answered => {
                result.map_err(Failure::failed)?;
                answered = true;
            }
            told = notifications.next() => match told {
                Ok(told) if told.method == "event" => {
                    seen = told.params["seq"].as_u64().unwrap_or(seen);
                    print::json(&told.params);
                    if print::is_over() {
                        return Ok(Exit::Success);
                    }
                }
                Ok(_text) => {}
                Err(_owner_left) => return from_file(&reader, seen),
            },
        }
    }
}

/// Prints what the file holds after `seq`.
fn from_file(reader: &Reader, mut seq: u64) -> Result<Exit, Failure> {
    loop {
        let page = reader.events_after(seq, PAGE)?;
        let Some(last) = page.last() else { return Ok(Exit::Success) };
        seq = last.seq;
        page.iter().for_each(print::json);
        if print::is_over() {
            return Ok(Exit::Success);
        }
    }
}

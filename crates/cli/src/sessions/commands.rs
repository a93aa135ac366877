//! Sends commands to a session that another process runs, or queues them for the next process.

use host::Home;
use protocol::api::{CommandOutcome, Method, SendParams, SessionCommand, SubscribeParams};
use protocol::{MailDelivery, SessionId};
use rpc::RpcClient;
use serde_json::Value;
use store::SessionReader;

use super::is_live;
use crate::args::SendTiming;
use crate::deliver::{DeliveryOutcome, deliver_command};
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::{fleet, print};

/// The number of events read per page.
const EVENTS_PER_PAGE: usize = 512;

/// A command that sends a message.
pub(super) fn message_command(text: String, when: SendTiming) -> Result<SessionCommand, CliError> {
    if text.trim().is_empty() {
        return Err(CliError::usage("the message is empty"));
    }
    let delivery = match when {
        SendTiming::Steer => MailDelivery::Steer,
        SendTiming::FollowUp => MailDelivery::FollowUp,
        SendTiming::Interrupt => MailDelivery::Interrupt,
    };
    Ok(SessionCommand::Send(SendParams { task: None, text, images: Vec::new(), delivery, display: None }))
}

/// Delivers a command to the process that runs the session; without one, a message waits for the next process.
pub(crate) async fn send_command(home: &Home, id: SessionId, command: SessionCommand) -> Result<CommandExit, CliError> {
    let is_running = is_live(&SessionReader::open(home, id)?)?;
    if !is_running && !matches!(command, SessionCommand::Send(_) | SessionCommand::Stop | SessionCommand::StopFleet) {
        return Err(CliError::usage(format!("session {id} is not running")));
    }
    if !is_running && matches!(command, SessionCommand::Stop | SessionCommand::StopFleet) {
        print::note("the session is not running");
        return Ok(CommandExit::Success);
    }
    match deliver_command(home, id, &command).await? {
        DeliveryOutcome::Answered(CommandOutcome::Applied { .. }) => print::note("delivered"),
        DeliveryOutcome::Answered(CommandOutcome::Refused { message, .. }) => {
            return Err(CliError::usage(print::sanitize(&message)));
        }
        DeliveryOutcome::Queued => {
            let command = fleet::resume_command(home, id);
            print::note(format_args!("queued, since the session is not running; resume with: {command}"));
        }
    }
    Ok(CommandExit::Success)
}

/// Prints events as they are committed: from the owner while there is one, from the file otherwise. Ends when stdout is
/// closed.
pub(super) async fn watch(home: &Home, id: SessionId, after: u64) -> Result<CommandExit, CliError> {
    let reader = SessionReader::open(home, id)?;
    if !is_live(&reader)? {
        return print_from_file(&reader, after);
    }
    let mut last_seq = after;
    let (client, mut notifications) = RpcClient::connect(&home.socket(id)).await.map_err(CliError::failed)?;
    let subscribed = client.call::<Value>(Method::EventsSubscribe, SubscribeParams::after(after));
    tokio::pin!(subscribed);
    let mut is_subscribed = false;
    loop {
        tokio::select! {
            result = &mut subscribed, if !is_subscribed => {
                result.map_err(CliError::failed)?;
                is_subscribed = true;
            }
            notification = notifications.next() => match notification {
                Ok(notification) if notification.method == "event" => {
                    last_seq = notification.params["seq"].as_u64().unwrap_or(last_seq);
                    print::json(&notification.params);
                    if print::is_stdout_closed() {
                        return Ok(CommandExit::Success);
                    }
                }
                Ok(_text) => {}
                Err(_owner_left) => return print_from_file(&reader, last_seq),
            },
        }
    }
}

/// Prints the events in the file after `seq`.
fn print_from_file(reader: &SessionReader, mut seq: u64) -> Result<CommandExit, CliError> {
    loop {
        let page = reader.events_after(seq, EVENTS_PER_PAGE)?;
        let Some(last) = page.last() else { return Ok(CommandExit::Success) };
        seq = last.seq;
        page.iter().for_each(print::json);
        if print::is_stdout_closed() {
            return Ok(CommandExit::Success);
        }
    }
}

//! Serves one client from start to end.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use server::{OpenRefusal, SessionHost, SessionOpener};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::task::JoinSet;
use uuid::Uuid;

use super::args::ClaudeArgs;
use super::client_setup::ClientSetup;
use super::conversation::{ClientConversation, ClientOptions};
use super::follower::SessionFollower;
use super::frame_writer::FrameOptions;
use super::frames::{self, TurnResult, TurnStats, VERSION};
use super::inbox::{ClientInbox, ClientMessage};
use super::initialize::InitializeRequest;
use super::open_request;
use super::open_session::{self, EventFeed, OpenedSession, SessionOwner};
use super::state::StateReporting;
use super::transcripts;
use super::wire::{ClientWriter, ControlChannel, JsonLineReader};
use crate::{AdapterExit, session_id, session_uuid};

/// How long the last frames may take to be written.
const FINAL_WRITE_TIMEOUT: Duration = Duration::from_secs(5);

/// A client has one session.
const MAX_SESSIONS: usize = 1;

/// Serves one client on standard input and output.
pub async fn serve(opener: Arc<dyn SessionOpener>, args: Vec<String>) -> AdapterExit {
    serve_on(opener, args, tokio::io::stdin(), tokio::io::stdout()).await
}

/// Serves one client on any two streams.
pub async fn serve_on<R, W>(opener: Arc<dyn SessionOpener>, args: Vec<String>, input: R, mut output: W) -> AdapterExit
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let args = ClaudeArgs::parse(args);
    if args.version {
        let written = output.write_all(format!("{VERSION} (Bosun)\n").as_bytes()).await;
        return if written.is_ok() { AdapterExit::Success } else { AdapterExit::Failed };
    }
    let (mut reading, mut writing) = (JoinSet::new(), JoinSet::new());
    let (writer, write) = ClientWriter::new(output);
    writing.spawn(write);
    let control = Arc::new(ControlChannel::new(writer));
    let (inbox, fill) = ClientInbox::new(JsonLineReader::new(BufReader::new(input)), Arc::clone(&control));
    reading.spawn(fill);
    let sessions = SessionHost::new(opener, MAX_SESSIONS);
    let exit = serve_client(&sessions, &args, inbox, &control).await;
    sessions.shut_down().await;
    reading.shutdown().await;
    drop(control);
    if tokio::time::timeout(FINAL_WRITE_TIMEOUT, writing.join_next()).await.is_err() {
        tracing::debug!("the client does not read its last frames");
    }
    exit
}

/// Reads the client's `initialize` request, opens its session and runs the conversation.
async fn serve_client(
    sessions: &Arc<SessionHost>,
    args: &ClaudeArgs,
    mut inbox: ClientInbox,
    control: &Arc<ControlChannel>,
) -> AdapterExit {
    let (request, first_prompt) = match read_first_message(&mut inbox, control).await {
        Ok(messages) => messages,
        Err(exit) => return exit,
    };
    let initialize = InitializeRequest::parse(request.as_ref().map_or(Value::Null, |(_, request)| request.clone()));
    let opened = open(sessions, args, &initialize, control).await;
    let response = match &opened {
        Ok((opened, _)) => frames::initialize_response(&opened.info),
        Err(_) => frames::initialize_response(&Default::default()),
    };
    if let Some((id, _)) = request {
        control.respond(&id, Ok(response)).await;
    }
    let frame_options =
        FrameOptions { streams_text: args.partial_messages, forwards_subagent_text: initialize.forwards_subagent_text };
    let forbids_bypass = open_request::managed_policy(args, &initialize).is_ok_and(|managed| managed.forbids_bypass);
    let options = ClientOptions {
        frames: frame_options,
        decides: args.client_decides,
        replays: args.replay_user_messages,
        forbids_bypass,
    };
    let (conversation, owner, events) =
        match opened.and_then(|opened| start_conversation(sessions, args, opened, control, options)) {
            Ok(Some(parts)) => parts,
            Ok(None) => return refuse(args, inbox, control, first_prompt, "the session has no tasks".into()).await,
            Err(refusal) => return refuse(args, inbox, control, first_prompt, refusal.to_string()).await,
        };
    let exit = conversation.run(inbox, first_prompt, events).await;
    match owner {
        SessionOwner::ThisProcess(held) => match held.close().await {
            Ok(()) => exit,
            Err(error) => {
                tracing::error!(%error, "cannot close the session cleanly");
                AdapterExit::Failed
            }
        },
        SessionOwner::OtherProcess => exit,
    }
}

async fn open(
    sessions: &Arc<SessionHost>,
    args: &ClaudeArgs,
    initialize: &InitializeRequest,
    control: &Arc<ControlChannel>,
) -> Result<(OpenedSession, ClientSetup), OpenRefusal> {
    let setup = ClientSetup::fetch(args, initialize, control).await?;
    let request = open_session::open_request(sessions, args, initialize, &setup, control)?;
    let opened = open_session::open(sessions, args, request, &open_request::managed_policy(args, initialize)?).await?;
    Ok((opened, setup))
}

/// Starts the conversation, and catches up with earlier events.
fn start_conversation(
    sessions: &SessionHost,
    args: &ClaudeArgs,
    (opened, setup): (OpenedSession, ClientSetup),
    control: &Arc<ControlChannel>,
    options: ClientOptions,
) -> Result<Option<(ClientConversation, SessionOwner, EventFeed)>, OpenRefusal> {
    let (id, seq) = (opened.id, opened.seq);
    // The process that runs the session writes its files.
    let writes_files = matches!(opened.owner, SessionOwner::ThisProcess(_)) && !args.no_persistence;
    let follower = SessionFollower::new(
        id,
        state_reporting(sessions.opener()),
        writes_files.then(|| projects_folder(sessions.opener())).flatten(),
    );
    let Some((mut conversation, owner, events)) =
        ClientConversation::new(opened, Arc::clone(control), options, follower, setup)
    else {
        return Ok(None);
    };
    conversation
        .catch_up(sessions.home(), id, seq)
        .map_err(|error| OpenRefusal { words: error.to_string(), hint: None })?;
    Ok(Some((conversation, owner, events)))
}

/// Whether the client wants the session's state.
fn state_reporting(opener: &dyn SessionOpener) -> StateReporting {
    let is_on = |name: &str| opener.variable(name).is_some_and(|value| !matches!(value.as_str(), "0" | "false"));
    StateReporting::from_flags(
        is_on("CLAUDE_CODE_SDK_READS_SESSION_STATE"),
        is_on("CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS"),
    )
}

/// The folder of Claude's session files.
fn projects_folder(opener: &dyn SessionOpener) -> Option<PathBuf> {
    let path_variable = |name: &str| opener.variable(name).map(PathBuf::from);
    transcripts::projects_dir(path_variable("CLAUDE_CONFIG_DIR").as_deref(), path_variable("HOME").as_deref())
}

/// Reads the client's first message: `initialize`, or a user message. Other requests before it are refused.
async fn read_first_message(
    inbox: &mut ClientInbox,
    control: &ControlChannel,
) -> Result<(Option<(String, Value)>, Option<Value>), AdapterExit> {
    loop {
        match inbox.next().await {
            ClientMessage::Request { id, request } if request["subtype"] == "initialize" => {
                return Ok((Some((id, request)), None));
            }
            ClientMessage::Request { id, .. } => {
                control.respond(&id, Err("the first request must be initialize".into())).await
            }
            ClientMessage::User(frame) => return Ok((None, Some(frame))),
            ClientMessage::End => return Err(AdapterExit::Success),
            ClientMessage::Broken(error) => {
                tracing::error!("{error}");
                let session = Uuid::nil();
                let failed = frames::result_frame(session, TurnResult::Failed(error.to_string()), TurnStats::default());
                // A client that is gone needs no result.
                control.writer().send(failed).await.ok();
                return Err(AdapterExit::Failed);
            }
        }
    }
}

/// Reports that there is no session as the result of the client's first message. Requests before it are accepted.
async fn refuse(
    args: &ClaudeArgs,
    mut inbox: ClientInbox,
    control: &ControlChannel,
    first_prompt: Option<Value>,
    why: String,
) -> AdapterExit {
    tracing::error!("{why}");
    if first_prompt.is_none() {
        while let ClientMessage::Request { id, .. } = inbox.next().await {
            control.respond(&id, Ok(json!({}))).await;
        }
    }
    let requested = args.resume.as_deref().or(args.session_id.as_deref()).and_then(session_id);
    let session = requested.map_or_else(Uuid::now_v7, session_uuid);
    let failed = frames::result_frame(session, TurnResult::Failed(why), TurnStats::default());
    // A client that is gone needs no result.
    control.writer().send(failed).await.ok();
    AdapterExit::Failed
}

//! One client, from its first word to its last.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
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
use super::structured::StructuredOutputState;
use super::transcripts;
use super::wire::{ClientWriter, ControlChannel, JsonLineReader};
use crate::{AdapterExit, OpenRefusal, SessionHost, session_id, session_uuid};

/// How long the last frames may take to be written.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// Serves one client on standard input and output.
pub async fn serve(session_host: Arc<dyn SessionHost>, args: Vec<String>) -> AdapterExit {
    serve_on(session_host, args, tokio::io::stdin(), tokio::io::stdout()).await
}

/// Serves one client on any two streams.
pub async fn serve_on<R, W>(
    session_host: Arc<dyn SessionHost>,
    args: Vec<String>,
    input: R,
    mut output: W,
) -> AdapterExit
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let args = ClaudeArgs::read(args);
    if args.version {
        let written = output.write_all(format!("{VERSION} (Bosun)\n").as_bytes()).await;
        return if written.is_ok() { AdapterExit::Success } else { AdapterExit::Failed };
    }
    let (mut reading, mut writing) = (JoinSet::new(), JoinSet::new());
    let (writer, carrying) = ClientWriter::new(output);
    writing.spawn(carrying);
    let control = Arc::new(ControlChannel::new(writer));
    let (inbox, filling) = ClientInbox::new(JsonLineReader::new(BufReader::new(input)), Arc::clone(&control));
    reading.spawn(filling);
    let ended = serve_client(&*session_host, &args, inbox, &control).await;
    reading.shutdown().await;
    drop(control);
    if tokio::time::timeout(LAST_WORDS, writing.join_next()).await.is_err() {
        tracing::debug!("the client does not read its last frames");
    }
    ended
}

/// Greets the client, opens its session and talks.
async fn serve_client(
    session_host: &dyn SessionHost,
    args: &ClaudeArgs,
    mut inbox: ClientInbox,
    control: &Arc<ControlChannel>,
) -> AdapterExit {
    let (request, first) = match read_first_message(&mut inbox, control).await {
        Ok(words) => words,
        Err(ended) => return ended,
    };
    let hello = InitializeRequest::read(request.as_ref().map_or(Value::Null, |(_, request)| request.clone()));
    let opened = open(session_host, args, &hello, control).await;
    let greeting = match &opened {
        Ok((opened, _)) => frames::initialize_response(&opened.info),
        Err(_) => frames::initialize_response(&Default::default()),
    };
    if let Some((id, _)) = request {
        control.respond(&id, Ok(greeting)).await;
    }
    let wants = FrameOptions { partial: args.partial, forwards_text: hello.forwards_text };
    let forbids_bypass = open_request::managed_policy(args, &hello).is_ok_and(|managed| managed.forbids_bypass);
    let manner = ClientOptions { frames: wants, decides: args.prompts, replays: args.replays, forbids_bypass };
    let (talk, run, news) =
        match opened.and_then(|opened| start_conversation(session_host, args, opened, control, manner)) {
            Ok(Some(parts)) => parts,
            Ok(None) => return refuse(args, inbox, control, first, "the session has no tasks".into()).await,
            Err(refusal) => return refuse(args, inbox, control, first, refusal.to_string()).await,
        };
    let ended = talk.run(inbox, first, news).await;
    match run {
        SessionOwner::ThisProcess(session) => match session.leave().await {
            Ok(_reader) => ended,
            Err(error) => {
                tracing::error!(%error, "the session could not be left in order");
                AdapterExit::Failed
            }
        },
        SessionOwner::OtherProcess => ended,
    }
}

async fn open(
    session_host: &dyn SessionHost,
    args: &ClaudeArgs,
    hello: &InitializeRequest,
    control: &Arc<ControlChannel>,
) -> Result<(OpenedSession, Option<StructuredOutputState>), OpenRefusal> {
    let brought = ClientSetup::fetch(args, hello, control).await?;
    let order = open_session::open_request(session_host, args, hello, &brought, control)?;
    let mut opened = open_session::open(session_host, args, order, &open_request::managed_policy(args, hello)?).await?;
    opened.info.servers = brought.servers.status();
    Ok((opened, brought.structured))
}

/// Begins the talk about a session, which knows what happened before.
fn start_conversation(
    session_host: &dyn SessionHost,
    args: &ClaudeArgs,
    (opened, structured): (OpenedSession, Option<StructuredOutputState>),
    control: &Arc<ControlChannel>,
    manner: ClientOptions,
) -> Result<Option<(ClientConversation, SessionOwner, EventFeed)>, OpenRefusal> {
    let (id, seq) = (opened.id, opened.seq);
    // Whoever runs the session keeps its files.
    let keeps_files = matches!(opened.owner, SessionOwner::ThisProcess(_)) && !args.no_persistence;
    let watch = SessionFollower::new(
        id,
        state_reporting(session_host),
        keeps_files.then(|| projects_folder(session_host)).flatten(),
    );
    let Some((mut talk, run, news)) = ClientConversation::new(opened, Arc::clone(control), manner, watch, structured)
    else {
        return Ok(None);
    };
    talk.catch_up(session_host.home(), id, seq)
        .map_err(|error| OpenRefusal { words: error.to_string(), hint: None })?;
    Ok(Some((talk, run, news)))
}

/// Whether the client is told how the session stands.
fn state_reporting(session_host: &dyn SessionHost) -> StateReporting {
    let is_on = |name: &str| session_host.variable(name).is_some_and(|value| !matches!(value.as_str(), "0" | "false"));
    StateReporting::from_flags(
        is_on("CLAUDE_CODE_SDK_READS_SESSION_STATE"),
        is_on("CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS"),
    )
}

/// The folder of the family's session files.
fn projects_folder(session_host: &dyn SessionHost) -> Option<PathBuf> {
    let folder = |name: &str| session_host.variable(name).map(PathBuf::from);
    transcripts::projects_dir(folder("CLAUDE_CONFIG_DIR").as_deref(), folder("HOME").as_deref())
}

/// What the client begins with: its `initialize`, or a message at once. Whatever else it asks for before is refused.
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
                control.respond(&id, Err("the first request is initialize".into())).await
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

/// Tells the client with its first message that there is no session. Until then it may say what it likes.
async fn refuse(
    args: &ClaudeArgs,
    mut inbox: ClientInbox,
    control: &ControlChannel,
    first: Option<Value>,
    why: String,
) -> AdapterExit {
    tracing::error!("{why}");
    if first.is_none() {
        while let ClientMessage::Request { id, .. } = inbox.next().await {
            control.respond(&id, Ok(json!({}))).await;
        }
    }
    let named = args.resume.as_deref().or(args.session_id.as_deref()).and_then(session_id);
    let session = named.map_or_else(Uuid::now_v7, session_uuid);
    let failed = frames::result_frame(session, TurnResult::Failed(why), TurnStats::default());
    // A client that is gone needs no result.
    control.writer().send(failed).await.ok();
    AdapterExit::Failed
}

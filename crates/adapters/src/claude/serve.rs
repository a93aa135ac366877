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
use super::conversation::{ClientConversation, ClientOptions, ConversationExit};
use super::follower::SessionFollower;
use super::frame_writer::FrameOptions;
use super::frames::{self, TurnResult, TurnStats, VERSION};
use super::inbox::{ClientInbox, ClientMessage};
use super::initialize::InitializeRequest;
use super::open_request;
use super::open_session::{self, EventFeed, OpenedSession, SessionOwner};
use super::rewind::CHECKPOINTS_VARIABLE;
use super::session_options;
use super::state::StateReporting;
use super::transcripts::{self, TranscriptMirror};
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
    let mut args = ClaudeArgs::parse(args);
    if args.version {
        let written = output.write_all(format!("{VERSION} (Bosun)\n").as_bytes()).await;
        return if written.is_ok() { AdapterExit::Success } else { AdapterExit::Failed };
    }
    args.max_thinking_tokens = args.max_thinking_tokens.or_else(|| opener.variable("MAX_THINKING_TOKENS"));
    let (mut reading, mut writing) = (JoinSet::new(), JoinSet::new());
    let (writer, write) = ClientWriter::new(output);
    writing.spawn(write);
    let control = Arc::new(ControlChannel::new(writer));
    let (inbox, fill) = ClientInbox::new(JsonLineReader::new(BufReader::new(input)), Arc::clone(&control));
    reading.spawn(fill);
    let sessions = SessionHost::new(opener, MAX_SESSIONS);
    let exit = serve_client(&sessions, args, inbox, &control).await;
    sessions.shut_down().await;
    reading.shutdown().await;
    drop(control);
    if tokio::time::timeout(FINAL_WRITE_TIMEOUT, writing.join_next()).await.is_err() {
        tracing::debug!("the client does not read its last frames");
    }
    exit
}

/// Reads the client's `initialize` request, opens its session and runs the conversation. A client that clears the
/// conversation gets another session.
async fn serve_client(
    sessions: &Arc<SessionHost>,
    args: ClaudeArgs,
    mut inbox: ClientInbox,
    control: &Arc<ControlChannel>,
) -> AdapterExit {
    let (request, mut first_prompt) = match read_first_message(&mut inbox, control).await {
        Ok(messages) => messages,
        Err(exit) => return exit,
    };
    let initialize = InitializeRequest::parse(request.as_ref().map_or(Value::Null, |(_, request)| request.clone()));
    let mut client = ServedClient { sessions: Arc::clone(sessions), args, initialize, control: Arc::clone(control) };
    let setup = ClientSetup::fetch(&client.args, &client.initialize, sessions.opener(), control).await;
    let mut opened = match &setup {
        Ok(setup) => client.open(setup).await,
        Err(refusal) => Err(refusal.clone()),
    };
    let response = match &opened {
        Ok(opened) => frames::initialize_response(&opened.info),
        Err(_) => frames::initialize_response(&Default::default()),
    };
    if let Some((id, _)) = request {
        control.respond(&id, Ok(response)).await;
    }
    let mut setup = setup.unwrap_or_default();
    let mut earlier = None;
    loop {
        let started = opened.and_then(|opened| client.start_conversation(opened, &setup));
        let (mut conversation, owner, events) = match started {
            Ok(parts) => parts,
            // The message that cleared the conversation is answered at once.
            Err(refusal) if earlier.is_some() => return client.report_refusal(refusal.to_string()).await,
            Err(refusal) => return client.refuse(inbox, first_prompt, refusal.to_string()).await,
        };
        if let Some(earlier) = earlier.take() {
            conversation.follow(earlier);
        }
        let end = conversation.run(&mut inbox, first_prompt.take(), events).await;
        let closed = close(owner).await;
        match end {
            ConversationExit::Ended(exit) => return closed.err().unwrap_or(exit),
            ConversationExit::Cleared(cleared) => {
                setup.model = cleared.model.clone().or(setup.model);
                client.args.begin_another(cleared.next, cleared.mode);
                opened = client.open(&setup).await;
                earlier = Some(cleared);
            }
        }
    }
}

/// Closes a session that this process runs.
async fn close(owner: SessionOwner) -> Result<(), AdapterExit> {
    match owner {
        SessionOwner::ThisProcess(held) => held.close().await.map_err(|error| {
            tracing::error!(%error, "cannot close the session cleanly");
            AdapterExit::Failed
        }),
        SessionOwner::OtherProcess => Ok(()),
    }
}

/// The client of this process, with what it asks of its sessions.
struct ServedClient {
    sessions: Arc<SessionHost>,
    args: ClaudeArgs,
    initialize: InitializeRequest,
    control: Arc<ControlChannel>,
}

impl ServedClient {
    /// Opens the session that the client wants.
    async fn open(&self, setup: &ClientSetup) -> Result<OpenedSession, OpenRefusal> {
        let ServedClient { sessions, args, initialize, control } = self;
        let request = open_session::open_request(sessions, args, initialize, setup, control)?;
        open_session::open(sessions, (args, setup), request, &open_request::managed_policy(args, initialize)?).await
    }

    /// Starts the conversation, and catches up with earlier events.
    fn start_conversation(
        &self,
        opened: OpenedSession,
        setup: &ClientSetup,
    ) -> Result<(ClientConversation, SessionOwner, EventFeed), OpenRefusal> {
        let (args, sessions) = (&self.args, &self.sessions);
        let (id, seq) = (opened.id, opened.seq);
        // The process that runs the session writes its files.
        let writes_files = matches!(opened.owner, SessionOwner::ThisProcess(_)) && !args.no_persistence;
        let follower = SessionFollower::new(
            id,
            state_reporting(sessions.opener()),
            writes_files.then(|| projects_folder(sessions.opener())).flatten(),
            if args.mirrors_session { TranscriptMirror::ToClient } else { TranscriptMirror::Off },
        );
        let clients = (Arc::clone(sessions), Arc::clone(&self.control));
        let started = ClientConversation::new(opened, clients, self.options(setup), follower, setup);
        let refusal = |words: String| OpenRefusal { words, hint: None };
        let (mut conversation, owner, events) = started.ok_or_else(|| refusal("the session has no tasks".into()))?;
        conversation.catch_up(sessions.home(), id, seq).map_err(|error| refusal(error.to_string()))?;
        Ok((conversation, owner, events))
    }

    fn options(&self, setup: &ClientSetup) -> ClientOptions {
        let ServedClient { args, initialize, .. } = self;
        let frames = FrameOptions {
            streams_text: args.partial_messages,
            forwards_subagent_text: initialize.forwards_subagent_text,
        };
        let is_forbidden = open_request::managed_policy(args, initialize).is_ok_and(|managed| managed.forbids_bypass);
        ClientOptions {
            frames,
            decides: args.client_decides(),
            replays: args.replay_user_messages,
            keeps_checkpoints: is_variable_on(self.sessions.opener(), CHECKPOINTS_VARIABLE),
            denies_instead_of_asking: setup.settings.denies_instead_of_asking(),
            wants_suggestions: initialize.request["promptSuggestions"] == true,
            // An effort that is not valid has refused the session.
            effort: session_options::effort(args).unwrap_or_default(),
            forbids_bypass: is_forbidden || setup.settings.forbids_bypass(),
        }
    }

    /// Reports that there is no session as the result of the client's first message. Requests before it are accepted.
    async fn refuse(&self, mut inbox: ClientInbox, first_prompt: Option<Value>, why: String) -> AdapterExit {
        if first_prompt.is_none() {
            while let ClientMessage::Request { id, .. } = inbox.next().await {
                self.control.respond(&id, Ok(json!({}))).await;
            }
        }
        self.report_refusal(why).await
    }

    async fn report_refusal(&self, why: String) -> AdapterExit {
        tracing::error!("{why}");
        let requested = self.args.resume.as_deref().or(self.args.session_id.as_deref()).and_then(session_id);
        let session = requested.map_or_else(Uuid::now_v7, session_uuid);
        let failed = frames::result_frame(session, TurnResult::Failed(why), TurnStats::default());
        // A client that is gone needs no result.
        self.control.writer().send(failed).await.ok();
        AdapterExit::Failed
    }
}

/// Whether the client wants the session's state.
fn state_reporting(opener: &dyn SessionOpener) -> StateReporting {
    StateReporting::from_flags(
        is_variable_on(opener, "CLAUDE_CODE_SDK_READS_SESSION_STATE"),
        is_variable_on(opener, "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS"),
    )
}

fn is_variable_on(opener: &dyn SessionOpener, name: &str) -> bool {
    opener.variable(name).is_some_and(|value| !matches!(value.as_str(), "0" | "false"))
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

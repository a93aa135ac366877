//! One client, from its first word to its last.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::task::JoinSet;
use uuid::Uuid;

use super::args::Args;
use super::brought::Brought;
use super::frames::{self, Ending, Figures, VERSION};
use super::hello::Hello;
use super::inbox::{Inbox, Said};
use super::opening::{self, News, Opened, Run};
use super::orders;
use super::records;
use super::scribe::Wants;
use super::state::Telling;
use super::structured::Structured;
use super::talk::{Manner, Talk};
use super::watch::Watch;
use super::wire::{Control, Lines, Writer};
use crate::{Ended, House, Refusal, session_id, session_uuid};

/// How long the last frames may take to be written.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// Serves one client on standard input and output.
pub async fn serve(house: Arc<dyn House>, args: Vec<String>) -> Ended {
    serve_on(house, args, tokio::io::stdin(), tokio::io::stdout()).await
}

/// Serves one client on any two streams.
pub async fn serve_on<R, W>(house: Arc<dyn House>, args: Vec<String>, input: R, mut output: W) -> Ended
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let args = Args::read(args);
    if args.version {
        let written = output.write_all(format!("{VERSION} (Bosun)\n").as_bytes()).await;
        return if written.is_ok() { Ended::Well } else { Ended::Failed };
    }
    let (mut reading, mut writing) = (JoinSet::new(), JoinSet::new());
    let (writer, carrying) = Writer::new(output);
    writing.spawn(carrying);
    let control = Arc::new(Control::new(writer));
    let (inbox, filling) = Inbox::new(Lines::new(BufReader::new(input)), Arc::clone(&control));
    reading.spawn(filling);
    let ended = visit(&*house, &args, inbox, &control).await;
    reading.shutdown().await;
    drop(control);
    if tokio::time::timeout(LAST_WORDS, writing.join_next()).await.is_err() {
        tracing::debug!("the client does not read its last frames");
    }
    ended
}

/// Greets the client, opens its session and talks.
async fn visit(house: &dyn House, args: &Args, mut inbox: Inbox, control: &Arc<Control>) -> Ended {
    let (request, first) = match first_words(&mut inbox, control).await {
        Ok(words) => words,
        Err(ended) => return ended,
    };
    let hello = Hello::read(request.as_ref().map_or(Value::Null, |(_, request)| request.clone()));
    let opened = open(house, args, &hello, control).await;
    let greeting = match &opened {
        Ok((opened, _)) => frames::hello(&opened.intro),
        Err(_) => frames::hello(&Default::default()),
    };
    if let Some((id, _)) = request {
        control.answer(&id, Ok(greeting)).await;
    }
    let wants = Wants { partial: args.partial, forwards_text: hello.forwards_text };
    let forbids_bypass = orders::managed(args, &hello).is_ok_and(|managed| managed.forbids_bypass);
    let manner = Manner { wants, decides: args.prompts, replays: args.replays, forbids_bypass };
    let (talk, run, news) = match opened.and_then(|opened| begin(house, args, opened, control, manner)) {
        Ok(Some(parts)) => parts,
        Ok(None) => return refuse(args, inbox, control, first, "the session has no tasks".into()).await,
        Err(refusal) => return refuse(args, inbox, control, first, refusal.to_string()).await,
    };
    let ended = talk.run(inbox, first, news).await;
    match run {
        Run::Here(session) => match session.leave().await {
            Ok(_reader) => ended,
            Err(error) => {
                tracing::error!(%error, "the session could not be left in order");
                Ended::Failed
            }
        },
        Run::Elsewhere => ended,
    }
}

async fn open(
    house: &dyn House,
    args: &Args,
    hello: &Hello,
    control: &Arc<Control>,
) -> Result<(Opened, Option<Structured>), Refusal> {
    let brought = Brought::fetch(args, hello, control).await?;
    let order = opening::order(house, args, hello, &brought, control)?;
    let mut opened = opening::open(house, args, order, &orders::managed(args, hello)?).await?;
    opened.intro.servers = brought.servers.status();
    Ok((opened, brought.structured))
}

/// Begins the talk about a session, which knows what happened before.
fn begin(
    house: &dyn House,
    args: &Args,
    (opened, structured): (Opened, Option<Structured>),
    control: &Arc<Control>,
    manner: Manner,
) -> Result<Option<(Talk, Run, News)>, Refusal> {
    let (id, seq) = (opened.id, opened.seq);
    // Whoever runs the session keeps its files.
    let keeps_files = matches!(opened.run, Run::Here(_)) && !args.leaves_no_file;
    let watch = Watch::new(id, telling(house), keeps_files.then(|| files(house)).flatten());
    let Some((mut talk, run, news)) = Talk::new(opened, Arc::clone(control), manner, watch, structured) else {
        return Ok(None);
    };
    talk.catch_up(house.home(), id, seq).map_err(|error| Refusal { words: error.to_string(), hint: None })?;
    Ok(Some((talk, run, news)))
}

/// Whether the client is told how the session stands.
fn telling(house: &dyn House) -> Telling {
    let is_on = |name: &str| house.variable(name).is_some_and(|value| !matches!(value.as_str(), "0" | "false"));
    Telling::wanted(is_on("CLAUDE_CODE_SDK_READS_SESSION_STATE"), is_on("CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS"))
}

/// The folder of the family's session files.
fn files(house: &dyn House) -> Option<PathBuf> {
    let folder = |name: &str| house.variable(name).map(PathBuf::from);
    records::projects(folder("CLAUDE_CONFIG_DIR").as_deref(), folder("HOME").as_deref())
}

/// What the client begins with: its `initialize`, or a message at once. Whatever else it asks for before is refused.
async fn first_words(inbox: &mut Inbox, control: &Control) -> Result<(Option<(String, Value)>, Option<Value>), Ended> {
    loop {
        match inbox.next().await {
            Said::Request { id, request } if request["subtype"] == "initialize" => {
                return Ok((Some((id, request)), None));
            }
            Said::Request { id, .. } => control.answer(&id, Err("the first request is initialize".into())).await,
            Said::User(frame) => return Ok((None, Some(frame))),
            Said::End => return Err(Ended::Well),
            Said::Broken(error) => {
                tracing::error!("{error}");
                let session = Uuid::nil();
                let failed = frames::result(session, Ending::Failed(error.to_string()), Figures::default());
                // A client that is gone needs no result.
                control.writer().show(failed).await.ok();
                return Err(Ended::Failed);
            }
        }
    }
}

/// Tells the client with its first message that there is no session. Until then it may say what it likes.
async fn refuse(args: &Args, mut inbox: Inbox, control: &Control, first: Option<Value>, why: String) -> Ended {
    tracing::error!("{why}");
    if first.is_none() {
        while let Said::Request { id, .. } = inbox.next().await {
            control.answer(&id, Ok(json!({}))).await;
        }
    }
    let named = args.resume.as_deref().or(args.session_id.as_deref()).and_then(session_id);
    let session = named.map_or_else(Uuid::now_v7, session_uuid);
    let failed = frames::result(session, Ending::Failed(why), Figures::default());
    // A client that is gone needs no result.
    control.writer().show(failed).await.ok();
    Ended::Failed
}

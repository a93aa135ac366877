//! One client, from its first word to its last.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::task::JoinSet;
use uuid::Uuid;

use super::args::Args;
use super::frames::{self, Ending, Figures, VERSION};
use super::hello::Hello;
use super::inbox::{Inbox, Said};
use super::opening::{self, Opened, Run};
use super::scribe::Wants;
use super::talk::{Manner, Talk};
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
    let greeting =
        opened.as_ref().map_or_else(|_| frames::hello(&Default::default()), |opened| frames::hello(&opened.intro));
    if let Some((id, _)) = request {
        control.answer(&id, Ok(greeting)).await;
    }
    let manner = Manner {
        wants: Wants { partial: args.partial, forwards_text: hello.forwards_text },
        decides: args.prompts,
        replays: args.replays,
        has_schema: args.json_schema.is_some() || !hello.request["jsonSchema"].is_null(),
    };
    let (talk, run, news) = match opened.map(|opened| Talk::new(opened, Arc::clone(control), manner)) {
        Ok(Some(parts)) => parts,
        Ok(None) => return refuse(args, inbox, control, first, "the session has no tasks".into()).await,
        Err(refusal) => return refuse(args, inbox, control, first, refusal.to_string()).await,
    };
    let ended = talk.run(inbox, first, news).await;
    match run {
        Run::Here(session) => match session.leave().await {
            Ok(()) => ended,
            Err(error) => {
                tracing::error!(%error, "the session could not be left in order");
                Ended::Failed
            }
        },
        Run::Elsewhere => ended,
    }
}

async fn open(house: &dyn House, args: &Args, hello: &Hello, control: &Arc<Control>) -> Result<Opened, Refusal> {
    let order = opening::order(house, args, hello, control)?;
    opening::open(house, args, order).await
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
        loop {
            match inbox.next().await {
                Said::Request { id, .. } => control.answer(&id, Ok(json!({}))).await,
                Said::User(_) | Said::End | Said::Broken(_) => break,
            }
        }
    }
    let named = args.resume.as_deref().or(args.session_id.as_deref()).and_then(session_id);
    let session = named.map_or_else(Uuid::now_v7, session_uuid);
    let failed = frames::result(session, Ending::Failed(why), Figures::default());
    // A client that is gone needs no result.
    control.writer().show(failed).await.ok();
    Ended::Failed
}

//! `bosun -p`: one run of a session, from its prompt to an exit code that tells the truth.

mod background;
mod countdown;
mod drive;
mod explain;
mod figures;
mod images;
mod report;
mod screen;
pub(crate) mod show;
mod signals;
mod slash;
mod written;

use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};

use host::Home;
use protocol::api::{SendParams, TaskView, TasksParams};
use protocol::{Delivery, SessionId};
use runtime::{Session, Start};
use store::{Found, Index, Reader, SessionsWanted};

use crate::args::{Format, RunArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::setup::Setup;
use crate::share::Share;
use crate::talk::{Prompter, Surface};
use crate::{current, fleet, meant, print, setup, talk};

pub(crate) use background::{AtWork, Leeway};
pub(crate) use countdown::Countdown;
use drive::{Patience, drive};
pub(crate) use figures::Figures;
pub(crate) use report::{Denial, Report};
use screen::Screen;
pub(crate) use show::Show;
pub(crate) use signals::{Signal, Signals};
use slash::{Foreseen, Given, Trace};

/// Most bytes of a prompt.
const PROMPT_MAX: u64 = 8 << 20;

/// Runs a prompt, or holds a conversation, which may begin with an `opening` message.
pub(crate) async fn run(args: RunArgs, opening: Option<String>) -> Result<Exit, Failure> {
    if let Some(opening) = &opening {
        expect_conversation(opening, args.output_format)?;
    }
    if let Some(flag) = args.later() {
        return Err(Failure::usage(format!("{flag} comes with a later version")).hint("leave it out"));
    }
    let goes_on = args.r#continue || args.resume.is_some();
    if goes_on && args.agent.is_some() {
        return Err(
            Failure::usage("a session that goes on keeps the agent it was begun with").hint("leave --agent out")
        );
    }
    if args.prompt.is_none() && args.output_format == Format::Text && (goes_on || !args.fork) && is_attended() {
        if args.mode.share.is_some() {
            return Err(Failure::usage("--share goes with a prompt")
                .hint("give one with -p, or write a session that is over with `bosun sessions export`"));
        }
        return talk::talk(args, opening).await;
    }
    if args.prompt.is_none() && !goes_on {
        return Err(Failure::usage("there is nothing to do").hint(
            "give a prompt with -p, which reads it from a pipe too, or try `bosun demo`; `bosun --help` shows more",
        ));
    }
    if args.fork && (!goes_on || args.prompt.is_none()) {
        return Err(Failure::usage("--fork needs a session to copy and a prompt for the copy")
            .hint("bosun --resume ID --fork -p \"…\""));
    }
    let mut setup = Setup::read()?;
    let prompt = args.prompt.as_deref().map(|given| message(given, &args.image)).transpose()?;
    let share = args.mode.share.as_deref().map(Share::at).transpose()?;
    let start = start(&args, &setup.home)?;
    let before = match start {
        Start::New => None,
        Start::Resume(id) | Start::Fork(id) => Some(Reader::open(&setup.home, id)?.session_view()?),
    };
    let folder = args.directory.as_deref().or(before.as_ref().map(|before| Path::new(&before.cwd)));
    setup.ask_catalog(folder).await;
    let text = prompt.as_ref().map_or("", |prompt| prompt.text.as_str());
    if let Foreseen::Text(told) = slash::foresee(&setup, &args, folder, text)? {
        slash::tell(&told, args.output_format);
        return Ok(Exit::Success);
    }
    let settings = setup.settings(&args, before.as_ref())?;
    if let Err(error) = host::limits::raise_open_files() {
        tracing::warn!(%error, "the limit of open files stays as it is");
    }
    let cwd = settings.cwd.clone();
    let mut session = Session::open(settings, start).await?;
    current::set(session.id());
    if start != Start::New && !args.quiet {
        fleet::tell_unfinished(session.home(), session.id());
    }
    let show = match (args.output_format, args.quiet) {
        (Format::Jsonl, _) => Show::Events,
        (Format::Text | Format::Json, true) => Show::Nothing,
        (Format::Text | Format::Json, false) => Show::Lines,
    };
    for notice in session.notices() {
        print::note(format_args!("{}: {}", notice.path.display(), notice.text));
    }
    if start != Start::New && prompt.is_none() && !session.has_work().await? {
        let id = session.id();
        session.leave().await?;
        return Err(Failure::usage(format!("session {id} has nothing left to do"))
            .hint(format!("give it a prompt: bosun --resume {id} -p \"…\"")));
    }
    let prompt = match given(&session, prompt, args.output_format).await {
        Ok(Given::Message(message)) => Some(*message),
        Ok(Given::Work) => None,
        Ok(Given::Over(trace)) => {
            slash::leave(session, start, trace).await?;
            return Ok(Exit::Success);
        }
        Err(failure) => {
            slash::leave(session, start, Trace::None).await?;
            return Err(failure);
        }
    };
    begin(&mut session, start, prompt).await?;
    let patience = Patience { background: Leeway::of(args.background_wait), park: args.park_wait, time: args.timeout };
    let prompter = match show {
        Show::Lines => Prompter::meet(&setup, &session, cwd, Surface::Lines),
        Show::Nothing | Show::Events => None,
    };
    let on_terminal = std::io::stderr().is_terminal() && !setup.env.has_dumb_terminal();
    let screen = Screen::new(show, session.root()).knowing(&started_before(&session)?);
    let mut screen = screen.asking(prompter).counting(on_terminal);
    let id = session.id();
    let report = drive(session, patience, &mut screen, &setup.env).await;
    // The terminal is given back before anything else is written to it.
    drop(screen);
    // However it ended: what went wrong is what others should read.
    let shared = share.map_or(Ok(()), |share| share.write(&setup.home, id));
    let report = report?;
    report.write(args.output_format, show);
    shared?;
    Ok(report.exit())
}

/// The tasks that earlier processes of the session started.
fn started_before(session: &Session) -> Result<Vec<TaskView>, Failure> {
    if session.first_seq() == 0 {
        return Ok(Vec::new());
    }
    let every = TasksParams { all: true, ..TasksParams::every() };
    Ok(Reader::open(session.home(), session.id())?.tasks(&every)?.tasks)
}

/// Whether a person sits at a terminal, to read and to type.
/// Fails where the first word is not the beginning of a conversation: it is a misspelt command, or there is no terminal.
fn expect_conversation(opening: &str, format: Format) -> Result<(), Failure> {
    if let Some(command) = meant::command(opening) {
        return Err(Failure::usage(format!("there is no command `{opening}`"))
            .hint(format!("did you mean `bosun {command}`? a prompt of one word follows -p")));
    }
    if !is_attended() || format != Format::Text {
        return Err(Failure::usage("a conversation needs a terminal")
            .hint("run one prompt without a terminal with -p: bosun -p \"…\""));
    }
    Ok(())
}

fn is_attended() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

/// What becomes of the prompt; without one, what was left goes on.
async fn given(session: &Session, prompt: Option<SendParams>, format: Format) -> Result<Given, Failure> {
    match prompt {
        Some(message) => slash::give(session, message, format).await,
        None => Ok(Given::Work),
    }
}

/// Lets what was interrupted go on, and gives the prompt.
async fn begin(session: &mut Session, start: Start, prompt: Option<SendParams>) -> Result<(), Failure> {
    match start {
        Start::Resume(_) => session.resume().await?,
        Start::New | Start::Fork(_) => {}
    }
    if let Some(prompt) = prompt {
        session.post(prompt).await?;
    }
    Ok(())
}

/// The prompt and its pictures.
fn message(given: &str, images: &[PathBuf]) -> Result<SendParams, Failure> {
    let text = if given == "-" { from_stdin()? } else { given.to_owned() };
    if text.trim().is_empty() {
        return Err(Failure::usage("the prompt is empty").hint("write it after -p, or to stdin"));
    }
    Ok(SendParams { task: None, text, images: images::read(images)?, delivery: Delivery::FollowUp, display: None })
}

fn from_stdin() -> Result<String, Failure> {
    if std::io::stdin().is_terminal() {
        print::note("write the prompt; Ctrl-D on a line of its own ends it");
    }
    let mut bytes = Vec::new();
    std::io::stdin()
        .lock()
        .take(PROMPT_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::usage(format!("cannot read the prompt from stdin: {error}")))?;
    if bytes.len() as u64 > PROMPT_MAX {
        return Err(Failure::usage(format!("the prompt on stdin is larger than {PROMPT_MAX} bytes"))
            .hint("put it into a file and name the file in the prompt"));
    }
    String::from_utf8(bytes).map_err(|error| {
        Failure::usage(format!("the prompt on stdin is not UTF-8 text (byte {})", error.utf8_error().valid_up_to()))
    })
}

/// Which session the run belongs to.
pub(crate) fn start(args: &RunArgs, home: &Home) -> Result<Start, Failure> {
    let id = match &args.resume {
        Some(prefix) => find(home, prefix)?,
        None if args.r#continue => {
            let cwd = setup::folder(args.directory.as_deref())?.display().to_string();
            let none = || Failure::usage(format!("no session was begun in {cwd}")).hint("`bosun sessions` lists all");
            latest(home, &cwd)?.ok_or_else(none)?
        }
        None => return Ok(Start::New),
    };
    Ok(if args.fork { Start::Fork(id) } else { Start::Resume(id) })
}

/// The session of a folder with the newest event.
pub(crate) fn latest(home: &Home, cwd: &str) -> Result<Option<SessionId>, Failure> {
    let wanted = SessionsWanted { cwd: Some(cwd.to_owned()), limit: Some(1), ..SessionsWanted::default() };
    let page = Index::current(home)?.page(home, &wanted)?;
    Ok(page.rows.first().map(|row| row.id))
}

/// The one session whose id begins like this. A whole id names a folder, whether the index can read it or not.
pub(crate) fn find(home: &Home, prefix: &str) -> Result<SessionId, Failure> {
    match Index::current(home)?.find(prefix)? {
        Found::One(row) => Ok(row.id),
        Found::Nothing if prefix.parse().is_ok_and(|id| home.session_dir(id).is_dir()) => {
            prefix.parse().map_err(Failure::usage)
        }
        Found::Nothing => {
            Err(Failure::usage(format!("no session begins with `{prefix}`")).hint("`bosun sessions` lists them"))
        }
        Found::Many(rows) => {
            let ids: Vec<String> = rows.iter().take(5).map(|row| row.id.to_string()).collect();
            Err(Failure::usage(format!("several sessions begin with `{prefix}`: {}", ids.join(", ")))
                .hint("give more of the id"))
        }
    }
}

//! `bosun -p`: one run of a session, from its prompt to its exit code.

mod background;
mod detach;
mod explain;
mod images;
mod json_report;
mod report;
mod screen;
mod session_driver;
mod slash;

use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use client::{RunWaitLimits, SessionHandle};
use host::{Clock, Home, SystemClock};
use protocol::api::{SendParams, TaskView, TasksParams, calls};
use protocol::{MailDelivery, SessionId};
use runtime::{Catalog, SessionStart};
use tui::live::FleetBoard;
use tui::print;

use crate::args::{OutputFormat, RunArgs};
use crate::current_session::SessionUse;
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::foreground_session::ForegroundSession;
use crate::setup::Setup;
use crate::share::ShareFile;
use crate::{chat, fleet, sessions, setup, suggestions};

use background::BackgroundWait;
pub(crate) use detach::{portable_options, run_detached_fleet, with_absolute_paths};
pub(crate) use report::{Denial, RunSummary};
use screen::RunScreen;
use session_driver::drive_session;
use slash::{PromptPreview, SlashEffect, SlashPromptOutcome};
use tui::chat::{PromptSurface, Prompter, call_session};
use tui::event_text::ProgressMode;

/// The maximum size of a prompt in bytes.
const MAX_PROMPT_BYTES: u64 = 8 << 20;

/// Runs a prompt, or starts a conversation, which may begin with an `opening` message.
pub(crate) async fn run(mut args: RunArgs, mut opening: Option<String>) -> Result<CommandExit, CliError> {
    if args.detach && args.prompt.is_none() {
        args.prompt = opening.take();
    }
    if let Some(opening) = &opening {
        require_conversation(opening, args.output_format)?;
    }
    let resumes = args.r#continue || args.resume.is_some();
    if resumes && args.agent.is_some() {
        return Err(
            CliError::usage("a resumed session keeps the agent it was started with").with_hint("leave --agent out")
        );
    }
    if args.prompt.is_none()
        && !args.detach
        && args.output_format == OutputFormat::Text
        && (resumes || !args.fork)
        && has_terminal()
    {
        if args.mode.share.is_some() {
            return Err(CliError::usage("--share needs a prompt")
                .with_hint("give one with -p, or export a finished session with `bosun sessions export`"));
        }
        return chat::run_chat(args, opening).await;
    }
    if args.prompt.is_none() && !resumes {
        return Err(CliError::usage("no prompt given").with_hint(
            "give one with -p, which also reads it from a pipe, or try `bosun demo`; `bosun --help` shows more",
        ));
    }
    if args.fork && (!resumes || args.prompt.is_none()) {
        return Err(CliError::usage("--fork needs a session to copy and a prompt for the copy")
            .with_hint("bosun --resume ID --fork -p \"…\""));
    }
    let mut setup = Setup::read()?;
    let start = session_start(&args, &setup.home)?;
    let previous = match start {
        SessionStart::New => None,
        SessionStart::Resume(id) | SessionStart::Fork(id) => Some(SessionHandle::new(&setup.home, id).view()?),
    };
    // Before the user types a prompt, which would be lost.
    if args.prompt.as_deref() == Some("-") && std::io::stdin().is_terminal() {
        setup.sources().require_model(&args.session_options(), previous.as_ref())?;
    }
    let prompt = args.prompt.as_deref().map(|argument| prompt_message(argument, &args.image)).transpose()?;
    if args.detach {
        return detach::run_detached(&setup, &args, start, prompt.map(|prompt| prompt.text)).await;
    }
    let share = args.mode.share.as_deref().map(ShareFile::create).transpose()?;
    if let (Some(previous), SessionStart::Resume(_), true) = (&previous, start, args.shows_progress())
        && std::io::stderr().is_terminal()
    {
        print::note(sessions::describe_resumed(previous, SystemClock.now()));
    }
    let folder = args.directory.as_deref().or(previous.as_ref().map(|previous| Path::new(&previous.cwd)));
    setup.fetch_remote_catalog(folder).await;
    let text = prompt.as_ref().map_or("", |prompt| prompt.text.as_str());
    if let PromptPreview::Text(output) = slash::preview_prompt(&setup, &args, folder, text)? {
        const NO_SESSION: Option<SessionId> = None;
        slash::print_text(&output, args.output_format);
        slash::share(share, &setup.home, NO_SESSION)?;
        return Ok(CommandExit::Success);
    }
    let settings = setup.settings(&args, previous.as_ref())?;
    if let Err(error) = host::limits::raise_open_files() {
        tracing::warn!(%error, "cannot raise the limit of open files");
    }
    let (cwd, catalog) = (settings.cwd.clone(), Arc::clone(&settings.catalog));
    let session = ForegroundSession::open(settings, start, SessionUse::Conversation).await?;
    if start != SessionStart::New && !args.quiet {
        fleet::unfinished_fleet_note(&setup.home, session.id()).into_iter().for_each(print::note);
    }
    let progress = match (args.output_format, args.quiet) {
        (OutputFormat::Jsonl, _) => ProgressMode::Events,
        (OutputFormat::Text | OutputFormat::Json, true) => ProgressMode::Nothing,
        (OutputFormat::Text | OutputFormat::Json, false) => ProgressMode::Lines,
    };
    for notice in session.notices() {
        print::note(format_args!("{}: {}", notice.path.display(), notice.text));
    }
    if start != SessionStart::New && prompt.is_none() && !session.has_work().await? {
        let id = session.id();
        session.leave().await?;
        return Err(CliError::usage(format!("session {id} has nothing left to do"))
            .with_hint(format!("give it a prompt: bosun --resume {id} -p \"…\"")));
    }
    let prompt = match dispatch_prompt(&session, &catalog, prompt, args.output_format).await {
        Ok(SlashPromptOutcome::Message(message)) => Some(*message),
        Ok(SlashPromptOutcome::WorkStarted) => None,
        Ok(SlashPromptOutcome::Finished(effect)) => {
            let kept = slash::leave_session(session, start, effect).await?;
            slash::share(share, &setup.home, kept)?;
            return Ok(CommandExit::Success);
        }
        Err(failure) => {
            slash::leave_session(session, start, SlashEffect::TextOnly).await?;
            return Err(failure);
        }
    };
    resume_and_post(&session, start, prompt).await?;
    let BackgroundWait { commands, agents } = BackgroundWait::from_flag(args.background_wait);
    let limits =
        RunWaitLimits { commands: Some(commands), agents: Some(agents), park: Some(args.park_wait), run: args.timeout };
    let prompter = match progress {
        ProgressMode::Lines => Prompter::open(
            &setup,
            setup.terminal_settings(),
            session.handle(),
            session.first_seq(),
            cwd,
            PromptSurface::Lines,
        ),
        ProgressMode::Nothing | ProgressMode::Events => None,
    };
    let on_terminal = std::io::stderr().is_terminal() && !setup.env.has_dumb_terminal();
    let mut screen = RunScreen::new(progress, session.root()).with_prompter(prompter).with_countdown(on_terminal);
    if session.first_seq() > 0 {
        let board = FleetBoard::read_until(session.handle(), session.first_seq())?;
        screen = screen.with_tasks(&earlier_tasks(session.handle())?).with_fleet(board);
    }
    let id = session.id();
    let report = drive_session(session, limits, &mut screen, &setup.env).await;
    // Restore the terminal before anything else is written to it.
    drop(screen);
    // Write the shared file on failure too: it shows what went wrong.
    let shared = share.map_or(Ok(()), |share| share.write(&setup.home, id));
    let report = report?;
    report.write(args.output_format, progress);
    shared?;
    Ok(report.exit())
}

/// The tasks that earlier processes of the session started.
fn earlier_tasks(session: &SessionHandle) -> Result<Vec<TaskView>, CliError> {
    let params = TasksParams { all: true, ..TasksParams::all_tasks() };
    Ok(session.tasks(&params)?.tasks)
}

/// Rejects an opening word that does not start a conversation: a misspelt command, or a call without a terminal.
fn require_conversation(opening: &str, format: OutputFormat) -> Result<(), CliError> {
    if let Some(command) = suggestions::suggest_command(opening) {
        return Err(CliError::usage(format!("there is no command `{opening}`"))
            .with_hint(format!("did you mean `bosun {command}`? to send it as a prompt, use -p")));
    }
    if !has_terminal() || format != OutputFormat::Text {
        return Err(CliError::usage("a conversation needs a terminal")
            .with_hint("run one prompt without a terminal with -p: bosun -p \"…\""));
    }
    Ok(())
}

/// Whether stdin and stdout are a terminal.
pub(crate) fn has_terminal() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

/// Dispatches the prompt; without one, the session continues its remaining work.
async fn dispatch_prompt(
    session: &ForegroundSession,
    catalog: &Catalog,
    prompt: Option<SendParams>,
    format: OutputFormat,
) -> Result<SlashPromptOutcome, CliError> {
    match prompt {
        Some(message) => slash::dispatch_slash(session, catalog, message, format).await,
        None => Ok(SlashPromptOutcome::WorkStarted),
    }
}

/// Resumes interrupted work and posts the prompt.
async fn resume_and_post(
    session: &ForegroundSession,
    start: SessionStart,
    prompt: Option<SendParams>,
) -> Result<(), CliError> {
    match start {
        SessionStart::Resume(_) => session.resume().await?,
        SessionStart::New | SessionStart::Fork(_) => {}
    }
    if let Some(prompt) = prompt {
        call_session::<calls::SessionSend>(session.handle(), &prompt).await?;
    }
    Ok(())
}

/// The prompt with its images.
fn prompt_message(argument: &str, images: &[PathBuf]) -> Result<SendParams, CliError> {
    let text = if argument == "-" { prompt_from_stdin()? } else { argument.to_owned() };
    if text.trim().is_empty() {
        return Err(CliError::usage("the prompt is empty").with_hint("write it after -p, or pipe it to stdin"));
    }
    Ok(SendParams {
        task: None,
        text,
        images: images::read_images(images)?,
        delivery: MailDelivery::FollowUp,
        display: None,
    })
}

fn prompt_from_stdin() -> Result<String, CliError> {
    if std::io::stdin().is_terminal() {
        print::note("type the prompt; end it with Ctrl-D on its own line");
    }
    let mut bytes = Vec::new();
    std::io::stdin()
        .lock()
        .take(MAX_PROMPT_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| CliError::usage(format!("cannot read the prompt from stdin: {error}")))?;
    if bytes.len() as u64 > MAX_PROMPT_BYTES {
        return Err(CliError::usage(format!("the prompt on stdin is larger than {MAX_PROMPT_BYTES} bytes"))
            .with_hint("put it into a file and name the file in the prompt"));
    }
    String::from_utf8(bytes).map_err(|error| {
        CliError::usage(format!("the prompt on stdin is not UTF-8 text (byte {})", error.utf8_error().valid_up_to()))
    })
}

/// The session that the run belongs to.
pub(crate) fn session_start(args: &RunArgs, home: &Home) -> Result<SessionStart, CliError> {
    let id = match &args.resume {
        Some(prefix) => find_session(home, prefix)?,
        None if args.r#continue => {
            let cwd = setup::working_folder(args.directory.as_deref())?.display().to_string();
            let not_found =
                || CliError::usage(format!("there is no session in {cwd}")).with_hint("`bosun sessions` lists all");
            latest_session(home, &cwd)?.ok_or_else(not_found)?
        }
        None => return Ok(SessionStart::New),
    };
    Ok(if args.fork { SessionStart::Fork(id) } else { SessionStart::Resume(id) })
}

/// The session of a folder with the latest event.
pub(crate) fn latest_session(home: &Home, cwd: &str) -> Result<Option<SessionId>, CliError> {
    Ok(client::sessions::latest(home, cwd)?)
}

/// The one session whose id begins with the prefix.
pub(crate) fn find_session(home: &Home, prefix: &str) -> Result<SessionId, CliError> {
    Ok(client::sessions::find(home, prefix)?)
}

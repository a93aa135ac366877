//! `--detach`: begins a session, with a prompt or a fleet, in the session host, and does not wait for it.

use std::path::{Path, PathBuf};

use config::PreparedFleet;
use protocol::SessionOptions;
use protocol::api::{BeginFleetParams, SessionView};
use runtime::SessionStart;
use serde_json::json;
use tui::print;

use crate::args::{OutputFormat, RunArgs};
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::serve::{HostedWork, begin};
use crate::setup::{Setup, working_folder};

/// Begins the session and prints its id.
pub(super) async fn run_detached(
    setup: &Setup,
    args: &RunArgs,
    start: SessionStart,
    prompt: Option<String>,
) -> Result<CommandExit, CliError> {
    refuse_events(args)?;
    if prompt.as_deref().is_some_and(|prompt| prompt.starts_with('/')) {
        return Err(CliError::usage("--detach takes no slash command").with_hint("write what to do as a prompt"));
    }
    let options = SessionOptions { prompt, ..portable_options(setup, args.session_options(), args, start)? };
    Ok(report(args, &begin(&setup.home, HostedWork::Session(start, &options)).await?))
}

/// Begins a session with a fleet, and prints its id.
pub(crate) async fn run_detached_fleet(
    setup: &Setup,
    args: &RunArgs,
    PreparedFleet { session, fleet }: PreparedFleet,
) -> Result<CommandExit, CliError> {
    refuse_events(args)?;
    let session = portable_options(setup, session, args, SessionStart::New)?;
    let request = BeginFleetParams { session, fleet, plan: None };
    Ok(report(args, &begin(&setup.home, HostedWork::Fleet(&request)).await?))
}

fn refuse_events(args: &RunArgs) -> Result<(), CliError> {
    match args.output_format {
        OutputFormat::Jsonl => Err(CliError::usage("--detach prints no events")
            .with_hint("leave --output-format out; `bosun sessions watch` prints the events of a session")),
        OutputFormat::Text | OutputFormat::Json => Ok(()),
    }
}

fn report(args: &RunArgs, view: &SessionView) -> CommandExit {
    let id = view.id;
    match args.output_format {
        OutputFormat::Json => print::json(&json!({ "session": id, "pid": view.owner_pid })),
        OutputFormat::Text | OutputFormat::Jsonl => print::output(id),
    }
    if args.shows_progress() {
        print::note(format_args!("it runs in the background; follow it with: bosun agents attach {id}"));
    }
    CommandExit::Success
}

/// The options of a session that another process opens, in another folder and environment than this one.
pub(crate) fn portable_options(
    setup: &Setup,
    options: SessionOptions,
    args: &RunArgs,
    start: SessionStart,
) -> Result<SessionOptions, CliError> {
    let is_new = start == SessionStart::New;
    let cwd = if is_new || args.directory.is_some() { Some(working_folder(args.directory.as_deref())?) } else { None };
    let options = SessionOptions {
        cwd,
        model: options.model.or_else(|| setup.env.model.clone().filter(|_| is_new)),
        // A decision may come from any terminal, at any time.
        ask_wait_seconds: options.ask_wait_seconds.filter(|_| args.ask_wait.is_some()),
        ..options
    };
    with_absolute_paths(options)
}

/// The same options for a process that works in another folder.
pub(crate) fn with_absolute_paths(options: SessionOptions) -> Result<SessionOptions, CliError> {
    Ok(SessionOptions {
        add_dirs: absolute_paths(options.add_dirs)?,
        plugin_dirs: absolute_paths(options.plugin_dirs)?,
        settings: options.settings.map(absolute_source).transpose()?,
        agents_source: options.agents_source.map(absolute_source).transpose()?,
        record: options.record.map(absolute_path).transpose()?,
        ..options
    })
}

fn absolute_paths(paths: Vec<PathBuf>) -> Result<Vec<PathBuf>, CliError> {
    paths.into_iter().map(absolute_path).collect()
}

fn absolute_path(path: PathBuf) -> Result<PathBuf, CliError> {
    Ok(std::path::absolute(path)?)
}

/// JSON text as it is, or the absolute path of a file.
fn absolute_source(source: String) -> Result<String, CliError> {
    if source.trim_start().starts_with(['{', '[']) || !Path::new(&source).exists() {
        return Ok(source);
    }
    Ok(absolute_path(source.into())?.display().to_string())
}

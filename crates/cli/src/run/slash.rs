//! Prompts that are slash commands.

use std::path::Path;

use host::Home;
use protocol::api::{InvokeSlashResult, SendParams};
use protocol::{Refusal, SessionId};
use runtime::slash::SlashRegistry;
use runtime::{Catalog, SessionStart};
use serde_json::json;
use tui::chat::{CallFailure, SlashCommands as _, SlashInput, SlashReply, run_slash_line};
use tui::print;

use crate::args::{OutputFormat, RunArgs};
use crate::error::CliError;
use crate::foreground_session::ForegroundSession;
use crate::setup;
use crate::setup::Setup;
use crate::share::ShareFile;
use crate::slash_commands::RegistrySlashCommands;

/// The outcome of dispatching a prompt.
#[derive(Debug)]
pub(super) enum SlashPromptOutcome {
    /// It is a message for the model.
    Message(Box<SendParams>),
    /// It is done and has started work.
    WorkStarted,
    /// It is done, and nothing is left to do.
    Finished(SlashEffect),
}

/// Whether a command changed the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SlashEffect {
    /// It changed the session.
    ChangedSession,
    /// It only printed a text; a session created for it is removed.
    TextOnly,
}

/// The result of looking at a prompt before a model is chosen or a session is opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PromptPreview {
    /// It needs a session.
    Session,
    /// It only prints this text.
    Text(String),
}

/// Previews a prompt; fails if it is a command that cannot run here.
pub(super) fn preview_prompt(
    setup: &Setup,
    args: &RunArgs,
    folder: Option<&Path>,
    text: &str,
) -> Result<PromptPreview, CliError> {
    if !text.starts_with('/') {
        return Ok(PromptPreview::Session);
    }
    let cwd = setup::working_folder(folder)?;
    let folder_agents = setup.sources().folder_agents(&args.session_options(), &cwd)?;
    let commands = RegistrySlashCommands(SlashRegistry::of(&folder_agents.catalog));
    match commands.look_up(text) {
        SlashInput::Session(command) if command.name == "help" => Ok(PromptPreview::Text(commands.0.help())),
        SlashInput::NotACommand | SlashInput::Session(_) => Ok(PromptPreview::Session),
        SlashInput::Terminal(..) => Err(terminal_only(text)),
        SlashInput::Unknown(refusal) => Err(unknown_command(refusal)),
        SlashInput::Refused(refusal) => Err(refused_command(refusal)),
    }
}

/// Dispatches a prompt, which may be a command.
pub(super) async fn dispatch_slash(
    session: &ForegroundSession,
    catalog: &Catalog,
    message: SendParams,
    format: OutputFormat,
) -> Result<SlashPromptOutcome, CliError> {
    if !message.text.starts_with('/') {
        return Ok(SlashPromptOutcome::Message(Box::new(message)));
    }
    let commands = RegistrySlashCommands(SlashRegistry::of(catalog));
    let reply = run_slash_line(session.handle(), &commands, &message.text).await.map_err(CallFailure::Fatal)?;
    match reply {
        SlashReply::NotACommand => Ok(SlashPromptOutcome::Message(Box::new(message))),
        SlashReply::Terminal(..) => Err(terminal_only(&message.text)),
        SlashReply::Unknown(refusal) => Err(unknown_command(refusal)),
        SlashReply::Refused(refusal) => Err(refused_command(refusal)),
        SlashReply::Answered(InvokeSlashResult::AgentPrompt { prompt: text, display_prompt, .. }) => {
            Ok(SlashPromptOutcome::Message(Box::new(SendParams { text, display: Some(display_prompt), ..message })))
        }
        SlashReply::Answered(InvokeSlashResult::Text { text }) => {
            print_text(&text, format);
            Ok(SlashPromptOutcome::Finished(SlashEffect::TextOnly))
        }
        SlashReply::Answered(InvokeSlashResult::Completed { message, mode }) if session.status().quiet => {
            print_text(&message, format);
            Ok(SlashPromptOutcome::Finished(if mode.is_some() {
                SlashEffect::ChangedSession
            } else {
                SlashEffect::TextOnly
            }))
        }
        SlashReply::Answered(InvokeSlashResult::Completed { message, .. }) => {
            print::note(print::sanitize(&message));
            Ok(SlashPromptOutcome::WorkStarted)
        }
        // The run shows the start of the fleet as it shows every event.
        SlashReply::Answered(InvokeSlashResult::FleetStarted { .. }) => Ok(SlashPromptOutcome::WorkStarted),
    }
}

/// Leaves a session without a message; returns it if it is kept. A session created for a command that only printed a
/// text is removed, since `--continue` would find it.
pub(super) async fn leave_session(
    session: ForegroundSession,
    start: SessionStart,
    effect: SlashEffect,
) -> Result<Option<SessionId>, CliError> {
    let handle = session.handle().clone();
    session.leave().await?;
    match (start, effect) {
        (SessionStart::New | SessionStart::Fork(_), SlashEffect::TextOnly) => {
            client::sessions::remove(handle.home(), handle.id())?;
            Ok(None)
        }
        (SessionStart::New | SessionStart::Fork(_) | SessionStart::Resume(_), SlashEffect::ChangedSession)
        | (SessionStart::Resume(_), SlashEffect::TextOnly) => Ok(Some(handle.id())),
    }
}

/// Writes the file of `--share` after a command that no run follows.
pub(super) fn share(file: Option<ShareFile>, home: &Home, kept: Option<SessionId>) -> Result<(), CliError> {
    match (file, kept) {
        (None, _) => Ok(()),
        (Some(file), Some(session)) => file.write(home, session),
        (Some(_draft), None) => {
            print::note("nothing is shared: the command only printed a text");
            Ok(())
        }
    }
}

/// How to find the commands, for a command that does not say what to do instead.
const COMMANDS_HINT: &str = "`bosun -p /help` lists all commands; start with a space to send it to the model";

fn terminal_only(text: &str) -> CliError {
    let name = text.split_whitespace().next().unwrap_or_default();
    CliError::usage(format!("{} works only in a conversation at a terminal", print::sanitize(name)))
        .with_hint("`bosun` without -p starts one; for a run, use --model and --resume")
}

fn unknown_command(refusal: Refusal) -> CliError {
    CliError::usage(refusal.in_one_line()).with_hint(COMMANDS_HINT)
}

fn refused_command(refusal: Refusal) -> CliError {
    let hint = refusal.hint.unwrap_or_else(|| COMMANDS_HINT.into());
    CliError::usage(refusal.message).with_hint(hint)
}

pub(super) fn print_text(text: &str, format: OutputFormat) {
    match format {
        OutputFormat::Text => print::output(print::sanitize(text)),
        OutputFormat::Json | OutputFormat::Jsonl => print::json(&json!({ "type": "command", "text": text })),
    }
}

//! Prompts that are slash commands.

use std::path::Path;

use protocol::Refusal;
use protocol::api::SendParams;
use runtime::slash::{SlashLookup, SlashOutcome, SlashPrompt, SlashRegistry};
use runtime::{Catalog, SessionStart};
use serde_json::json;
use tui::print;

use crate::args::{OutputFormat, RunArgs};
use crate::error::CliError;
use crate::foreground_session::{ForegroundSession, run_slash_command};
use crate::setup;
use crate::setup::Setup;

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
    let registry = SlashRegistry::of(&setup.sources().folder_agents(&args.session_options(), &cwd)?.catalog);
    match registry.parse(text) {
        SlashLookup::NotACommand => Ok(PromptPreview::Session),
        SlashLookup::Command(command) if command.name() == "help" => Ok(PromptPreview::Text(registry.help())),
        SlashLookup::Command(command) if command.terminal_command().is_some() => {
            Err(CliError::usage(format!("/{} works only in a conversation at a terminal", command.name()))
                .with_hint("`bosun` without -p starts one; for a run, use --model and --resume"))
        }
        SlashLookup::Command(_) => Ok(PromptPreview::Session),
        SlashLookup::Unavailable(outcome) => Err(failure(&outcome)),
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
    match run_slash_command(session.handle(), &SlashRegistry::of(catalog), &message.text).await? {
        SlashOutcome::NotACommand => Ok(SlashPromptOutcome::Message(Box::new(message))),
        SlashOutcome::Prompt(SlashPrompt { text, display, .. }) => {
            Ok(SlashPromptOutcome::Message(Box::new(SendParams { text, display: Some(display), ..message })))
        }
        SlashOutcome::Text(text) => {
            print_text(&text, format);
            Ok(SlashPromptOutcome::Finished(SlashEffect::TextOnly))
        }
        SlashOutcome::Done { message, mode } if session.status().quiet => {
            print_text(&message, format);
            Ok(SlashPromptOutcome::Finished(if mode.is_some() {
                SlashEffect::ChangedSession
            } else {
                SlashEffect::TextOnly
            }))
        }
        SlashOutcome::Done { message, .. } => {
            print::note(print::sanitize(&message));
            Ok(SlashPromptOutcome::WorkStarted)
        }
        // The run shows the start of the fleet as it shows every event.
        SlashOutcome::FleetStarted(_) => Ok(SlashPromptOutcome::WorkStarted),
        outcome @ (SlashOutcome::Terminal(..) | SlashOutcome::Refused(_) | SlashOutcome::Unknown { .. }) => {
            Err(failure(&outcome))
        }
    }
}

/// Leaves a session without a message. A session created for a command that only printed a text is removed, since
/// `--continue` would find it.
pub(super) async fn leave_session(
    session: ForegroundSession,
    start: SessionStart,
    effect: SlashEffect,
) -> Result<(), CliError> {
    let handle = session.handle().clone();
    session.leave().await?;
    match (start, effect) {
        (SessionStart::New | SessionStart::Fork(_), SlashEffect::TextOnly) => {
            Ok(client::sessions::remove(handle.home(), handle.id())?)
        }
        (SessionStart::New | SessionStart::Fork(_) | SessionStart::Resume(_), SlashEffect::ChangedSession)
        | (SessionStart::Resume(_), SlashEffect::TextOnly) => Ok(()),
    }
}

fn failure(outcome: &SlashOutcome) -> CliError {
    let lists = "`bosun -p /help` lists all commands; start with a space to send it to the model";
    match (outcome, outcome.refusal()) {
        (SlashOutcome::Refused(_), Some(Refusal { message, hint: Some(hint) })) => {
            CliError::usage(message).with_hint(hint)
        }
        (_, Some(refusal)) => CliError::usage(refusal.in_one_line()).with_hint(lists),
        (_, None) => CliError::usage("this command needs a conversation at a terminal").with_hint(lists),
    }
}

pub(super) fn print_text(text: &str, format: OutputFormat) {
    match format {
        OutputFormat::Text => print::output(print::sanitize(text)),
        OutputFormat::Json | OutputFormat::Jsonl => print::json(&json!({ "type": "command", "text": text })),
    }
}

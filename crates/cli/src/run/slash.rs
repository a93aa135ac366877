//! A prompt that is a slash command.

use std::path::Path;

use protocol::api::SendParams;
use runtime::slash::{Looked, Outcome, Prompt, Registry};
use runtime::{Session, Start};
use serde_json::json;

use crate::args::{Format, RunArgs};
use crate::failure::Failure;
use crate::setup::Setup;
use crate::{print, sessions, setup};

/// What becomes of a prompt.
#[derive(Debug)]
pub(super) enum Given {
    /// It is for the model.
    Message(Box<SendParams>),
    /// It is done, and what it began goes on.
    Work,
    /// It is done, and nothing is left to do.
    Over(Trace),
}

/// Whether what a command did is worth a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trace {
    /// It changed the session.
    Kept,
    /// It only told something; a session that was begun for it goes with it.
    None,
}

/// What there is to know of a prompt before a model is chosen and anything is begun for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Foreseen {
    /// It takes a session.
    Session,
    /// It only asks for this.
    Text(String),
}

/// Looks at a prompt; fails when it is a command that cannot be run here.
pub(super) fn foresee(setup: &Setup, args: &RunArgs, folder: Option<&Path>, text: &str) -> Result<Foreseen, Failure> {
    if !text.starts_with('/') {
        return Ok(Foreseen::Session);
    }
    let cwd = setup::folder(folder)?;
    let registry = Registry::of(&setup.staffing(&args.permit, &args.definitions, args.file()?, &cwd)?.catalog);
    match registry.look(text) {
        Looked::NotACommand => Ok(Foreseen::Session),
        Looked::Known(found) if found.name() == "help" => Ok(Foreseen::Text(registry.help())),
        Looked::Known(found) if found.screen().is_some() => {
            Err(Failure::usage(format!("/{} is for a dialogue at a terminal", found.name()))
                .hint("`bosun` without -p begins one; --model and --resume say the same for a run"))
        }
        Looked::Known(_) => Ok(Foreseen::Session),
        Looked::Not(outcome) => Err(failure(&outcome)),
    }
}

/// Does what a prompt asks for if it is a command.
pub(super) async fn give(session: &Session, message: SendParams, format: Format) -> Result<Given, Failure> {
    match session.dispatch(&message.text).await {
        Outcome::NotACommand => Ok(Given::Message(Box::new(message))),
        Outcome::Prompt(Prompt { text, display, .. }) => {
            Ok(Given::Message(Box::new(SendParams { text, display: Some(display), ..message })))
        }
        Outcome::Told(text) => {
            tell(&text, format);
            Ok(Given::Over(Trace::None))
        }
        Outcome::Done { message, mode } if session.status().borrow().quiet => {
            tell(&message, format);
            Ok(Given::Over(if mode.is_some() { Trace::Kept } else { Trace::None }))
        }
        Outcome::Done { message, .. } => {
            print::note(print::plain(&message));
            Ok(Given::Work)
        }
        outcome @ (Outcome::Screen(..) | Outcome::Refused(_) | Outcome::Unknown { .. }) => Err(failure(&outcome)),
    }
}

/// Leaves a session in which nothing was said. One that was begun for a command that only told something is removed:
/// `--continue` would find it.
pub(super) async fn leave(session: Session, start: Start, trace: Trace) -> Result<(), Failure> {
    let (home, id) = (session.home().clone(), session.id());
    session.leave().await?;
    match (start, trace) {
        (Start::New | Start::Fork(_), Trace::None) => Ok(sessions::remove(&home, id)?),
        (Start::New | Start::Fork(_) | Start::Resume(_), Trace::Kept) | (Start::Resume(_), Trace::None) => Ok(()),
    }
}

fn failure(outcome: &Outcome) -> Failure {
    let words = outcome.complaint().unwrap_or_else(|| "that is for a dialogue at a terminal".into());
    Failure::usage(words).hint("`bosun -p /help` lists every command; begin with a blank to say it to the model")
}

pub(super) fn tell(text: &str, format: Format) {
    match format {
        Format::Text => print::answer(print::plain(text)),
        Format::Json | Format::Jsonl => print::json(&json!({ "type": "command", "text": text })),
    }
}

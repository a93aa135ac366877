//! Follows a task until it and everything below it has ended, or no process runs its session; or shows what it did until
//! now.

use client::{FollowOptions, SessionHandle, SessionMessage};
use host::Home;
use protocol::SessionId;
use tui::print;

use super::follow::TaskFollower;
use super::selection::SelectedTask;
use crate::args::TaskArgs;
use crate::error::CliError;
use crate::exit::CommandExit;

/// The number of events read at a time.
const EVENTS_PER_PAGE: usize = 512;

/// What to follow, and how to show it.
#[derive(Debug, Clone, Copy)]
pub(super) struct TailOptions {
    /// Whether to include descendants.
    pub(super) tree: bool,
    /// Only events after this sequence number are shown.
    pub(super) after: u64,
    pub(super) json: bool,
}

pub(super) async fn tail(home: &Home, chosen: &SelectedTask, options: TailOptions) -> Result<CommandExit, CliError> {
    let mut follower = TaskFollower::new(&chosen.task, options);
    let mut messages = SessionHandle::new(home, chosen.session).follow(0, FollowOptions::default());
    while !follower.is_finished() && !print::is_stdout_closed() {
        match messages.next().await? {
            Some(SessionMessage::Event(event)) => follower.show_event(&event),
            Some(SessionMessage::Text { task, turn, text }) => follower.show_text(task, turn, &text),
            Some(SessionMessage::Status(_)) => {}
            None => break,
        }
    }
    follower.flush();
    Ok(CommandExit::Success)
}

/// How to show what the main agent of a session did.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogOptions {
    /// Whether to continue until no process runs the session.
    pub(crate) follow: bool,
    /// Whether to include its subagents.
    pub(crate) tree: bool,
    pub(crate) json: bool,
}

/// Prints what the main agent of a session did.
pub(crate) async fn print_root_log(
    home: &Home,
    session: SessionId,
    LogOptions { follow, tree, json }: LogOptions,
) -> Result<CommandExit, CliError> {
    let root = TaskArgs { task: "/root".into(), session: Some(session.to_string()), json };
    let chosen = SelectedTask::find(home, &root)?;
    let options = TailOptions { tree, after: 0, json };
    if follow {
        return tail(home, &chosen, options).await;
    }
    let mut follower = TaskFollower::new(&chosen.task, options);
    let (mut shown, end) = (0, chosen.session_view()?.events);
    while shown < end && !print::is_stdout_closed() {
        let page = chosen.handle.events_after(shown, EVENTS_PER_PAGE)?;
        let Some(last) = page.last() else { break };
        shown = last.seq;
        page.iter().for_each(|event| follower.show_event(event));
    }
    follower.flush();
    Ok(CommandExit::Success)
}

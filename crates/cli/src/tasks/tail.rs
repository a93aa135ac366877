//! Follows a task until it and everything below it has ended, or no process runs its session.

use client::{FollowOptions, SessionHandle, SessionMessage};
use host::Home;
use tui::print;

use super::follow::TaskFollower;
use super::selection::SelectedTask;
use crate::error::CliError;
use crate::exit::CommandExit;

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

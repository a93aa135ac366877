//! Conversations at one terminal, one session after the other.

use std::fmt;

use super::dialogue::{Dialogue, DialogueEnd};
use super::history::InputHistory;
use super::open_conversation::OpenConversation;
use super::owner::{ConversationError, ConversationOwner};
use super::terminal::ChatTerminal;
use crate::terminal_settings::{TerminalError, TerminalSettings};

/// A conversation at the terminal of this process.
pub struct Conversation<'a, O> {
    owner: &'a O,
    terminal: ChatTerminal,
}

/// How a conversation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConversationEnd {
    /// The user left.
    Left,
    /// The user left, and the session is to continue in the background.
    Background,
    /// The user stopped it, or the terminal was closed.
    Stopped,
    /// The session ended or paused by itself.
    Failed,
}

impl<'a, O: ConversationOwner> Conversation<'a, O> {
    /// Takes over the terminal.
    pub fn open(
        owner: &'a O,
        settings: TerminalSettings,
        history: InputHistory,
    ) -> Result<Conversation<'a, O>, TerminalError> {
        Ok(Conversation { owner, terminal: ChatTerminal::open(settings, history)? })
    }

    /// Runs the conversation of an open session, and of those that the user switches to. `opening` is sent first, as if
    /// typed.
    pub async fn run(
        mut self,
        mut running: O::Running,
        mut opened: OpenConversation,
        mut opening: Option<String>,
    ) -> Result<ConversationEnd, O::Error> {
        let mut previous = None;
        loop {
            let mut dialogue = Dialogue::begin(self.owner, &mut self.terminal, opened, previous)?;
            self.owner.resume_work(&running).await?;
            let end = dialogue.run(opening.take()).await?;
            let leaving = dialogue.begin_leaving()?;
            self.owner.leave(running).await?;
            previous = Some(leaving.finish(&mut self.terminal, self.owner, &end).map_err(ConversationError::from)?);
            match end {
                DialogueEnd::Switch(next) => (running, opened) = self.owner.open(*next).await?,
                DialogueEnd::Leave(end) => return Ok(end),
            }
        }
    }
}

impl<O> fmt::Debug for Conversation<'_, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conversation").field("terminal", &self.terminal).finish_non_exhaustive()
    }
}

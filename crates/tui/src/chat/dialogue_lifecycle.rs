//! Start and end of a dialogue.

use std::time::Instant;

use client::{FollowOptions, SessionHandle, StoreError};
use protocol::SessionId;
use protocol::api::TasksParams;

use super::ask_queue::AskQueue;
use super::call_history::CallHistory;
use super::conversation::ConversationEnd;
use super::dialogue::{Dialogue, DialogueEnd};
use super::feed::ChatFeed;
use super::open_conversation::{self, OpenConversation, SessionLink};
use super::owner::{ConversationError, ConversationOwner};
use super::terminal::ChatTerminal;
use super::text::{LinePrefix, StyledRow, StyledSpan, wrap};
use super::view::MESSAGE_PROMPT;
use crate::fleet_notes;
use crate::live::FleetBoard;
use crate::style::TextRole;
use crate::usage_summary::SessionUsageSummary;

/// State kept from a dialogue for the next one.
#[derive(Debug)]
pub(super) struct PreviousDialogue {
    session: SessionId,
    /// The calls that `/show` can show again.
    calls: CallHistory,
}

impl<'a, O: ConversationOwner> Dialogue<'a, O> {
    /// Shows the welcome text. The last exchange is shown unless the user has just talked to the same session.
    pub(super) fn begin(
        owner: &'a O,
        terminal: &'a mut ChatTerminal,
        opened: OpenConversation,
        previous: Option<PreviousDialogue>,
    ) -> Result<Dialogue<'a, O>, ConversationError> {
        let session = &opened.session;
        let mut feed = ChatFeed::new(opened.root, terminal.screen.style());
        let same_session = previous.filter(|previous| previous.session == session.id());
        let is_same_session = same_session.is_some();
        if let Some(previous) = same_session {
            feed.restore_calls(previous.calls);
        }
        let tasks = session.tasks(&TasksParams::all_tasks())?.tasks;
        tasks.iter().for_each(|task| feed.add_earlier_task(task.id, task.kind, &task.name));
        feed.add_earlier_fleet(FleetBoard::read_until(session, opened.first_seq)?);
        if opened.link == SessionLink::Attached {
            feed.set_earlier_until(session.view()?.events);
        }
        let events = session.follow(opened.first_seq, FollowOptions::default());
        let (interrupted, hint, draw_at, asks) = (None, None, Some(Instant::now()), AskQueue::default());
        let mut dialogue =
            Dialogue { owner, terminal, chat: opened, feed, asks, events, last_interrupt: interrupted, hint, draw_at };
        dialogue.show(open_conversation::welcome_rows(&dialogue.chat, dialogue.columns()));
        // An attached conversation shows everything from its beginning.
        if !is_same_session && dialogue.chat.first_seq > 0 {
            dialogue.restore_conversation()?;
            dialogue.show_unfinished_fleet();
        }
        Ok(dialogue)
    }

    /// Shows the last exchange and open asks.
    fn restore_conversation(&mut self) -> Result<(), ConversationError> {
        let session = &self.chat.session;
        let (prompt, answer) = open_conversation::last_exchange(session, self.chat.root)?;
        let open_asks = session.open_asks()?;
        if let Some(resumed) = self.chat.resumed.take() {
            self.show_note(&resumed);
        }
        if !prompt.is_empty() {
            self.show_user_text(MESSAGE_PROMPT, &prompt);
        }
        let rows = self.feed.replay_text(&answer, self.columns());
        self.show(rows);
        for view in open_asks {
            let task_name = view.path.trim_start_matches("/root").trim_start_matches('/').to_owned();
            self.feed.add_earlier_ask(view.task, &view.ask);
            self.enqueue_ask(view.task, &task_name, view.ask);
        }
        Ok(())
    }

    /// Reminds the user of a fleet that is unfinished or was stopped.
    fn show_unfinished_fleet(&mut self) {
        let session = &self.chat.session;
        if let Some(note) = fleet_notes::unfinished_fleet_note(session.home(), session.id()) {
            self.show_note(&note);
        }
    }

    /// Shows what is still incomplete, before the session is left.
    pub(super) fn begin_leaving(mut self) -> Result<LeavingDialogue, ConversationError> {
        let unfinished = self.feed.finish_text(self.columns());
        self.show(unfinished);
        let link = self.chat.link;
        let is_quiet = self.events.status().is_some_and(|status| status.quiet);
        let is_empty = link == SessionLink::Owned && self.chat.session.view()?.title.is_empty();
        Ok(LeavingDialogue { session: self.chat.session, link, is_quiet, is_empty, calls: self.feed.into_calls() })
    }
}

/// A dialogue whose session is being left.
#[derive(Debug)]
pub(super) struct LeavingDialogue {
    session: SessionHandle,
    link: SessionLink,
    /// Whether nothing runs.
    is_quiet: bool,
    /// Whether nothing was said, and the session is removed.
    is_empty: bool,
    calls: CallHistory,
}

impl LeavingDialogue {
    /// Shows how to resume the session that was left, unless it is resumed at once. Removes an empty session.
    pub(super) fn finish<O: ConversationOwner>(
        self,
        terminal: &mut ChatTerminal,
        owner: &O,
        end: &DialogueEnd<O::Prepared>,
    ) -> Result<PreviousDialogue, StoreError> {
        let LeavingDialogue { session, link, is_quiet, is_empty, calls } = self;
        let (columns, id) = (terminal.screen.columns(), session.id());
        match end {
            DialogueEnd::Switch(next) if owner.resumed_session(next) == Some(id) => {
                terminal.screen.show([StyledRow::new()])
            }
            DialogueEnd::Switch(_) | DialogueEnd::Leave(_) if is_empty => client::sessions::remove(session.home(), id)?,
            DialogueEnd::Switch(_) | DialogueEnd::Leave(_) => {
                let totals = session.totals()?;
                let usage = SessionUsageSummary::new(totals.session, totals.spendings);
                let dim =
                    |text: String| wrap(&[StyledSpan::new(TextRole::Dim, &text)], columns, &LinePrefix::default());
                let resume = match (link, end) {
                    (SessionLink::Attached, _) | (_, DialogueEnd::Leave(ConversationEnd::Background)) => {
                        let continues = if is_quiet { "" } else { "it continues in the background; " };
                        format!("{continues}come back with: bosun agents attach {id}")
                    }
                    (SessionLink::Owned, _) => {
                        format!("resume with: {}", fleet_notes::resume_command(session.home(), id))
                    }
                };
                let rows = usage.summary_line().into_iter().chain([resume]);
                terminal.screen.show([StyledRow::new()].into_iter().chain(rows.flat_map(dim)));
                if let DialogueEnd::Switch(_) = end {
                    terminal.screen.show([StyledRow::new()]);
                }
            }
        }
        Ok(PreviousDialogue { session: id, calls })
    }
}

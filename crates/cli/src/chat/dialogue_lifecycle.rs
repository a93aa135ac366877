//! Start and end of a dialogue.

use std::time::Instant;

use protocol::SessionId;
use protocol::api::TasksParams;
use runtime::SessionStart;
use tui::chat::ask_queue::AskQueue;
use tui::chat::call_history::CallHistory;
use tui::chat::terminal::ChatTerminal;
use tui::chat::text::{LinePrefix, StyledRow, StyledSpan, wrap};
use tui::live::FleetBoard;
use tui::style::TextRole;

use super::dialogue::{Dialogue, DialogueEnd};
use super::feed::ChatFeed;
use super::open_chat::{self, OpenChat};
use super::view::MESSAGE_PROMPT;
use crate::args::RunArgs;
use crate::error::CliError;
use crate::fleet;
use crate::foreground_session::ForegroundSession;
use crate::run::SessionUsageSummary;
use crate::setup::Setup;

/// State kept from a dialogue for the next one.
#[derive(Debug)]
pub(super) struct PreviousDialogue {
    session: SessionId,
    /// The calls that `/show` can show again.
    calls: CallHistory,
}

impl<'a> Dialogue<'a> {
    /// Shows the welcome text, and resumes interrupted work. The last exchange is shown unless the user has just talked
    /// to the same session.
    pub(super) async fn begin(
        setup: &'a Setup,
        args: &'a RunArgs,
        terminal: &'a mut ChatTerminal,
        owner: &ForegroundSession,
        opened: OpenChat,
        previous: Option<PreviousDialogue>,
    ) -> Result<Dialogue<'a>, CliError> {
        let session = &opened.session;
        let mut feed = ChatFeed::new(opened.root, terminal.screen.style());
        let same_session = previous.filter(|previous| previous.session == session.id());
        let is_same_session = same_session.is_some();
        if let Some(previous) = same_session {
            feed.restore_calls(previous.calls);
        }
        let stored = session.stored()?;
        let tasks = stored.tasks(&TasksParams::all_tasks())?.tasks;
        tasks.iter().for_each(|task| feed.add_earlier_task(task.id, task.kind, &task.name));
        feed.add_earlier_fleet(FleetBoard::read_until(&stored, owner.first_seq())?);
        let events = owner.follow();
        let (interrupted, hint, draw_at, asks) = (None, None, Some(Instant::now()), AskQueue::default());
        let mut dialogue = Dialogue {
            setup,
            args,
            terminal,
            chat: opened,
            feed,
            asks,
            events,
            last_interrupt: interrupted,
            hint,
            draw_at,
        };
        dialogue.show(open_chat::welcome_rows(&dialogue.chat, dialogue.columns()));
        if !is_same_session {
            dialogue.restore_conversation()?;
            dialogue.show_unfinished_fleet();
        }
        if let SessionStart::Resume(_) = dialogue.chat.start {
            owner.resume().await?;
        }
        Ok(dialogue)
    }

    /// Shows the last exchange and open asks.
    fn restore_conversation(&mut self) -> Result<(), CliError> {
        let session = &self.chat.session;
        let (prompt, answer) = open_chat::last_exchange(session, self.chat.root)?;
        let open_asks = session.stored()?.open_asks()?;
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
        if let Some(note) = fleet::unfinished_fleet_note(session.home(), session.id()) {
            self.show_note(&note);
        }
    }

    /// Leaves the session. Shows how to resume it, unless it is resumed at once. Removes an empty session.
    pub(super) async fn leave(
        mut self,
        owner: ForegroundSession,
        end: &DialogueEnd,
    ) -> Result<PreviousDialogue, CliError> {
        let columns = self.columns();
        let (home, id) = (self.setup.home.clone(), self.chat.session.id());
        let unfinished = self.feed.finish_text(columns);
        self.show(unfinished);
        let is_empty = self.chat.session.stored()?.view()?.title.is_empty();
        owner.leave().await?;
        match end {
            DialogueEnd::Switch(next) if next.start == SessionStart::Resume(id) => {
                self.terminal.screen.show([StyledRow::new()])
            }
            DialogueEnd::Switch(_) | DialogueEnd::Leave(_) if is_empty => client::sessions::remove(&home, id)?,
            DialogueEnd::Switch(_) | DialogueEnd::Leave(_) => {
                let usage = SessionUsageSummary::read(&self.chat.session.stored()?)?;
                let dim =
                    |text: String| wrap(&[StyledSpan::new(TextRole::Dim, &text)], columns, &LinePrefix::default());
                let resume = format!("resume with: {}", fleet::resume_command(&home, id));
                let rows = usage.summary_line().into_iter().chain([resume]);
                self.terminal.screen.show([StyledRow::new()].into_iter().chain(rows.flat_map(dim)));
                if let DialogueEnd::Switch(_) = end {
                    self.terminal.screen.show([StyledRow::new()]);
                }
            }
        }
        Ok(PreviousDialogue { session: id, calls: self.feed.into_calls() })
    }
}

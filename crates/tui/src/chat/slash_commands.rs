//! Slash commands, which are for Bosun rather than the model.

use protocol::api::{InvokeSlashResult, PermissionParams, SendParams, calls};
use protocol::{MailDelivery, PermissionMode};

use super::ask_queue::AskDetail;
use super::conversation::ConversationEnd;
use super::dialogue::{Dialogue, DialogueEnd};
use super::open_conversation::{self, SessionLink};
use super::owner::{ConversationError, ConversationOwner, SessionChoice};
use super::slash_line::{SlashReply, run_slash_line};
use super::terminal_command::{self, ChatCommand};
use super::text::StyledRow;
use super::view::MESSAGE_PROMPT;
use crate::escape::escape_invisible;

/// Help for `/keys`.
const KEY_HELP: [(&str, &str); 14] = [
    ("Enter", "sends the message, or answers the question"),
    ("Alt-Enter, Ctrl-J, \\ Enter", "starts a new line"),
    ("Tab", "completes the name of a command"),
    ("Ctrl-C", "stops the turn, or clears the line; twice leaves"),
    ("Ctrl-D", "leaves, on an empty line"),
    ("Ctrl-O", "shows the whole last call, like /show"),
    ("Ctrl-L", "draws the screen again"),
    ("Up, Down, Ctrl-P, Ctrl-N", "shows earlier messages; those that start with a space are not kept"),
    ("Left, Right, Ctrl-B, Ctrl-F", "moves by one character; Ctrl-Left, Ctrl-Right, Alt-B and Alt-F by one word"),
    ("Home, End, Ctrl-A, Ctrl-E", "moves to the beginning or end of the line"),
    ("Backspace, Delete", "removes one character"),
    ("Ctrl-W, Alt-Backspace", "removes the word before the cursor"),
    ("Ctrl-U, Ctrl-K", "removes everything before, or after, the cursor"),
    ("Ctrl-Y", "puts back what was removed last"),
];

impl<O: ConversationOwner> Dialogue<'_, O> {
    /// Runs a slash command.
    pub(super) async fn run_slash_command(
        &mut self,
        line: &str,
    ) -> Result<Option<DialogueEnd<O::Prepared>>, ConversationError> {
        self.terminal.editor.history().add(line);
        self.echo(MESSAGE_PROMPT, line);
        let reply = run_slash_line(&self.chat.session, &*self.chat.slash_commands, line).await?;
        match reply {
            SlashReply::Terminal(name, arguments) => match terminal_command::parse_command(name, &arguments) {
                Ok(command) => return self.run_terminal_command(command).await,
                Err(problem) => self.show_error(&problem),
            },
            SlashReply::Unknown(refusal) | SlashReply::Refused(refusal) => {
                self.show_error(&escape_invisible(&refusal.in_one_line()));
            }
            SlashReply::Answered(result) => self.show_result(result).await?,
            SlashReply::NotACommand => {}
        }
        Ok(None)
    }

    /// Shows the result of a command of the session, or sends the prompt that it is.
    async fn show_result(&mut self, result: InvokeSlashResult) -> Result<(), ConversationError> {
        match result {
            InvokeSlashResult::AgentPrompt { prompt: text, display_prompt, mode: _ } => {
                let display = Some(display_prompt).filter(|display| *display != text);
                let (images, delivery) = (Vec::new(), MailDelivery::FollowUp);
                self.post(SendParams { task: None, text, images, delivery, display }).await?;
            }
            InvokeSlashResult::Text { text } | InvokeSlashResult::Completed { message: text, .. } => {
                text.lines().for_each(|line| self.show_entry(&escape_invisible(line)));
            }
            // The feed shows the start of the fleet, and its progress while the user types.
            InvokeSlashResult::FleetStarted { .. } => {}
        }
        Ok(())
    }

    /// Runs a terminal command. Errors are shown, and the dialogue continues.
    async fn run_terminal_command(
        &mut self,
        command: ChatCommand,
    ) -> Result<Option<DialogueEnd<O::Prepared>>, ConversationError> {
        match (command, self.chat.link) {
            (ChatCommand::Exit, _) | (ChatCommand::Background, SessionLink::Attached) => {
                return Ok(Some(DialogueEnd::Leave(ConversationEnd::Left)));
            }
            (ChatCommand::Background, SessionLink::Owned) => {
                return Ok(Some(DialogueEnd::Leave(ConversationEnd::Background)));
            }
            (ChatCommand::Mode(Some(mode)), SessionLink::Attached) => self.change_permission_mode(mode).await?,
            (ChatCommand::Mode(Some(mode)), SessionLink::Owned) => {
                return Ok(self.switch_session(SessionChoice::Mode(mode)));
            }
            (ChatCommand::Resume(Some(_)) | ChatCommand::New, SessionLink::Attached) => {
                self.show_error("leave this session first: Ctrl-D leaves, and it continues in the background");
            }
            (ChatCommand::Resume(Some(id)), SessionLink::Owned) => {
                return Ok(self.switch_session(SessionChoice::Other(id)));
            }
            (ChatCommand::New, SessionLink::Owned) => return Ok(self.switch_session(SessionChoice::New)),
            (ChatCommand::Keys, _) => {
                KEY_HELP.iter().for_each(|(keys, effect)| self.show_entry(&format!("{keys:<28} {effect}")))
            }
            (ChatCommand::Approvals, _) => self.show_approvals(),
            (ChatCommand::Show(ago), _) => self.show_call(ago),
            (ChatCommand::Mode(None), _) => {
                open_conversation::mode_lines(self.chat.permission_mode).iter().for_each(|line| self.show_note(line));
            }
            (ChatCommand::Resume(None), _) => match open_conversation::other_session_rows(&self.chat, self.columns()) {
                Ok(rows) => self.show(rows),
                Err(failure) => self.show_error(&failure.to_string()),
            },
        }
        Ok(None)
    }

    /// Changes the permission mode of a session that another process runs.
    async fn change_permission_mode(&mut self, mode: PermissionMode) -> Result<(), ConversationError> {
        let changed = self.call::<calls::PermissionSet>(&PermissionParams { mode }).await;
        if self.check_accepted(changed)?.is_some() {
            self.chat.permission_mode = mode;
            self.show_note(&format!("the mode is {mode}: {}", open_conversation::describe_mode(mode)));
        }
        Ok(())
    }

    /// Shows all of a call.
    pub(super) fn show_call(&mut self, ago: usize) {
        match self.feed.calls().full_rows(ago, self.columns()) {
            Some(rows) => self.show([StyledRow::new()].into_iter().chain(rows)),
            None => self.show_note("no such call; /show 1 is the last one"),
        }
    }

    /// Completes the name of a command.
    pub(super) fn complete(&mut self) {
        let names = self.chat.slash_commands.completions(self.terminal.editor.draft().text());
        match &names[..] {
            [] => {}
            [name] => self.terminal.editor.replace(&format!("/{name} ")),
            [..] => self.show_note(&names.iter().map(|name| format!("/{name}")).collect::<Vec<_>>().join("  ")),
        }
    }

    fn show_approvals(&mut self) {
        let titles = self.asks.titles();
        if titles.is_empty() {
            self.show_note("nothing waits for your decision");
        }
        titles.iter().for_each(|title| self.show_note(title));
        self.show(self.asks.current_rows(AskDetail::Clipped, self.columns()));
    }

    /// Switches to another session, or to this one with other settings, unless running work would be lost.
    fn switch_session(&mut self, choice: SessionChoice) -> Option<DialogueEnd<O::Prepared>> {
        let tasks = self.background_count();
        if self.is_busy() {
            self.show_error("a turn is running; wait for it, or stop it with Ctrl-C first");
        } else if self.has_fleet() {
            self.show_error("a fleet is at work; wait for it, or stop it with `bosun fleet stop` first");
        } else if tasks > 0 {
            self.show_error(&format!(
                "background tasks ({tasks}) would be lost; wait for them, or have them stopped first"
            ));
        } else {
            match self.owner.prepare(&self.chat, choice) {
                Ok(prepared) => return Some(DialogueEnd::Switch(Box::new(prepared))),
                Err(failure) => self.show_error(&failure.to_string()),
            }
        }
        None
    }
}

//! Slash commands, which are for Bosun rather than the model.

use protocol::PermissionMode;
use runtime::SessionStart;
use runtime::slash::SlashOutcome;
use tui::chat::ask_queue::AskDetail;
use tui::chat::text::StyledRow;
use tui::escape::escape_invisible;

use super::dialogue::{Dialogue, DialogueEnd};
use super::open_chat::{self, PreparedChat};
use super::terminal_command::{self, ChatCommand};
use super::view::MESSAGE_PROMPT;
use crate::args::{PermissionArgs, RunArgs};
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::foreground_session::run_slash_command;
use crate::run;

/// Help for `/keys`.
const KEY_HELP: [(&str, &str); 14] = [
    ("Enter", "sends the message, or answers the question"),
    ("Alt-Enter, Ctrl-J, \\ Enter", "starts a new line"),
    ("Tab", "completes the name of a command"),
    ("Ctrl-C", "stops the turn, or clears the line; twice leaves"),
    ("Ctrl-D", "leaves, on an empty line"),
    ("Ctrl-O", "shows the whole last call, like /show"),
    ("Ctrl-L", "draws the screen again"),
    ("Up, Down, Ctrl-P, Ctrl-N", "earlier messages; those that start with a space are not kept"),
    ("Left, Right, Ctrl-B, Ctrl-F", "one character; with Ctrl or Alt, and Alt-B, Alt-F: one word"),
    ("Home, End, Ctrl-A, Ctrl-E", "the beginning and the end of the line"),
    ("Backspace, Delete", "removes one character"),
    ("Ctrl-W, Alt-Backspace", "removes the word before the cursor"),
    ("Ctrl-U, Ctrl-K", "removes everything before, or after, the cursor"),
    ("Ctrl-Y", "puts back what was removed last"),
];

impl Dialogue<'_> {
    /// Runs a slash command.
    pub(super) async fn run_slash_command(&mut self, line: &str) -> Result<Option<DialogueEnd>, CliError> {
        self.terminal.editor.history().add(line);
        self.echo(MESSAGE_PROMPT, line);
        match run_slash_command(&self.chat.session, &self.chat.slash_commands, line.trim()).await? {
            SlashOutcome::Terminal(name, arguments) => match terminal_command::parse_command(name, &arguments) {
                Ok(command) => return Ok(self.run_terminal_command(command).await),
                Err(problem) => self.show_error(&problem),
            },
            SlashOutcome::Prompt(prompt) => self.post(prompt.message()).await?,
            SlashOutcome::Text(text) | SlashOutcome::Done { message: text, .. } => {
                text.lines().for_each(|line| self.show_note(&escape_invisible(line)));
            }
            // The feed shows the start of the fleet, and its progress while the user types.
            SlashOutcome::FleetStarted(_) => {}
            outcome @ (SlashOutcome::Refused(_) | SlashOutcome::Unknown { .. } | SlashOutcome::NotACommand) => {
                self.show_error(&escape_invisible(&outcome.refusal().unwrap_or_default()));
            }
        }
        Ok(None)
    }

    /// Runs a terminal command. Errors are shown, and the dialogue continues.
    pub(super) async fn run_terminal_command(&mut self, command: ChatCommand) -> Option<DialogueEnd> {
        match command {
            ChatCommand::Exit => return Some(DialogueEnd::Leave(CommandExit::Success)),
            ChatCommand::Mode(Some(mode)) => return self.switch_session(|this| this.prepare_with_mode(mode)),
            ChatCommand::Resume(Some(id)) => return self.switch_session(|this| this.prepare_other_session(&id)),
            ChatCommand::New => return self.switch_session(Self::prepare_new_session),
            ChatCommand::Keys => {
                KEY_HELP.iter().for_each(|(keys, effect)| self.show_note(&format!("{keys:<28} {effect}")))
            }
            ChatCommand::Approvals => self.show_approvals(),
            ChatCommand::Show(ago) => self.show_call(ago),
            ChatCommand::Mode(None) => {
                open_chat::mode_lines(self.chat.permission_mode).iter().for_each(|line| self.show_note(line));
            }
            ChatCommand::Resume(None) => match open_chat::other_session_rows(&self.chat, self.columns()) {
                Ok(rows) => self.show(rows),
                Err(failure) => self.show_error(&failure.to_string()),
            },
        }
        None
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
        match names[..] {
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
    fn switch_session(&mut self, prepare: impl FnOnce(&Self) -> Result<PreparedChat, CliError>) -> Option<DialogueEnd> {
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
            match prepare(self) {
                Ok(prepared) => return Some(DialogueEnd::Switch(Box::new(prepared))),
                Err(failure) => self.show_error(&failure.to_string()),
            }
        }
        None
    }

    fn prepare_with_mode(&self, mode: PermissionMode) -> Result<PreparedChat, CliError> {
        PreparedChat::new(self.setup, &self.current_args()?, SessionStart::Resume(self.chat.session.id()), Some(mode))
    }

    fn prepare_other_session(&self, prefix: &str) -> Result<PreparedChat, CliError> {
        let id = run::find_session(&self.setup.home, prefix)?;
        if id == self.chat.session.id() {
            return Err(CliError::usage("this session is already open"));
        }
        open_chat::ensure_not_running(&self.setup.home, id)?;
        // The session keeps its own folder, model and mode.
        let permissions = PermissionArgs { allow_all: false, permission_mode: None, ..self.args.permissions.clone() };
        let mode = self.args.mode.without_session_mode();
        let args = RunArgs { model: None, directory: None, permissions, mode, ..self.args.clone() };
        PreparedChat::new(self.setup, &args, SessionStart::Resume(id), None)
    }

    fn prepare_new_session(&self) -> Result<PreparedChat, CliError> {
        PreparedChat::new(self.setup, &self.current_args()?, SessionStart::New, Some(self.chat.permission_mode))
    }

    /// The arguments that match the current state of the session.
    fn current_args(&self) -> Result<RunArgs, CliError> {
        let (model, directory) = (self.chat.session.stored()?.view()?.model, self.chat.cwd.clone());
        let mode = self.args.mode.without_session_mode();
        Ok(RunArgs { model: Some(model), directory: Some(directory.into()), mode, ..self.args.clone() })
    }
}

//! What is said to Bosun rather than to the model: slash commands.

use protocol::PermissionMode;
use runtime::Start;
use runtime::slash::Outcome;

use super::asks::Whole;
use super::command::{self, Command};
use super::dialogue::{Dialogue, End};
use super::open::{self, Prepared};
use super::text::Row;
use super::view::LINE;
use crate::args::{PermitArgs, RunArgs};
use crate::exact::exact;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::run;

/// What can be pressed.
const KEYS: [(&str, &str); 14] = [
    ("Enter", "sends the message, or answers the question"),
    ("Alt-Enter, Ctrl-J, \\ Enter", "starts a new line"),
    ("Tab", "completes the name of a command"),
    ("Ctrl-C", "stops the turn, or clears the line; twice ends the session"),
    ("Ctrl-D", "leaves, on an empty line"),
    ("Ctrl-O", "shows the last call whole, like /show"),
    ("Ctrl-L", "draws the screen again"),
    ("Up, Down, Ctrl-P, Ctrl-N", "earlier messages; one that begins with a blank is not kept"),
    ("Left, Right, Ctrl-B, Ctrl-F", "one character; with Ctrl or Alt, and Alt-B, Alt-F: one word"),
    ("Home, End, Ctrl-A, Ctrl-E", "the beginning and the end of the line"),
    ("Backspace, Delete", "removes one character"),
    ("Ctrl-W, Alt-Backspace", "removes the word before the cursor"),
    ("Ctrl-U, Ctrl-K", "removes everything before, or behind, the cursor"),
    ("Ctrl-Y", "puts back what was removed last"),
];

impl Dialogue<'_> {
    /// Does what a slash command asks for; nothing of that if the line is none.
    pub(super) async fn command(&mut self, line: &str) -> Result<Option<End>, Failure> {
        self.person.editor.history().add(line);
        self.echo(LINE, line);
        match self.opened.session.dispatch(line.trim()).await {
            Outcome::Screen(screen, rest) => match command::read(screen, &rest) {
                Ok(command) => return Ok(self.perform(command).await),
                Err(problem) => self.complain(&problem),
            },
            Outcome::Prompt(prompt) => self.post(prompt.message()).await?,
            Outcome::Told(text) | Outcome::Done { message: text, .. } => {
                text.lines().for_each(|line| self.tell(&exact(line)));
            }
            outcome @ (Outcome::Refused(_) | Outcome::Unknown { .. } | Outcome::NotACommand) => {
                self.complain(&exact(&outcome.complaint().unwrap_or_default()));
            }
        }
        Ok(None)
    }

    /// Does what was asked of Bosun. What cannot be done is told, and the dialogue goes on.
    pub(super) async fn perform(&mut self, command: Command) -> Option<End> {
        match command {
            Command::Exit => return Some(End::Over(Exit::Success)),
            Command::Mode(Some(mode)) => return self.switch(|this| this.with_mode(mode)),
            Command::Resume(Some(id)) => return self.switch(|this| this.with_session(&id)),
            Command::New => return self.switch(Self::anew),
            Command::Keys => KEYS.iter().for_each(|(keys, what)| self.tell(&format!("{keys:<28} {what}"))),
            Command::Approvals => self.approvals(),
            Command::Show(ago) => self.expand(ago),
            Command::Mode(None) => {
                let mode = self.opened.mode;
                self.tell(&format!("the mode is {mode}: {}", open::about(mode)));
            }
            Command::Resume(None) => match open::listed(&self.opened, self.columns()) {
                Ok(rows) => self.show(rows),
                Err(failure) => self.complain(&failure.to_string()),
            },
        }
        None
    }

    /// Shows all of a call.
    pub(super) fn expand(&mut self, ago: usize) {
        match self.feed.calls().whole(ago, self.columns()) {
            Some(rows) => self.show([Row::new()].into_iter().chain(rows)),
            None => self.tell("there is no such call; /show 1 is the last one"),
        }
    }

    /// Completes the name of a command.
    pub(super) fn complete(&mut self) {
        let names = self.opened.slashes.completions(self.person.editor.draft().text());
        match names[..] {
            [] => {}
            [one] => self.person.editor.replace(&format!("/{one} ")),
            [..] => self.tell(&names.iter().map(|name| format!("/{name}")).collect::<Vec<_>>().join("  ")),
        }
    }

    fn approvals(&mut self) {
        let titles = self.asks.titles();
        if titles.is_empty() {
            self.tell("nothing waits for your decision");
        }
        titles.iter().for_each(|title| self.tell(title));
        self.show(self.asks.rows(Whole::Most, self.columns()));
    }

    /// Goes on with another session, or with this one under other terms, if nothing is under way that would be lost.
    fn switch(&mut self, next: impl FnOnce(&Self) -> Result<Prepared, Failure>) -> Option<End> {
        let tasks = self.background();
        if self.is_busy() {
            self.complain("a turn is under way; wait for it, or stop it with Ctrl-C first");
        } else if tasks > 0 {
            self.complain(&format!(
                "what runs in the background ({tasks}) would be lost; wait for it, or have it stopped first"
            ));
        } else {
            match next(self) {
                Ok(prepared) => return Some(End::Switch(Box::new(prepared))),
                Err(failure) => self.complain(&failure.to_string()),
            }
        }
        None
    }

    fn with_mode(&self, mode: PermissionMode) -> Result<Prepared, Failure> {
        Prepared::new(self.setup, &self.own_args(), Start::Resume(self.opened.session.id()), Some(mode))
    }

    fn with_session(&self, prefix: &str) -> Result<Prepared, Failure> {
        let id = run::find(&self.setup.home, prefix)?;
        if id == self.opened.session.id() {
            return Err(Failure::usage("that is this session"));
        }
        open::expect_free(&self.setup.home, id)?;
        // The session has its own folder, model and mode.
        let permit = PermitArgs { allow_all: false, permission_mode: None, ..self.args.permit.clone() };
        let mode = self.args.mode.untyped();
        let args = RunArgs { model: None, directory: None, permit, mode, ..self.args.clone() };
        Prepared::new(self.setup, &args, Start::Resume(id), None)
    }

    fn anew(&self) -> Result<Prepared, Failure> {
        Prepared::new(self.setup, &self.own_args(), Start::New, Some(self.opened.mode))
    }

    /// The command line as it would be for what the session is now.
    fn own_args(&self) -> RunArgs {
        let (model, directory) = (self.opened.session.model(), self.opened.cwd.clone());
        let mode = self.args.mode.untyped();
        RunArgs { model: Some(model), directory: Some(directory.into()), mode, ..self.args.clone() }
    }
}

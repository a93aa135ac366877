//! The main loop of a conversation, which handles one input at a time.

use std::time::{Duration, Instant};

use client::{EventStream, SessionMessage};
use protocol::MailDelivery;
use protocol::api::{ApiCall, Nothing, SendParams, calls};

use super::ask_queue::AskQueue;
use super::conversation::ConversationEnd;
use super::editor::EditorAction;
use super::feed::ChatFeed;
use super::open_conversation::{OpenConversation, SessionLink};
use super::owner::{ConversationError, ConversationOwner, SlashInput};
use super::session_call::{CallFailure, call_session};
use super::terminal::{ChatTerminal, TerminalEvent};
use super::view::MESSAGE_PROMPT;
use crate::background_names::BackgroundNames;
use crate::escape::escape_invisible;
use crate::signals::RunSignal;

/// Two interrupts within this time end the session.
const DOUBLE_INTERRUPT_WINDOW: Duration = Duration::from_secs(2);

/// Maximum time to collect changes before they are drawn together.
const MAX_DRAW_DELAY: Duration = Duration::from_millis(16);

/// How often the status is updated.
const STATUS_INTERVAL: Duration = Duration::from_secs(1);

/// The conversation of a user with one session.
pub(super) struct Dialogue<'a, O> {
    pub(super) owner: &'a O,
    pub(super) terminal: &'a mut ChatTerminal,
    pub(super) chat: OpenConversation,
    pub(super) feed: ChatFeed,
    pub(super) asks: AskQueue,
    pub(super) events: EventStream,
    /// The time and target of the last interrupt.
    pub(super) last_interrupt: Option<(Instant, InterruptTarget)>,
    /// A hint that is shown until the next key.
    pub(super) hint: Option<&'static str>,
    /// When the screen is to be drawn.
    pub(super) draw_at: Option<Instant>,
}

/// The target of an interrupt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InterruptTarget {
    /// A turn, which was stopped.
    Turn,
    /// The line, which was cleared.
    Line,
    /// Background work: the user was warned about it, and the dialogue did not end.
    BackgroundWork,
}

/// How a dialogue ends.
#[derive(Debug)]
pub(super) enum DialogueEnd<P> {
    /// The conversation ends.
    Leave(ConversationEnd),
    /// Switch to another session.
    Switch(Box<P>),
}

/// Input of the loop.
enum DialogueInput {
    Terminal(TerminalEvent),
    /// A message of the session.
    Live(SessionMessage),
    /// The session has ended by itself.
    Ended,
    /// The collected changes are due to be drawn.
    Draw,
    /// The status line needs an update.
    Tick,
}

impl<O: ConversationOwner> Dialogue<'_, O> {
    /// Runs the loop until the dialogue ends, starting with the opening message, if any.
    pub(super) async fn run(&mut self, opening: Option<String>) -> Result<DialogueEnd<O::Prepared>, ConversationError> {
        if let Some(line) = opening
            && let Some(end) = self.submit_line(line).await?
        {
            return Ok(end);
        }
        loop {
            let input = self.next_input().await?;
            let draw_now = matches!(input, DialogueInput::Draw | DialogueInput::Terminal(_));
            if let Some(end) = self.handle(input).await? {
                return Ok(end);
            }
            if self.terminal.screen.is_closed() {
                return Ok(DialogueEnd::Leave(ConversationEnd::Stopped));
            }
            if (draw_now && !self.terminal.has_pending_keys()) || self.terminal.screen.has_many_queued_rows() {
                self.draw();
            } else {
                self.draw_at.get_or_insert_with(|| Instant::now() + MAX_DRAW_DELAY);
            }
        }
    }

    async fn next_input(&mut self) -> Result<DialogueInput, ConversationError> {
        let busy = self.is_busy();
        let draw_at = self.draw_at;
        Ok(tokio::select! {
            biased;
            event = self.terminal.next() => DialogueInput::Terminal(event),
            () = sleep_until_or_forever(draw_at) => DialogueInput::Draw,
            message = self.events.next() => message?.map_or(DialogueInput::Ended, DialogueInput::Live),
            () = tokio::time::sleep(STATUS_INTERVAL), if busy => DialogueInput::Tick,
        })
    }

    async fn handle(&mut self, input: DialogueInput) -> Result<Option<DialogueEnd<O::Prepared>>, ConversationError> {
        match input {
            DialogueInput::Terminal(event) => return self.handle_terminal(event).await,
            DialogueInput::Live(SessionMessage::Status(status)) => {
                if let Some(reason) = status.paused {
                    self.show_error(&format!("{reason}; finished work is kept"));
                    return Ok(Some(DialogueEnd::Leave(ConversationEnd::Failed)));
                }
            }
            DialogueInput::Live(message) => self.handle_message(&message),
            DialogueInput::Ended => {
                self.show_error("the session has ended; finished work is kept");
                return Ok(Some(DialogueEnd::Leave(ConversationEnd::Failed)));
            }
            DialogueInput::Draw | DialogueInput::Tick => {}
        }
        Ok(None)
    }

    async fn handle_terminal(
        &mut self,
        event: TerminalEvent,
    ) -> Result<Option<DialogueEnd<O::Prepared>>, ConversationError> {
        match event {
            TerminalEvent::Key(key) => {
                self.hint = None;
                let action = self.terminal.editor.press(key);
                if !matches!(action, EditorAction::Interrupt | EditorAction::Leave) {
                    self.last_interrupt = None;
                }
                return self.handle_edit(action).await;
            }
            TerminalEvent::Signal(RunSignal::Interrupt) => return self.interrupt().await,
            TerminalEvent::Signal(RunSignal::End) => return Ok(Some(DialogueEnd::Leave(ConversationEnd::Stopped))),
            TerminalEvent::Closed => return Ok(Some(DialogueEnd::Leave(ConversationEnd::Left))),
            TerminalEvent::Resized => self.terminal.screen.resize(),
            TerminalEvent::Continued => self.terminal.screen.take_over(),
        }
        Ok(None)
    }

    async fn handle_edit(
        &mut self,
        action: EditorAction,
    ) -> Result<Option<DialogueEnd<O::Prepared>>, ConversationError> {
        match action {
            EditorAction::Edited => {}
            EditorAction::Submitted(line) => return self.submit_line(line).await,
            EditorAction::Complete => self.complete(),
            EditorAction::Interrupt => return self.interrupt().await,
            EditorAction::Leave => return self.leave_or_warn(),
            EditorAction::Expand => self.show_call(1),
            EditorAction::Redraw => self.terminal.screen.clear(),
            EditorAction::TooLong => {
                self.show_error("the text is too long for a prompt; put it into a file and name the file")
            }
        }
        Ok(None)
    }

    /// Leaves, unless that would interrupt background work and the user has not been warned yet; then shows a warning.
    fn leave_or_warn(&mut self) -> Result<Option<DialogueEnd<O::Prepared>>, ConversationError> {
        if self.chat.link == SessionLink::Attached {
            return Ok(Some(DialogueEnd::Leave(ConversationEnd::Left)));
        }
        let BackgroundNames { agents, commands } = BackgroundNames::read(&self.chat.session)?;
        let warned = matches!(self.last_interrupt, Some((_, InterruptTarget::BackgroundWork)));
        let has_fleet = self.has_fleet();
        if warned || agents.is_empty() && commands.is_empty() && !has_fleet {
            return Ok(Some(DialogueEnd::Leave(ConversationEnd::Left)));
        }
        self.last_interrupt = Some((Instant::now(), InterruptTarget::BackgroundWork));
        if has_fleet {
            let id = self.chat.session.id();
            self.show_note(&format!(
                "Ctrl-D again leaves and interrupts the fleet; resume it with: bosun fleet resume {id}"
            ));
        } else if !agents.is_empty() {
            let (names, id) = (agents.join(", "), self.chat.session.id());
            self.show_note(&escape_invisible(&format!(
                "Ctrl-D again leaves and interrupts {names}; resume with: bosun --resume {id}"
            )));
        }
        if !commands.is_empty() {
            self.show_note(&escape_invisible(&format!(
                "Ctrl-D again leaves and stops for good: {}",
                commands.join(", ")
            )));
        }
        self.hint = Some("Ctrl-D again leaves");
        Ok(None)
    }

    /// Stops the turn or clears the line; a second interrupt within two seconds leaves, and during a turn of a session
    /// that this process runs also cancels all agents.
    async fn interrupt(&mut self) -> Result<Option<DialogueEnd<O::Prepared>>, ConversationError> {
        let target = if self.is_busy() { InterruptTarget::Turn } else { InterruptTarget::Line };
        let previous = self.last_interrupt.replace((Instant::now(), target));
        let previous = previous.filter(|(at, target)| {
            at.elapsed() < DOUBLE_INTERRUPT_WINDOW && *target != InterruptTarget::BackgroundWork
        });
        let previous = previous.map(|(_, target)| target);
        match (previous, target) {
            (Some(_), _) if self.chat.link == SessionLink::Attached => {
                return Ok(Some(DialogueEnd::Leave(ConversationEnd::Left)));
            }
            (Some(InterruptTarget::Turn), _) | (Some(_), InterruptTarget::Turn) => {
                let stopped = self.call::<calls::SessionStop>(&Nothing {}).await;
                self.check_accepted(stopped)?;
                return Ok(Some(DialogueEnd::Leave(ConversationEnd::Stopped)));
            }
            (
                Some(InterruptTarget::Line | InterruptTarget::BackgroundWork),
                InterruptTarget::Line | InterruptTarget::BackgroundWork,
            ) => {
                return Ok(Some(DialogueEnd::Leave(ConversationEnd::Left)));
            }
            (None, InterruptTarget::Turn) => {
                let stopped = self.call::<calls::SessionInterrupt>(&Nothing {}).await;
                self.check_accepted(stopped)?;
                self.hint = Some(match self.chat.link {
                    SessionLink::Owned => "stopping; Ctrl-C again leaves and cancels all agents",
                    SessionLink::Attached => "stopping; Ctrl-C again leaves",
                });
            }
            (None, InterruptTarget::Line | InterruptTarget::BackgroundWork) => {
                self.terminal.editor.replace("");
                self.terminal.screen.note_line_end();
                self.hint = Some("Ctrl-C again leaves");
            }
        }
        Ok(None)
    }

    /// Runs a slash command, answers the current ask, or sends a message.
    async fn submit_line(&mut self, line: String) -> Result<Option<DialogueEnd<O::Prepared>>, ConversationError> {
        self.terminal.screen.note_line_end();
        if self.chat.slash_commands.look_up(&line) != SlashInput::NotACommand {
            return self.run_slash_command(&line).await;
        }
        if !self.asks.is_empty() {
            self.answer(&line).await?;
        } else if matches!(line.trim(), "exit" | "quit") {
            return self.leave_or_warn();
        } else if !line.trim().is_empty() {
            self.terminal.editor.history().add(&line);
            self.send(&line).await?;
        }
        Ok(None)
    }

    async fn send(&mut self, line: &str) -> Result<(), ConversationError> {
        self.echo(MESSAGE_PROMPT, line);
        let (text, images, delivery) = (line.trim().to_owned(), Vec::new(), MailDelivery::FollowUp);
        self.post(SendParams { task: None, text, images, delivery, display: None }).await
    }

    /// Sends a message, which the agent reads soon.
    pub(super) async fn post(&mut self, message: SendParams) -> Result<(), ConversationError> {
        let busy = self.is_busy();
        let delivery = if busy { MailDelivery::Steer } else { MailDelivery::FollowUp };
        let sent = self.call::<calls::SessionSend>(&SendParams { delivery, ..message }).await;
        if let Some(receipt) = self.check_accepted(sent)? {
            self.feed.record_sent(receipt.mail);
            if busy {
                self.show_note("the agent reads this before its next step");
            }
        }
        Ok(())
    }

    pub(super) async fn call<C: ApiCall>(&self, params: &C::Params) -> Result<C::Result, CallFailure> {
        call_session::<C>(&self.chat.session, params).await
    }

    /// Shows a refusal of the session; returns any other error.
    pub(super) fn check_accepted<T>(&mut self, result: Result<T, CallFailure>) -> Result<Option<T>, ConversationError> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(CallFailure::Refused(reason)) => {
                self.show_error(&reason.in_one_line());
                Ok(None)
            }
            Err(CallFailure::Fatal(error)) => Err(error.into()),
        }
    }

    pub(super) fn is_busy(&self) -> bool {
        self.events.status().is_some_and(|status| status.is_root_busy())
    }

    /// Whether a fleet is at work.
    pub(super) fn has_fleet(&self) -> bool {
        self.events.status().is_some_and(|status| status.fleet)
    }

    pub(super) fn background_count(&self) -> u64 {
        self.events.status().map_or(0, |status| status.background)
    }
}

async fn sleep_until_or_forever(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment.into()).await,
        None => std::future::pending().await,
    }
}

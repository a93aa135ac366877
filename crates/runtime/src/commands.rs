//! What a person says from another process: on the session's socket, or in the file of a session that nobody ran. The
//! file is read once, when the session goes on, before any program of it runs.

use std::sync::Arc;

use futures_util::future::join_all;
use kernel::{Input, Letter};
use protocol::api::{Command, CommandFate, DecideParams, ModeParams, StopTaskParams, TaskParams};
use protocol::{Body, CancelBy, DecidedBy, FleetEnd, Origin, TaskId};
use tokio::sync::{Notify, watch};

use crate::agent::Desk;
use crate::hooks;
use crate::supervisor::{Rejected, Supervisor};

/// Most commands that are applied together.
const TOGETHER: usize = 256;

/// Who applies what was left for the session.
pub(crate) struct Lookout {
    pub(crate) desk: Arc<Desk>,
    pub(crate) root: TaskId,
    pub(crate) supervisor: Supervisor,
    /// The commands that were there when the session was opened.
    pub(crate) left: Vec<(i64, Command)>,
}

impl Lookout {
    /// Applies the commands when the session goes on, and says when that is done.
    pub(crate) async fn watch(self, go: Arc<Notify>, looked: watch::Sender<bool>) {
        go.notified().await;
        if let Ok(()) = self.apply().await {
            looked.send_replace(true);
            // Whoever asks later reads that it is done.
            std::future::pending().await
        }
    }

    /// Fails when there is nobody any more to apply them.
    async fn apply(&self) -> Result<(), Rejected> {
        for commands in self.left.chunks(TOGETHER) {
            let mut given = Vec::new();
            for (id, command) in commands {
                given.push((*id, heard(&self.desk, &self.supervisor, self.root, command.clone()).await));
            }
            // They line up in their order, and one commit can hold them all.
            let supervisor = &self.supervisor;
            let submit = |(id, input): (i64, Result<Input, Rejected>)| async move {
                match input {
                    Ok(input) => (id, supervisor.submit_command(input, id).await),
                    Err(rejected) => (id, supervisor.refuse_command(id, rejected).await),
                }
            };
            for (id, taken) in join_all(given.into_iter().map(submit)).await {
                match taken {
                    Ok(_receipt) => {}
                    Err(rejected @ (Rejected::Refused(_) | Rejected::Rule(_) | Rejected::Hook(_))) => {
                        tracing::info!(%rejected, id, "a command was refused");
                    }
                    Err(rejected @ (Rejected::Paused(_) | Rejected::Gone)) => return Err(rejected),
                }
            }
        }
        Ok(())
    }
}

/// Carries out a command that a person gives now, and says what became of it.
pub(crate) async fn carry_out(
    desk: &Arc<Desk>,
    supervisor: &Supervisor,
    root: TaskId,
    command: Command,
) -> Result<CommandFate, Rejected> {
    let taken = match heard(desk, supervisor, root, command).await {
        Ok(input) => supervisor.submit(input).await,
        Err(rejected) => Err(rejected),
    };
    match taken {
        Ok(receipt) => Ok(CommandFate::Applied { mail: receipt.mail }),
        Err(rejected @ (Rejected::Paused(_) | Rejected::Gone)) => Err(rejected),
        Err(rejected) => Ok(CommandFate::Refused { kind: rejected.kind(), message: rejected.to_string() }),
    }
}

/// What a command means, with what hooks have to say to a prompt.
async fn heard(desk: &Arc<Desk>, supervisor: &Supervisor, root: TaskId, command: Command) -> Result<Input, Rejected> {
    let Command::Send(message) = command else { return Ok(input(command, root)) };
    let message = hooks::prompted(desk, supervisor, root, message).await?;
    Ok(input(Command::Send(message), root))
}

/// What a command means.
pub(crate) fn input(command: Command, root: TaskId) -> Input {
    match command {
        Command::Send(params) => Input::Send(Letter {
            to: params.task.unwrap_or(root),
            from: Origin::User,
            delivery: params.delivery,
            body: Body::Text { text: params.text, images: params.images, display: params.display },
        }),
        Command::Interrupt => Input::Interrupt(root),
        Command::StopFleet => Input::EndFleet(FleetEnd::Stopped),
        Command::Stop => Input::Stop { by: CancelBy::User },
        Command::StopTask(StopTaskParams { task, how }) => Input::Cancel { task, by: CancelBy::User, how },
        Command::Promote(TaskParams { task }) => Input::Promote(task),
        Command::Forget(TaskParams { task }) => Input::Forget(task),
        Command::SetMode(ModeParams { mode }) => Input::SetMode { mode, by: Origin::User },
        Command::Decide(DecideParams { ask, decision }) => Input::Decide { ask, decision, by: DecidedBy::User },
    }
}

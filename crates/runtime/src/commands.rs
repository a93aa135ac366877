//! Commands that other processes left in the session's file, and todos that they changed there. The socket's poke brings them at once; a look at the
//! file every second brings those whose sender could not poke.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use kernel::{Input, Letter};
use protocol::api::{Command, DecideParams, StopTaskParams, TaskParams};
use protocol::{Body, CancelBy, DecidedBy, FleetEnd, Origin, TaskId};
use store::{Reader, StoreError};
use tokio::sync::{Notify, watch};

use crate::agent::Desk;
use crate::hooks;
use crate::supervisor::{Rejected, Supervisor};
use crate::todos::Untaken;

/// How often the file is looked at without a poke.
const LOOK_UP: Duration = Duration::from_secs(1);

/// Most commands that are applied together.
const TOGETHER: usize = 256;

/// When commands are looked for: from the session's go on, and whenever somebody pokes.
#[derive(Debug, Clone)]
pub(crate) struct Cues {
    pub(crate) go: Arc<Notify>,
    pub(crate) poke: Arc<Notify>,
}

/// Where commands are looked for.
pub(crate) struct Lookout {
    reader: Reader,
    desk: Arc<Desk>,
    root: TaskId,
    supervisor: Supervisor,
    /// The file's version at the last look.
    version: Option<i64>,
}

impl Lookout {
    pub(crate) fn new(reader: Reader, desk: Arc<Desk>, root: TaskId, supervisor: Supervisor) -> Lookout {
        Lookout { reader, desk, root, supervisor, version: None }
    }

    /// Applies commands until the session ends; says when those that were waiting are applied.
    pub(crate) async fn watch(mut self, cues: Cues, looked: watch::Sender<bool>) {
        cues.go.notified().await;
        while let Ok(()) = self.apply().await {
            looked.send_replace(true);
            // Poked or not, it is time to look.
            let _poked = tokio::time::timeout(LOOK_UP, cues.poke.notified()).await;
        }
    }

    /// Applies what is new; fails when there is nobody any more to apply it.
    async fn apply(&mut self) -> Result<(), Rejected> {
        let News { todos, commands } = self.news();
        if todos {
            self.take_todos().await?;
        }
        for commands in commands.chunks(TOGETHER) {
            let mut given = Vec::new();
            for (id, command) in commands {
                given.push((*id, self.input(command.clone()).await));
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

    /// What a command means, with what hooks have to say to a prompt.
    async fn input(&mut self, command: Command) -> Result<Input, Rejected> {
        let Command::Send(message) = command else { return Ok(input(command, self.root)) };
        let message = hooks::prompted(&self.desk, &self.supervisor, self.root, message).await?;
        Ok(input(Command::Send(message), self.root))
    }

    /// What another process or an agent that has gone did to the todos.
    async fn take_todos(&mut self) -> Result<(), Rejected> {
        match self.desk.todos.take().await {
            Ok(()) => Ok(()),
            Err(Untaken::Rejected(rejected @ (Rejected::Paused(_) | Rejected::Gone))) => Err(rejected),
            Err(error @ (Untaken::Store(_) | Untaken::Rejected(_))) => {
                tracing::warn!(%error, "changed todos are not taken over");
                Ok(())
            }
        }
    }

    /// What is new, if anything in the file has changed.
    fn news(&mut self) -> News {
        self.read().unwrap_or_else(|error| {
            tracing::warn!(%error, "commands cannot be read");
            News::default()
        })
    }

    fn read(&mut self) -> Result<News, StoreError> {
        let now = self.reader.data_version()?;
        if self.version == Some(now) {
            return Ok(News::default());
        }
        let news = News { todos: self.reader.has_todo_changes()?, commands: self.reader.pending_commands()? };
        // Only now: a look that failed is taken again.
        self.version = Some(now);
        Ok(news)
    }
}

/// What was written to the file since the last look.
#[derive(Debug, Default)]
struct News {
    /// Whether todos were changed.
    todos: bool,
    commands: Vec<(i64, Command)>,
}

/// What a command means.
pub(crate) fn input(command: Command, root: TaskId) -> Input {
    match command {
        Command::Send(params) => Input::Send(Letter {
            to: params.task.unwrap_or(root),
            from: Origin::User,
            delivery: params.delivery,
            body: Body::Text { text: params.text, images: params.images },
        }),
        Command::Interrupt => Input::Interrupt(root),
        Command::StopFleet => Input::EndFleet(FleetEnd::Stopped),
        Command::Stop => Input::Stop { by: CancelBy::User },
        Command::StopTask(StopTaskParams { task, how }) => Input::Cancel { task, by: CancelBy::User, how },
        Command::Promote(TaskParams { task }) => Input::Promote(task),
        Command::Forget(TaskParams { task }) => Input::Forget(task),
        Command::Decide(DecideParams { ask, decision }) => Input::Decide { ask, decision, by: DecidedBy::User },
    }
}

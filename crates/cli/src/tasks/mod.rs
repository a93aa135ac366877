//! `bosun tasks`: what every agent and command of a session does, from any terminal, while it runs and after.

mod follow;
mod give;
mod list;
mod place;
mod show;
mod tail;
mod told;

use protocol::api::{Command, SendParams, StopTaskParams, TaskParams, TaskView};
use protocol::{Cancel, Delivery, Outcome, TaskState};
use serde::Serialize;

pub(crate) use self::list::short_model;
use self::place::Chosen;
use crate::args::{TaskArgs, TasksArgs, TasksCommand};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::print;
use crate::setup::Setup;

pub(crate) async fn perform(args: TasksArgs) -> Result<Exit, Failure> {
    let home = Setup::to_read()?.home;
    match args.command {
        None => list::list(&home, &args.list),
        Some(TasksCommand::List(options)) => list::list(&home, &options),
        Some(TasksCommand::Show(args)) => show::show(&home, &Chosen::find(&home, &args)?, args.json),
        Some(TasksCommand::Tail { chosen, tree, after }) => {
            tail::tail(&home, &Chosen::find(&home, &chosen)?, tail::Wanted { tree, after, json: chosen.json }).await
        }
        Some(TasksCommand::Send { chosen, text, follow_up, interrupt }) => {
            let delivery = match (follow_up, interrupt) {
                (true, _) => Delivery::FollowUp,
                (false, true) => Delivery::Interrupt,
                (false, false) => Delivery::Steer,
            };
            if text.trim().is_empty() {
                return Err(Failure::usage("the message is empty"));
            }
            let send = |task| {
                Command::Send(SendParams { task: Some(task), text, images: Vec::new(), delivery, display: None })
            };
            give::give(&home, &Chosen::find(&home, &chosen)?, send, chosen.json).await
        }
        Some(TasksCommand::Stop { chosen, now, tree: _ }) => {
            let how = if now { Cancel::Abort } else { Cancel::WrapUp };
            let stop = |task| Command::StopTask(StopTaskParams { task, how });
            give::give(&home, &Chosen::find(&home, &chosen)?, stop, chosen.json).await
        }
        Some(TasksCommand::Output(args)) => Ok(output(&home, &Chosen::find(&home, &args)?, &args)),
        Some(TasksCommand::Background(args)) => {
            let promote = |task| Command::Promote(TaskParams { task });
            give::give(&home, &Chosen::find(&home, &args)?, promote, args.json).await
        }
        Some(TasksCommand::Rm(args)) => {
            let forget = |task| Command::Forget(TaskParams { task });
            give::give(&home, &Chosen::find(&home, &args)?, forget, args.json).await
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Output<'a> {
    session: protocol::SessionId,
    task: protocol::TaskId,
    path: &'a str,
    state: &'static str,
    output: &'a str,
}

fn output(home: &host::Home, chosen: &Chosen, args: &TaskArgs) -> Exit {
    let Chosen { session, task, .. } = chosen;
    let output = runtime::output(home, *session, task);
    if args.json {
        let (state, path) = (task.state.word(), &*task.path);
        print::json(&Output { session: *session, task: task.id, path, state, output: &output });
    } else if output.is_empty() {
        print::note(silent(task));
    } else {
        print::answer(print::plain(output.trim_end()));
    }
    Exit::Success
}

/// Why there is nothing to print of a task.
fn silent(task: &TaskView) -> String {
    let (path, state) = (print::plain(&task.path), task.state.word());
    match &task.state {
        TaskState::Finished { outcome: Outcome::Failed { message, .. } } => {
            format!("{path} {state} and said nothing: {}", print::plain(&print::one_line(message, 160)))
        }
        TaskState::Finished { .. } => format!("{path} ended ({state}) and said nothing"),
        TaskState::Queued
        | TaskState::Running
        | TaskState::Idle
        | TaskState::Parked { .. }
        | TaskState::Interrupted => {
            format!("{path} is {state} and has said nothing yet")
        }
    }
}

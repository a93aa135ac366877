//! `bosun tasks`: shows and controls the agents and commands of a session, while it runs and afterwards.

mod event_lines;
mod follow;
mod list;
mod selection;
mod show;
mod tail;
mod task_command;

use protocol::api::{SendParams, SessionCommand, StopTaskParams, TaskParams, TaskView};
use protocol::{CancelMode, MailDelivery, TaskOutcome, TaskState};
use serde::Serialize;
use tui::print;

use self::selection::SelectedTask;
pub(crate) use self::tail::{LogOptions, print_root_log};
use crate::args::{TaskArgs, TasksArgs, TasksCommand};
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::setup::Setup;

pub(crate) async fn perform(args: TasksArgs) -> Result<CommandExit, CliError> {
    let home = Setup::read_only()?.home;
    match args.command {
        None => list::list(&home, &args.list),
        Some(TasksCommand::List(options)) => list::list(&home, &options),
        Some(TasksCommand::Show(args)) => show::show(&home, &SelectedTask::find(&home, &args)?, args.json),
        Some(TasksCommand::Tail { chosen, tree, after }) => {
            tail::tail(
                &home,
                &SelectedTask::find(&home, &chosen)?,
                tail::TailOptions { tree, after, json: chosen.json },
            )
            .await
        }
        Some(TasksCommand::Send { chosen, text, follow_up, interrupt }) => {
            let delivery = match (follow_up, interrupt) {
                (true, _) => MailDelivery::FollowUp,
                (false, true) => MailDelivery::Interrupt,
                (false, false) => MailDelivery::Steer,
            };
            if text.trim().is_empty() {
                return Err(CliError::usage("the message is empty"));
            }
            let send = |task| {
                SessionCommand::Send(SendParams { task: Some(task), text, images: Vec::new(), delivery, display: None })
            };
            task_command::deliver_to_task(&home, &SelectedTask::find(&home, &chosen)?, send, chosen.json).await
        }
        Some(TasksCommand::Stop { chosen, now, tree: _ }) => {
            let how = if now { CancelMode::Abort } else { CancelMode::WrapUp };
            let stop = |task| SessionCommand::StopTask(StopTaskParams { task, how });
            task_command::deliver_to_task(&home, &SelectedTask::find(&home, &chosen)?, stop, chosen.json).await
        }
        Some(TasksCommand::Output(args)) => Ok(print_task_output(&home, &SelectedTask::find(&home, &args)?, &args)),
        Some(TasksCommand::Background(args)) => {
            let promote = |task| SessionCommand::Promote(TaskParams { task });
            task_command::deliver_to_task(&home, &SelectedTask::find(&home, &args)?, promote, args.json).await
        }
        Some(TasksCommand::Rm(args)) => {
            let forget = |task| SessionCommand::Forget(TaskParams { task });
            task_command::deliver_to_task(&home, &SelectedTask::find(&home, &args)?, forget, args.json).await
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TaskOutputReport<'a> {
    session: protocol::SessionId,
    task: protocol::TaskId,
    path: &'a str,
    state: &'static str,
    output: &'a str,
}

fn print_task_output(home: &host::Home, chosen: &SelectedTask, args: &TaskArgs) -> CommandExit {
    let SelectedTask { session, task, .. } = chosen;
    let output = client::task_output(home, *session, task);
    if args.json {
        let (state, path) = (task.state.as_str(), &*task.path);
        print::json(&TaskOutputReport { session: *session, task: task.id, path, state, output: &output });
    } else if output.is_empty() {
        print::note(no_output_message(task));
    } else {
        print::output(print::sanitize(output.trim_end()));
    }
    CommandExit::Success
}

/// Why a task has no output to print.
fn no_output_message(task: &TaskView) -> String {
    let (path, state) = (print::sanitize(&task.path), task.state.as_str());
    match &task.state {
        TaskState::Finished { outcome: TaskOutcome::Failed { message, .. } } => {
            format!("{path} {state} without output: {}", print::format_reason(message, 160))
        }
        TaskState::Finished { .. } => format!("{path} ended ({state}) without output"),
        TaskState::Queued
        | TaskState::Running
        | TaskState::Idle
        | TaskState::Parked { .. }
        | TaskState::Interrupted => {
            format!("{path} is {state} and has no output yet")
        }
    }
}

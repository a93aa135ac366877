//! `bosun todos`: shows and edits the todos of a session from any terminal, while it runs and afterwards.

mod dot;
mod edit;
mod graph;
mod list;
mod mermaid;
mod session;
mod watch;

use protocol::api::{NewTodo, TodoChange, TodoEdit, TodosParams};
use protocol::{TodoId, TodoStatus};

use self::edit::RequestedTodoEdit;
use self::graph::GraphFormat;
use self::session::TodoSession;
use crate::args::{NewTodoArgs, TodoArgs, TodoSessionArgs, TodosArgs, TodosCommand};
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::setup::Setup;

pub(crate) async fn perform(args: TodosArgs) -> Result<CommandExit, CliError> {
    let Setup { home, env, .. } = Setup::read()?;
    let find = |args: &TodoSessionArgs| TodoSession::find(&home, args);
    match args.command {
        None => list::list(&find(&args.list.session_args)?, &list_params(&args.list)),
        Some(TodosCommand::List(options)) => list::list(&find(&options.session_args)?, &list_params(&options)),
        Some(TodosCommand::Ready(session_args)) => {
            list::list(&find(&session_args)?, &TodosParams { ready: true, ..TodosParams::all_todos() })
        }
        Some(TodosCommand::Graph { session_args, mermaid, dot }) => {
            let format = match (mermaid, dot) {
                (true, _) => GraphFormat::Mermaid,
                (false, true) => GraphFormat::Dot,
                (false, false) => GraphFormat::Text,
            };
            graph::print_graph(&find(&session_args)?, format)
        }
        Some(TodosCommand::Watch(session_args)) => watch::watch(&home, &find(&session_args)?, &env).await,
        Some(TodosCommand::Add(new)) => {
            edit::edit(&home, &find(&new.session_args)?, RequestedTodoEdit::Added, vec![add_edit(new)]).await
        }
        Some(TodosCommand::Done(chosen)) => {
            edit::edit(
                &home,
                &find(&chosen.session_args)?,
                RequestedTodoEdit::Done,
                status_edits(&chosen, TodoStatus::Done, None),
            )
            .await
        }
        Some(TodosCommand::Block { chosen, reason }) => {
            if reason.trim().is_empty() {
                return Err(CliError::usage("the reason is empty").with_hint("give one: --reason \"no key\""));
            }
            let edits = status_edits(&chosen, TodoStatus::Blocked, Some(&reason));
            edit::edit(&home, &find(&chosen.session_args)?, RequestedTodoEdit::Blocked, edits).await
        }
        Some(TodosCommand::Reopen(chosen)) => {
            edit::edit(
                &home,
                &find(&chosen.session_args)?,
                RequestedTodoEdit::Reopened,
                status_edits(&chosen, TodoStatus::Pending, None),
            )
            .await
        }
    }
}

fn list_params(options: &crate::args::TodoListArgs) -> TodosParams {
    TodosParams { status: options.status.map(TodoStatus::from), ..TodosParams::all_todos() }
}

fn add_edit(new: NewTodoArgs) -> TodoEdit {
    let NewTodoArgs { title, id, depends_on, description, agent, check, files, session_args: _ } = new;
    TodoEdit::Add(NewTodo {
        id: id.map(TodoId),
        title,
        description,
        depends_on: depends_on.into_iter().map(TodoId).collect(),
        agent_type: agent,
        files,
        check,
        ..NewTodo::default()
    })
}

fn status_edits(chosen: &TodoArgs, status: TodoStatus, reason: Option<&str>) -> Vec<TodoEdit> {
    let change =
        |id: &String| TodoEdit::Change(TodoChange::status(TodoId(id.clone()), status, reason.map(str::to_owned)));
    chosen.ids.iter().map(change).collect()
}

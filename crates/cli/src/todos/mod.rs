//! `bosun todos`: the graph of work of a session, seen and edited from any terminal, while it runs and after.

mod asking;
mod dot;
mod edit;
mod graph;
mod list;
mod mark;
mod mermaid;
mod place;
mod watch;

use protocol::api::{NewTodo, TodoChange, TodoEdit, TodosParams};
use protocol::{TodoId, TodoStatus};

use self::edit::Change;
use self::graph::Form;
use self::place::Place;
use crate::args::{NewTodoArgs, TodoArgs, TodoPlaceArgs, TodosArgs, TodosCommand};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::setup::Setup;

pub(crate) use self::asking::Asking;
pub(crate) use self::mark::Mark;

pub(crate) async fn perform(args: TodosArgs) -> Result<Exit, Failure> {
    let Setup { home, env, .. } = Setup::read()?;
    let at = |place: &TodoPlaceArgs| Place::find(&home, place);
    match args.command {
        None => list::list(&at(&args.list.place)?, &wanted(&args.list)),
        Some(TodosCommand::List(options)) => list::list(&at(&options.place)?, &wanted(&options)),
        Some(TodosCommand::Ready(place)) => {
            list::list(&at(&place)?, &TodosParams { ready: true, ..TodosParams::every() })
        }
        Some(TodosCommand::Graph { place, mermaid, dot }) => {
            let form = match (mermaid, dot) {
                (true, _) => Form::Mermaid,
                (false, true) => Form::Dot,
                (false, false) => Form::Text,
            };
            graph::show(&at(&place)?, form)
        }
        Some(TodosCommand::Watch(place)) => watch::watch(&at(&place)?, &env).await,
        Some(TodosCommand::Add(new)) => edit::edit(&home, &at(&new.place)?, Change::Added, vec![added(new)]).await,
        Some(TodosCommand::Done(chosen)) => {
            edit::edit(&home, &at(&chosen.place)?, Change::Done, moved(&chosen, TodoStatus::Done, None)).await
        }
        Some(TodosCommand::Block { chosen, reason }) => {
            if reason.trim().is_empty() {
                return Err(Failure::usage("the reason is empty").hint("say what is missing: --reason \"no key\""));
            }
            let edits = moved(&chosen, TodoStatus::Blocked, Some(&reason));
            edit::edit(&home, &at(&chosen.place)?, Change::Blocked, edits).await
        }
        Some(TodosCommand::Reopen(chosen)) => {
            edit::edit(&home, &at(&chosen.place)?, Change::Reopened, moved(&chosen, TodoStatus::Pending, None)).await
        }
    }
}

fn wanted(options: &crate::args::TodoListArgs) -> TodosParams {
    TodosParams { status: options.status.map(TodoStatus::from), ..TodosParams::every() }
}

fn added(new: NewTodoArgs) -> TodoEdit {
    let NewTodoArgs { title, id, depends_on, description, agent, check, files, place: _ } = new;
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

fn moved(chosen: &TodoArgs, status: TodoStatus, reason: Option<&str>) -> Vec<TodoEdit> {
    let change =
        |id: &String| TodoEdit::Change(TodoChange::status(TodoId(id.clone()), status, reason.map(str::to_owned)));
    chosen.ids.iter().map(change).collect()
}

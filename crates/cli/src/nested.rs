//! A Bosun that an agent's command started: it reads and explains, and does nothing that is a person's to do. An agent
//! that could start another Bosun, or speak for its user, would have no limits but those it gives itself.

use crate::args::{
    Args, Command, FleetArgs, FleetCommand, ModelsArgs, ServeArgs, SessionsCommand, TasksCommand, TodosCommand,
};
use crate::failure::Failure;

/// Whose a command is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reserve {
    /// Anybody's.
    Anybody,
    /// A person's; agents are told what it would have done.
    Person(&'static str),
}

/// Refuses what only a person may ask for, if no person did.
pub(crate) fn check(args: &Args) -> Result<(), Failure> {
    match reserve(args.command.as_ref()) {
        Reserve::Person(what) if host::machine::inside_job() => {
            let message = format!("started by an agent: a command of an agent may not {what}");
            Err(Failure::usage(message).hint("ask the user to run it in a terminal of their own"))
        }
        Reserve::Person(_) | Reserve::Anybody => Ok(()),
    }
}

/// The table that every command stands in. What an agent's files may not show it, its commands may not either: so
/// sessions, which hold the words of other agents and their users, are for people.
fn reserve(command: Option<&Command>) -> Reserve {
    match command {
        None | Some(Command::Door(_)) => Reserve::Person("start agents"),
        Some(Command::Doors(_) | Command::Serve(ServeArgs { openapi: true, .. })) => Reserve::Anybody,
        Some(Command::Serve(_)) => Reserve::Person("start agents"),
        Some(Command::Sessions(sessions)) => match sessions.command {
            None
            | Some(
                SessionsCommand::List(_)
                | SessionsCommand::Show { .. }
                | SessionsCommand::Export { .. }
                | SessionsCommand::Watch { .. },
            ) => Reserve::Person("look into sessions"),
            Some(
                SessionsCommand::Rm { .. }
                | SessionsCommand::Repair { .. }
                | SessionsCommand::Send { .. }
                | SessionsCommand::Interrupt { .. }
                | SessionsCommand::Stop { .. },
            ) => Reserve::Person("command sessions"),
        },
        Some(Command::Tasks(tasks)) => match tasks.command {
            None
            | Some(
                TasksCommand::List(_) | TasksCommand::Show(_) | TasksCommand::Tail { .. } | TasksCommand::Output(_),
            ) => Reserve::Person("look into sessions"),
            Some(
                TasksCommand::Send { .. }
                | TasksCommand::Stop { .. }
                | TasksCommand::Background(_)
                | TasksCommand::Rm(_),
            ) => Reserve::Person("command sessions"),
        },
        Some(Command::Fleet(FleetArgs { command: None, .. })) => Reserve::Person("start agents"),
        Some(Command::Fleet(FleetArgs {
            command: Some(FleetCommand::Run { .. } | FleetCommand::Resume { .. }),
            ..
        })) => Reserve::Person("start agents"),
        Some(Command::Fleet(FleetArgs {
            command: Some(FleetCommand::Status(_) | FleetCommand::Graph { .. }), ..
        })) => Reserve::Person("look into sessions"),
        Some(Command::Fleet(FleetArgs { command: Some(FleetCommand::Stop(_)), .. })) => {
            Reserve::Person("command sessions")
        }
        Some(Command::Fleet(FleetArgs { command: Some(FleetCommand::Check(_)), .. })) => {
            Reserve::Person("look into the user's agents")
        }
        Some(Command::Fleet(FleetArgs { command: Some(FleetCommand::Schema), .. })) => Reserve::Anybody,
        Some(Command::Todos(todos)) => match todos.command {
            None
            | Some(
                TodosCommand::List(_) | TodosCommand::Ready(_) | TodosCommand::Watch(_) | TodosCommand::Graph { .. },
            ) => Reserve::Person("look into sessions"),
            Some(
                TodosCommand::Add(_) | TodosCommand::Done(_) | TodosCommand::Block { .. } | TodosCommand::Reopen(_),
            ) => Reserve::Person("command sessions"),
        },
        Some(Command::Models(ModelsArgs { reopen: true, .. })) => Reserve::Person("reopen providers"),
        Some(Command::Lists(_)) => Reserve::Person("look into or change lists; it has tools for its own"),
        Some(Command::Cost(_)) => Reserve::Person("look into sessions"),
        Some(Command::Approvals(_)) => Reserve::Person("look into or decide what waits for a person"),
        Some(Command::Trust(_)) => Reserve::Person("decide whom to trust"),
        Some(Command::Catalog(_)) => Reserve::Person("look into the user's agents"),
        Some(Command::Config(_) | Command::Import(_)) => Reserve::Person("look into or change settings"),
        Some(Command::Checkouts(_)) => Reserve::Person("look into or move checkouts"),
        Some(Command::Gc(_)) => Reserve::Person("remove sessions"),
        Some(Command::Demo(_) | Command::Selftest(_)) => Reserve::Person("start agents"),
        Some(
            Command::Models(_)
            | Command::Doctor(_)
            | Command::Explain(_)
            | Command::Completions(_)
            | Command::Man(_)
            | Command::Script(_),
        ) => Reserve::Anybody,
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    fn is_for_anybody(line: &str) -> bool {
        let args = Args::try_parse_from(line.split(' ')).unwrap();
        reserve(args.command.as_ref()) == Reserve::Anybody
    }

    #[test]
    fn agents_may_look_things_up_and_nothing_else() {
        for line in [
            "bosun models",
            "bosun models --json",
            "bosun script schema",
            "bosun script check a.yaml",
            "bosun fleet schema",
            "bosun serve --openapi",
        ] {
            assert!(is_for_anybody(line), "{line}");
        }
        let reserved = "bosun|bosun -p x|bosun --continue|bosun gc|bosun gc --dry-run|bosun demo|bosun selftest|bosun models --reopen|\
            bosun cost|bosun sessions|bosun sessions send a b|bosun sessions stop a|bosun sessions interrupt a|\
            bosun sessions rm a|bosun sessions repair a|bosun sessions show a|bosun catalog list|bosun sessions export a|bosun sessions watch a|\
            bosun tasks|bosun tasks list --all|bosun tasks show a|bosun tasks tail a|bosun tasks output a|\
            bosun tasks send a b|bosun tasks stop a|bosun tasks background a|bosun tasks rm a|\
            bosun lists|bosun lists done 3|bosun checkouts|bosun checkouts rm a|bosun checkouts restore a|\
            bosun todos|bosun todos ready|bosun todos graph|bosun todos add a|bosun todos done a|\
            bosun todos block a --reason b|bosun todos reopen a|bosun fleet check a.yaml|bosun fleet|bosun fleet goal|\
            bosun import claude|bosun import codex --write|\
            bosun serve|bosun fleet run a.yaml|bosun fleet resume|bosun fleet status|bosun fleet stop|bosun fleet graph";
        for line in reserved.split('|') {
            assert!(!is_for_anybody(line), "{line}");
        }
    }
}

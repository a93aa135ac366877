//! Restricts a Bosun that an agent's command started: it may explain itself, but not act for the user. An agent that
//! could start another Bosun, or speak for its user, would have no limits but those it gives itself.

use crate::args::{
    AgentsCommand, CliArgs, CliCommand, Deferred, FleetArgs, FleetCommand, ModelsArgs, SdkArgs, SdkCommand, ServeArgs,
    SessionsCommand, TasksCommand, TodosCommand,
};
use crate::error::CliError;

/// Who may run a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CommandAccess {
    /// Users and agents.
    Anyone,
    /// Only the user; agents are told what they may not do.
    UserOnly(&'static str),
}

/// Refuses commands that only the user may run when an agent started this process.
pub(crate) fn check(args: &CliArgs) -> Result<(), CliError> {
    match command_access(args.command.as_ref()) {
        CommandAccess::UserOnly(action) if host::machine::is_inside_job() => {
            let message = format!("started by an agent: an agent's command may not {action}");
            Err(CliError::usage(message).with_hint("ask the user to run it in a terminal of their own"))
        }
        CommandAccess::UserOnly(_) | CommandAccess::Anyone => Ok(()),
    }
}

/// The access rule of every command. An agent's commands may not read what its file tools may not read. Sessions hold
/// the conversations of other agents and their users, so only the user may read them.
fn command_access(command: Option<&CliCommand>) -> CommandAccess {
    match command {
        None | Some(CliCommand::Sdk(Deferred(SdkArgs { command: SdkCommand::Serve(_) }))) => {
            CommandAccess::UserOnly("start agents")
        }
        Some(CliCommand::Sdk(_) | CliCommand::Serve(Deferred(ServeArgs { openapi: true, .. }))) => {
            CommandAccess::Anyone
        }
        Some(CliCommand::Serve(_) | CliCommand::Service(_)) => CommandAccess::UserOnly("start agents"),
        Some(CliCommand::Agents(Deferred(agents))) => match agents.command {
            None | Some(AgentsCommand::List(_) | AgentsCommand::Logs { .. }) => {
                CommandAccess::UserOnly("read sessions")
            }
            Some(AgentsCommand::Start { .. }) => CommandAccess::UserOnly("start agents"),
            Some(
                AgentsCommand::Attach { .. }
                | AgentsCommand::Send { .. }
                | AgentsCommand::Stop { .. }
                | AgentsCommand::Resume { .. }
                | AgentsCommand::Rm { .. },
            ) => CommandAccess::UserOnly("control sessions"),
        },
        Some(CliCommand::Sessions(Deferred(sessions))) => match sessions.command {
            None
            | Some(
                SessionsCommand::List(_)
                | SessionsCommand::Show { .. }
                | SessionsCommand::Export { .. }
                | SessionsCommand::Watch { .. },
            ) => CommandAccess::UserOnly("read sessions"),
            Some(
                SessionsCommand::Rm { .. }
                | SessionsCommand::Repair { .. }
                | SessionsCommand::Send { .. }
                | SessionsCommand::Interrupt { .. }
                | SessionsCommand::Stop { .. },
            ) => CommandAccess::UserOnly("control sessions"),
        },
        Some(CliCommand::Tasks(Deferred(tasks))) => match tasks.command {
            None
            | Some(
                TasksCommand::List(_) | TasksCommand::Show(_) | TasksCommand::Tail { .. } | TasksCommand::Output(_),
            ) => CommandAccess::UserOnly("read sessions"),
            Some(
                TasksCommand::Send { .. }
                | TasksCommand::Stop { .. }
                | TasksCommand::Background(_)
                | TasksCommand::Rm(_),
            ) => CommandAccess::UserOnly("control sessions"),
        },
        Some(CliCommand::Fleet(Deferred(FleetArgs { command: None, .. }))) => CommandAccess::UserOnly("start agents"),
        Some(CliCommand::Fleet(Deferred(FleetArgs {
            command: Some(FleetCommand::Run { .. } | FleetCommand::Resume { .. }),
            ..
        }))) => CommandAccess::UserOnly("start agents"),
        Some(CliCommand::Fleet(Deferred(FleetArgs {
            command: Some(FleetCommand::Status(_) | FleetCommand::Graph { .. }),
            ..
        }))) => CommandAccess::UserOnly("read sessions"),
        Some(CliCommand::Fleet(Deferred(FleetArgs { command: Some(FleetCommand::Stop(_)), .. }))) => {
            CommandAccess::UserOnly("control sessions")
        }
        Some(CliCommand::Fleet(Deferred(FleetArgs { command: Some(FleetCommand::Check(_)), .. }))) => {
            CommandAccess::UserOnly("read the user's agents")
        }
        Some(CliCommand::Fleet(Deferred(FleetArgs { command: Some(FleetCommand::Schema), .. }))) => {
            CommandAccess::Anyone
        }
        Some(CliCommand::Todos(Deferred(todos))) => match todos.command {
            None
            | Some(
                TodosCommand::List(_) | TodosCommand::Ready(_) | TodosCommand::Watch(_) | TodosCommand::Graph { .. },
            ) => CommandAccess::UserOnly("read sessions"),
            Some(
                TodosCommand::Add(_) | TodosCommand::Done(_) | TodosCommand::Block { .. } | TodosCommand::Reopen(_),
            ) => CommandAccess::UserOnly("control sessions"),
        },
        Some(CliCommand::Models(Deferred(ModelsArgs { reopen: true, .. }))) => {
            CommandAccess::UserOnly("reopen providers")
        }
        Some(CliCommand::Lists(_)) => CommandAccess::UserOnly("read or change lists; it has tools for its own"),
        Some(CliCommand::Cost(_)) => CommandAccess::UserOnly("read sessions"),
        Some(CliCommand::Approvals(_)) => CommandAccess::UserOnly("read or decide approvals"),
        Some(CliCommand::Trust(_)) => CommandAccess::UserOnly("read or change trust"),
        Some(CliCommand::Mcp(_)) => CommandAccess::UserOnly("read, change or start MCP servers"),
        Some(CliCommand::Catalog(_)) => CommandAccess::UserOnly("read the user's agents"),
        Some(CliCommand::Config(_) | CliCommand::Import(_)) => CommandAccess::UserOnly("read or change settings"),
        Some(CliCommand::Checkouts(_)) => CommandAccess::UserOnly("read or move checkouts"),
        Some(CliCommand::Gc(_)) => CommandAccess::UserOnly("remove sessions"),
        Some(CliCommand::Demo(_) | CliCommand::Selftest(_)) => CommandAccess::UserOnly("start agents"),
        Some(
            CliCommand::Models(_)
            | CliCommand::Doctor(_)
            | CliCommand::Explain(_)
            | CliCommand::Completions(_)
            | CliCommand::Man(_)
            | CliCommand::Script(_),
        ) => CommandAccess::Anyone,
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    fn is_allowed_for_agents(line: &str) -> bool {
        let args = CliArgs::try_parse_from(line.split(' ')).unwrap();
        command_access(args.command.as_ref()) == CommandAccess::Anyone
    }

    #[test]
    fn agents_may_only_look_things_up() {
        for line in [
            "bosun models",
            "bosun models --json",
            "bosun script schema",
            "bosun script check a.yaml",
            "bosun fleet schema",
            "bosun serve --openapi",
        ] {
            assert!(is_allowed_for_agents(line), "{line}");
        }
        let reserved = "bosun|bosun -p x|bosun --continue|bosun gc|bosun gc --dry-run|bosun demo|bosun selftest|bosun models --reopen|\
            bosun cost|bosun sessions|bosun sessions send a b|bosun sessions stop a|bosun sessions interrupt a|\
            bosun sessions rm a|bosun sessions repair a|bosun sessions show a|bosun catalog list|bosun sessions export a|bosun sessions watch a|\
            bosun agents|bosun agents list --json|bosun agents start x|bosun agents attach|bosun agents logs a|\
            bosun agents send a b|bosun agents stop a|bosun agents resume a|bosun agents rm a|\
            bosun tasks|bosun tasks list --all|bosun tasks show a|bosun tasks tail a|bosun tasks output a|\
            bosun tasks send a b|bosun tasks stop a|bosun tasks background a|bosun tasks rm a|\
            bosun lists|bosun lists done 3|bosun checkouts|bosun checkouts rm a|bosun checkouts restore a|\
            bosun todos|bosun todos ready|bosun todos graph|bosun todos add a|bosun todos done a|\
            bosun todos block a --reason b|bosun todos reopen a|bosun fleet check a.yaml|bosun fleet|bosun fleet goal|\
            bosun import claude|bosun import codex --write|\
            bosun serve|bosun serve --status|bosun mcp serve|bosun serve --stop|bosun service install|bosun service status|bosun fleet run a.yaml|bosun fleet resume|bosun fleet status|bosun fleet stop|bosun fleet graph";
        for line in reserved.split('|') {
            assert!(!is_allowed_for_agents(line), "{line}");
        }
    }
}

//! Which methods of the API are behind each command: whatever the command line can do, every client can.

use clap::Command;
use protocol::api::Method;

use super::help::command;

/// How a command is available to other clients.
#[derive(Debug, Clone, Copy)]
enum CommandApi {
    /// These methods of the API do it.
    Methods(&'static [&'static str]),
    /// It is about this program or this terminal, and so is not in the API.
    Local(&'static str),
}

use CommandApi::{Local, Methods};

/// Every command that does something, by its path.
const COMMANDS: &[(&str, CommandApi)] = &[
    ("", Methods(&["sessions.begin", "sessions.resume", "sessions.fork", "session.send", "session.wait"])),
    ("agents", Methods(&["sessions.list", "session.get", "tasks.list", "asks.list", "events.list", "host.get"])),
    ("agents list", Methods(&["sessions.list", "session.get", "tasks.list", "asks.list", "events.list", "host.get"])),
    ("agents start", Methods(&["sessions.begin", "sessions.resume", "sessions.fork"])),
    ("agents attach", Methods(&["host.attach", "events.subscribe", "session.send", "asks.decide", "permission.set"])),
    ("agents logs", Methods(&["events.list", "events.subscribe"])),
    ("agents send", Methods(&["session.command", "sessions.resume"])),
    ("agents stop", Methods(&["session.command"])),
    ("agents resume", Methods(&["sessions.resume"])),
    ("agents rm", Methods(&["sessions.remove"])),
    ("sessions", Methods(&["sessions.list"])),
    ("sessions list", Methods(&["sessions.list"])),
    ("sessions show", Methods(&["sessions.find", "session.get", "tasks.list", "plan.read"])),
    ("sessions export", Methods(&["session.export"])),
    ("sessions repair", Methods(&["sessions.repair"])),
    ("sessions rm", Methods(&["sessions.remove"])),
    ("sessions send", Methods(&["session.command"])),
    ("sessions interrupt", Methods(&["session.command"])),
    ("sessions stop", Methods(&["session.command"])),
    ("sessions watch", Methods(&["events.list", "events.subscribe"])),
    ("tasks", Methods(&["tasks.list"])),
    ("tasks list", Methods(&["tasks.list", "sessions.list", "sessions.latest", "asks.list"])),
    ("tasks show", Methods(&["tasks.get", "tasks.find", "lists.items"])),
    ("tasks tail", Methods(&["events.list", "events.subscribe", "tasks.output"])),
    ("tasks send", Methods(&["session.command"])),
    ("tasks stop", Methods(&["session.command"])),
    ("tasks output", Methods(&["tasks.output"])),
    ("tasks background", Methods(&["session.command"])),
    ("tasks rm", Methods(&["session.command"])),
    ("lists", Methods(&["lists.items"])),
    ("lists list", Methods(&["lists.items"])),
    ("lists show", Methods(&["lists.get"])),
    ("lists add", Methods(&["lists.add"])),
    ("lists update", Methods(&["lists.update"])),
    ("lists done", Methods(&["lists.update"])),
    ("lists delete", Methods(&["lists.update"])),
    ("lists archive", Methods(&["lists.archive"])),
    ("lists export", Methods(&["lists.export"])),
    ("lists import", Methods(&["lists.import"])),
    ("todos", Methods(&["todos.list"])),
    ("todos list", Methods(&["todos.list", "asks.list"])),
    ("todos ready", Methods(&["todos.list"])),
    ("todos graph", Methods(&["todos.list"])),
    ("todos watch", Methods(&["session.fleet.get", "events.subscribe"])),
    ("todos add", Methods(&["todos.edit"])),
    ("todos done", Methods(&["todos.edit"])),
    ("todos block", Methods(&["todos.edit"])),
    ("todos reopen", Methods(&["todos.edit"])),
    ("approvals", Methods(&["asks.all"])),
    ("approvals list", Methods(&["asks.all", "asks.list"])),
    ("approvals show", Methods(&["asks.all"])),
    ("approvals allow", Methods(&["session.command"])),
    ("approvals deny", Methods(&["session.command"])),
    ("approvals always", Methods(&["session.command", "settings.addRule"])),
    ("approvals answer", Methods(&["session.command"])),
    ("mcp list", Methods(&["mcp.list"])),
    ("mcp add", Methods(&["mcp.add"])),
    ("mcp remove", Methods(&["mcp.remove"])),
    ("mcp test", Methods(&["mcp.test"])),
    ("mcp logs", Methods(&["mcp.logs"])),
    (
        "mcp serve",
        Methods(&[
            "sessions.begin",
            "sessions.resume",
            "fleets.begin",
            "sessions.list",
            "session.command",
            "session.wait",
        ]),
    ),
    ("mcp login", Local("its user signs in with a browser, and the token is kept on this machine")),
    ("mcp logout", Local("it removes a token of this machine")),
    ("fleet", Methods(&["fleets.begin", "session.fleet.start", "session.fleet.uncommitted", "session.wait"])),
    ("fleet run", Methods(&["fleets.begin", "session.fleet.start", "session.fleet.uncommitted", "session.wait"])),
    ("fleet resume", Methods(&["sessions.resume", "session.fleet.resume", "session.wait"])),
    ("fleet status", Methods(&["session.fleet.get"])),
    ("fleet stop", Methods(&["session.command"])),
    ("fleet graph", Methods(&["todos.list"])),
    (
        "fleet check",
        Local("it checks a plan file of this machine; a fleet that is begun with it is refused for the same reasons"),
    ),
    ("fleet schema", Local("it prints the schema of plan files, which is checked in as schemas/plan.json")),
    ("sdk install", Local("it creates links to this executable, which programs on this machine start")),
    ("sdk serve", Local("it serves the program that started it, on its own stdin and stdout")),
    ("serve", Methods(&["host.get", "host.stop", "host.handOver"])),
    ("service install", Local("it writes a unit file for the user's service manager, which starts `bosun serve`")),
    ("service uninstall", Local("it removes the unit file for the user's service manager")),
    ("service status", Local("it asks the user's service manager")),
    ("explain", Methods(&["permissions.explain"])),
    ("models", Methods(&["models.list", "models.reopen"])),
    ("cost", Methods(&["usage.get", "usage.today"])),
    ("gc", Methods(&["home.collect"])),
    ("checkouts", Methods(&["checkouts.list"])),
    ("checkouts rm", Methods(&["checkouts.discard"])),
    ("checkouts restore", Methods(&["checkouts.restore"])),
    ("demo", Local("it shows a fleet on this terminal, in a folder of its own")),
    ("catalog list", Methods(&["catalog.list"])),
    ("catalog show", Methods(&["catalog.get"])),
    ("catalog check", Methods(&["catalog.check"])),
    ("config show", Methods(&["settings.get"])),
    ("config path", Methods(&["settings.files"])),
    ("config check", Methods(&["settings.get", "settings.files"])),
    ("config allow", Methods(&["settings.addRule"])),
    ("config ask", Methods(&["settings.addRule"])),
    ("config deny", Methods(&["settings.addRule"])),
    ("import", Methods(&["settings.import"])),
    ("trust", Methods(&["trust.get", "trust.add", "trust.remove", "trust.list"])),
    ("doctor", Methods(&["doctor.check"])),
    ("selftest", Local("it kills copies of this executable")),
    ("completions", Local("it writes a script for the user's shell")),
    ("man", Local("it writes manual pages of this executable")),
    ("script check", Local("it checks files of the script model, which only tests use")),
    ("script schema", Local("it prints the schema of files of the script model, which only tests use")),
];

/// The paths of all commands that do something: those without subcommands, and those that may be given without one.
fn command_paths(command: &Command, path: &str, paths: &mut Vec<String>) {
    if !command.is_subcommand_required_set() {
        paths.push(path.to_owned());
    }
    for subcommand in command.get_subcommands().filter(|subcommand| subcommand.get_name() != "help") {
        command_paths(subcommand, format!("{path} {}", subcommand.get_name()).trim_start(), paths);
    }
}

#[test]
fn every_command_is_a_method_of_the_api_or_local_for_a_reason() {
    let mut paths = Vec::new();
    command_paths(&command(), "", &mut paths);
    let missing: Vec<&String> = paths.iter().filter(|path| !COMMANDS.iter().any(|(known, _)| known == path)).collect();
    assert!(missing.is_empty(), "name the methods behind these commands, or why they are local: {missing:?}");
    let gone: Vec<&str> =
        COMMANDS.iter().map(|(path, _)| *path).filter(|path| !paths.iter().any(|known| known == path)).collect();
    assert!(gone.is_empty(), "these are not commands: {gone:?}");
}

#[test]
fn the_methods_behind_commands_exist() {
    for (path, api) in COMMANDS {
        match api {
            Methods(names) => {
                assert!(!names.is_empty(), "{path} names no method");
                let unknown: Vec<_> = names.iter().filter(|name| Method::from_name(name).is_none()).collect();
                assert!(unknown.is_empty(), "{path} names methods that do not exist: {unknown:?}");
            }
            Local(reason) => assert!(!reason.is_empty(), "{path} has no reason to be local"),
        }
    }
}

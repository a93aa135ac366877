//! The `bosun` command: arguments, wiring and exit codes.

mod agents;
mod approvals;
mod args;
mod catalog;
mod chat;
mod checkouts;
mod completions;
mod cost;
mod current_session;
mod doctor;
mod error;
mod exit;
mod explain;
mod fault_injection;
mod fleet;
mod foreground_session;
mod gc;
mod import;
mod lists;
mod log;
mod manual;
mod mcp_servers;
mod models;
mod nested;
mod one_time_notices;
mod panic;
mod run;
mod script;
mod sdk;
mod selftest;
mod serve;
mod service;
mod sessions;
mod settings;
mod setup;
mod share;
mod slash_commands;
mod suggestions;
mod tasks;
mod todos;
mod trust;

mod demo;

use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{FromArgMatches, Parser};
use tui::print;

use crate::args::{CliArgs, CliCommand, Deferred};
use crate::error::CliError;
use crate::exit::CommandExit;

/// The maximum number of blocking threads: a thousand concurrent calls must not have a thread each.
const MAX_BLOCKING_THREADS: usize = 32;

fn main() -> ExitCode {
    // The guardian must stay small: nothing is set up before this.
    if std::env::args_os().nth(1).is_some_and(|first| first == "__guardian") {
        return host::guardian_main();
    }
    if std::env::args_os().nth(1).is_some_and(|first| first == runtime::RUN_ARGUMENT) {
        return runtime::run_process_main();
    }
    panic::install();
    let exit = panic::catch_panics(run_command).unwrap_or_else(|failure| {
        failure.print();
        failure.exit()
    });
    // Commands that opened the index do not report its rebuilds.
    client::take_index_rebuilds()
        .iter()
        .for_each(|rebuilt| print::note(print::sanitize(&format!("warning: {rebuilt}"))));
    panic::print_contained_report(exit);
    exit.into()
}

fn run_command() -> Result<CommandExit, CliError> {
    // Before reading anything that a child program could read from this process's memory.
    host::machine::seal_process()?;
    let exit = match parse() {
        Ok(args) => nested::check(&args).and_then(|()| perform(args))?,
        Err(error) => print_usage(&error),
    };
    Ok(if print::is_output_lost() { CommandExit::worst([exit, CommandExit::Failed]) } else { exit })
}

/// Parses the command line. The extended help is slow to build and rarely shown, so only an error builds it.
fn parse() -> Result<CliArgs, clap::Error> {
    let mut args = std::env::args_os();
    if let Some(family) = args.next().as_deref().and_then(sdk::family_of_program) {
        return CliArgs::try_parse_from(sdk::adapter_command_line(family, args));
    }
    CliArgs::try_parse().or_else(|error| match error.kind() {
        ErrorKind::DisplayVersion => Err(error),
        _explained => args::command().try_get_matches().and_then(|matches| CliArgs::from_arg_matches(&matches)),
    })
}

fn perform(args: CliArgs) -> Result<CommandExit, CliError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .max_blocking_threads(MAX_BLOCKING_THREADS)
        .enable_all()
        .build()?;
    let command = async {
        match args.command {
            None => run::run(args.run, args.opening).await,
            Some(CliCommand::Agents(Deferred(command))) => agents::perform(command).await,
            Some(CliCommand::Sessions(Deferred(command))) => sessions::perform(command).await,
            Some(CliCommand::Tasks(Deferred(command))) => tasks::perform(command).await,
            Some(CliCommand::Lists(Deferred(command))) => lists::perform(command),
            Some(CliCommand::Todos(Deferred(command))) => todos::perform(command).await,
            Some(CliCommand::Approvals(Deferred(command))) => approvals::perform(command).await,
            Some(CliCommand::Fleet(Deferred(command))) => fleet::perform(command).await,
            Some(CliCommand::Sdk(Deferred(options))) => sdk::perform(options.command).await,
            Some(CliCommand::Serve(Deferred(options))) => serve::serve(options).await,
            Some(CliCommand::Service(Deferred(options))) => service::perform(options.command).await,
            Some(CliCommand::Explain(Deferred(options))) => explain::explain_call(&options),
            Some(CliCommand::Mcp(Deferred(options))) => mcp_servers::perform(&options).await,
            Some(CliCommand::Models(Deferred(options))) => models::list(&options).await,
            Some(CliCommand::Cost(Deferred(options))) => cost::print_costs(&options),
            Some(CliCommand::Gc(Deferred(options))) => gc::perform(&options).await,
            Some(CliCommand::Checkouts(Deferred(options))) => checkouts::perform(&options),
            Some(CliCommand::Demo(Deferred(options))) => demo::run(&options).await,
            Some(CliCommand::Catalog(Deferred(options))) => catalog::perform(&options).await,
            Some(CliCommand::Config(Deferred(options))) => settings::perform(&options),
            Some(CliCommand::Import(Deferred(options))) => import::perform(&options),
            Some(CliCommand::Trust(Deferred(options))) => trust::perform(&options),
            Some(CliCommand::Doctor(Deferred(options))) => doctor::run_doctor(&options).await,
            Some(CliCommand::Selftest(Deferred(options))) => selftest::perform(&options),
            Some(CliCommand::Completions(Deferred(options))) => Ok(completions::print_completions(options.shell)),
            Some(CliCommand::Man(Deferred(options))) => manual::write(&options),
            Some(CliCommand::Script(Deferred(command))) => script::perform(&command),
        }
    };
    let explained = async {
        match command.await {
            Err(failure) => Err(models::suggest_local_model(failure).await),
            exit => exit,
        }
    };
    let exit = panic::catch_panics(|| runtime.block_on(explained));
    // A blocking call that ignores its cancellation must not keep the process alive.
    runtime.shutdown_background();
    exit
}

/// Prints help, version or a usage error. Help and version are not failures, unless stdout cannot be written.
fn print_usage(error: &clap::Error) -> CommandExit {
    let printed = error.print();
    if error.use_stderr() {
        print_usage_hint(error);
        return CommandExit::Usage;
    }
    if let Err(cause) = printed {
        print::stdout_failed(&cause);
    }
    CommandExit::Success
}

/// Gives a hint when a prompt looks like a flag or a command is misspelled.
fn print_usage_hint(error: &clap::Error) {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidArg) else { return };
    let first = std::env::args().nth(1).and_then(|first| suggestions::suggest_command(&first));
    match (error.kind(), first) {
        (ErrorKind::UnknownArgument, _) if word.starts_with("- ") => {
            print::note("hint: a prompt that begins with a dash is written --prompt=\"- …\", or comes from stdin");
        }
        (ErrorKind::UnknownArgument, Some(command)) => {
            print::note(format_args!("hint: did you mean `bosun {command}`?"))
        }
        _other => {}
    }
}

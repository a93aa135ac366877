//! The `bosun` command: arguments, wiring and exit codes.

mod approvals;
mod args;
mod catalog;
mod checkouts;
mod completions;
mod cost;
mod current;
mod deliver;
mod diff;
mod doctor;
mod doors;
mod exact;
mod exit;
mod explain;
mod failure;
mod fault;
mod fleet;
mod gc;
mod import;
mod inline;
mod lists;
mod live;
mod log;
mod manual;
mod meant;
mod models;
mod money;
mod nested;
mod panic;
mod print;
mod run;
mod script;
mod selftest;
mod serve;
mod sessions;
mod settings;
mod setup;
mod share;
mod style;
mod talk;
mod tasks;
mod time;
mod todos;
mod told;
mod trust;

mod demo;

use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{FromArgMatches, Parser};

use crate::args::{Args, Command};
use crate::exit::Exit;
use crate::failure::Failure;

/// Most threads for what blocks: a thousand calls at once must not have a thread each.
const BLOCKING_THREADS: usize = 32;

fn main() -> ExitCode {
    // The guardian must stay small: nothing is set up before this.
    if std::env::args_os().nth(1).is_some_and(|first| first == "__guardian") {
        return host::guardian_main();
    }
    panic::install();
    let exit = panic::contained(act).unwrap_or_else(|failure| {
        failure.show();
        failure.exit()
    });
    // Whoever opened the index may have wanted something else of it.
    store::take_rebuilt().iter().for_each(|rebuilt| print::note(print::plain(&format!("warning: {rebuilt}"))));
    panic::tell_contained(exit);
    exit.into()
}

fn act() -> Result<Exit, Failure> {
    // Before anything is read that a program of this process's could read out of it again.
    host::machine::seal()?;
    let exit = match parse() {
        Ok(args) => nested::check(&args).and_then(|()| perform(args))?,
        Err(error) => usage(&error),
    };
    Ok(if print::is_lost() { Exit::worst([exit, Exit::Failed]) } else { exit })
}

/// Reads the command line. What help says beyond the flags takes its time to put together, and few runs show it.
fn parse() -> Result<Args, clap::Error> {
    let mut words = std::env::args_os();
    if let Some(family) = words.next().as_deref().and_then(doors::named) {
        return Args::try_parse_from(doors::words(family, words));
    }
    Args::try_parse().or_else(|error| match error.kind() {
        ErrorKind::DisplayVersion => Err(error),
        _explained => args::command().try_get_matches().and_then(|given| Args::from_arg_matches(&given)),
    })
}

fn perform(args: Args) -> Result<Exit, Failure> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().max_blocking_threads(BLOCKING_THREADS).enable_all().build()?;
    let command = async {
        match args.command {
            None => run::run(args.run, args.opening).await,
            Some(Command::Sessions(command)) => sessions::perform(command).await,
            Some(Command::Tasks(command)) => tasks::perform(command).await,
            Some(Command::Lists(command)) => lists::perform(command),
            Some(Command::Todos(command)) => todos::perform(command).await,
            Some(Command::Approvals(command)) => approvals::perform(command).await,
            Some(Command::Fleet(command)) => fleet::perform(command).await,
            Some(Command::Door(options)) => doors::serve(options).await,
            Some(Command::Doors(options)) => doors::perform(&options.command),
            Some(Command::Serve(options)) => serve::serve(options).await,
            Some(Command::Explain(options)) => explain::tell(&options),
            Some(Command::Models(options)) => models::list(&options).await,
            Some(Command::Cost(options)) => cost::sum(&options),
            Some(Command::Gc(options)) => gc::collect(&options).await,
            Some(Command::Checkouts(options)) => checkouts::perform(&options),
            Some(Command::Demo(options)) => demo::show(&options).await,
            Some(Command::Catalog(options)) => catalog::perform(&options).await,
            Some(Command::Config(options)) => settings::perform(&options),
            Some(Command::Import(options)) => import::perform(&options),
            Some(Command::Trust(options)) => trust::perform(&options),
            Some(Command::Doctor(options)) => doctor::examine(&options).await,
            Some(Command::Selftest(options)) => selftest::perform(&options),
            Some(Command::Completions(options)) => Ok(completions::write(options.shell)),
            Some(Command::Man(options)) => manual::write(&options),
            Some(Command::Script(command)) => script::perform(&command),
        }
    };
    let exit = panic::contained(|| runtime.block_on(command));
    // A blocking call that ignores its cancellation must not keep the process alive.
    runtime.shutdown_background();
    exit
}

/// Help and version go to stdout and are no failure, unless stdout does not take them.
fn usage(error: &clap::Error) -> Exit {
    let printed = error.print();
    if error.use_stderr() {
        hint_at_prompt(error);
        return Exit::Usage;
    }
    if let Err(cause) = printed {
        print::refused(&cause);
    }
    Exit::Success
}

/// Those who are new here give a prompt that looks like a flag, or misspell a command.
fn hint_at_prompt(error: &clap::Error) {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidArg) else { return };
    let first = std::env::args().nth(1).and_then(|first| meant::command(&first));
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

//! The `bosun` command: arguments, wiring and exit codes.

mod args;
mod cost;
mod exit;
mod explain;
mod failure;
mod fault;
mod gc;
mod log;
mod models;
mod money;
mod print;
mod run;
mod script;
mod sessions;
mod setup;
mod time;

mod demo;

use std::process::ExitCode;

use clap::Parser;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::args::{Args, Command};
use crate::exit::Exit;
use crate::failure::Failure;

fn main() -> ExitCode {
    // The guardian must stay small: nothing is set up before this.
    if std::env::args_os().nth(1).is_some_and(|first| first == "__guardian") {
        return host::guardian_main();
    }
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return usage(&error),
    };
    match perform(args) {
        Ok(exit) if print::is_lost() => Exit::worst([exit, Exit::Failed]).into(),
        Ok(exit) => exit.into(),
        Err(failure) => {
            failure.show();
            failure.exit().into()
        }
    }
}

fn perform(args: Args) -> Result<Exit, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let exit = runtime.block_on(async {
        match args.command {
            None => run::run(args.run).await,
            Some(Command::Sessions(command)) => sessions::perform(command).await,
            Some(Command::Explain(options)) => explain::tell(&options),
            Some(Command::Models(options)) => models::list(&options).await,
            Some(Command::Cost(options)) => cost::sum(&options),
            Some(Command::Gc(options)) => gc::collect(&options),
            Some(Command::Demo(options)) => demo::show(&options).await,
            Some(Command::Script(command)) => script::perform(&command),
        }
    });
    // A blocking call that ignores its cancellation must not keep the process alive.
    runtime.shutdown_background();
    exit
}

/// Help and version go to stdout and are no failure, unless stdout does not take them.
fn usage(error: &clap::Error) -> ExitCode {
    let printed = error.print();
    if error.use_stderr() {
        hint_at_prompt(error);
        return Exit::Usage.into();
    }
    if let Err(cause) = printed {
        print::refused(&cause);
    }
    if print::is_lost() { Exit::Failed.into() } else { Exit::Success.into() }
}

/// Those who are new here type the prompt without `-p`, or one that looks like a flag.
fn hint_at_prompt(error: &clap::Error) {
    let Some(ContextValue::String(word)) =
        error.get(ContextKind::InvalidSubcommand).or(error.get(ContextKind::InvalidArg))
    else {
        return;
    };
    let first = std::env::args_os().nth(1).is_some_and(|first| first == word.as_str());
    match error.kind() {
        ErrorKind::InvalidSubcommand if first => print::note("hint: a prompt follows -p: bosun -p \"…\""),
        ErrorKind::UnknownArgument if word.starts_with("- ") => {
            print::note("hint: a prompt that begins with a dash is written --prompt=\"- …\", or comes from stdin");
        }
        _other => {}
    }
}

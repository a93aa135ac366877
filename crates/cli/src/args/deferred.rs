//! Subcommands whose arguments are defined only when one of them is used: a command starts faster if it does not define
//! those of all others.

use clap::{ArgMatches, Args, Command, FromArgMatches};

/// The arguments of a subcommand.
#[derive(Debug)]
pub(crate) struct Deferred<T>(pub(crate) T);

impl<T: Args> Args for Deferred<T> {
    fn augment_args(command: Command) -> Command {
        command.defer(define::<T>)
    }

    fn augment_args_for_update(command: Command) -> Command {
        T::augment_args_for_update(command)
    }
}

/// Defines the arguments. The summary that the list of subcommands shows stays.
fn define<T: Args>(command: Command) -> Command {
    match command.get_about().cloned() {
        Some(summary) => T::augment_args(command).about(summary).long_about(None),
        None => T::augment_args(command),
    }
}

impl<T: FromArgMatches> FromArgMatches for Deferred<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Deferred<T>, clap::Error> {
        T::from_arg_matches(matches).map(Deferred)
    }

    fn from_arg_matches_mut(matches: &mut ArgMatches) -> Result<Deferred<T>, clap::Error> {
        T::from_arg_matches_mut(matches).map(Deferred)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0.update_from_arg_matches(matches)
    }
}

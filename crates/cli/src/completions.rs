//! `bosun completions`: prints shell completion scripts.

use clap_complete::Shell;

use crate::exit::CommandExit;
use crate::{args, print};

pub(crate) fn print_completions(shell: Shell) -> CommandExit {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut args::command(), "bosun", &mut script);
    print::document(&script);
    CommandExit::Success
}

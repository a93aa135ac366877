//! `bosun completions`: prints shell completion scripts.

use clap_complete::Shell;
use tui::print;

use crate::args;
use crate::exit::CommandExit;

pub(crate) fn print_completions(shell: Shell) -> CommandExit {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut args::command(), "bosun", &mut script);
    print::document(&script);
    CommandExit::Success
}

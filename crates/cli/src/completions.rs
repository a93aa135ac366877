//! `bosun completions`: what a shell needs to complete the command line.

use clap_complete::Shell;

use crate::exit::Exit;
use crate::{args, print};

pub(crate) fn write(shell: Shell) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut args::command(), "bosun", &mut script);
    print::document(&script);
    Exit::Success
}
